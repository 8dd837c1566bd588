"""Values that JSON does not have, as values that it has."""

from __future__ import annotations

import dataclasses
import sys
from base64 import b64encode
from collections.abc import Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID


def encode(value: object) -> Any:  # noqa: ANN401 - JSON is anything
    """Return the value for JSON. Raises `TypeError` for one that JSON cannot express.

    Times are text of RFC 3339, durations seconds, bytes text of base64.
    """
    match value:
        case Enum():
            return value.value
        case datetime():
            if value.tzinfo is None:
                raise TypeError(f"the datetime {value} has no time zone")
            return value.isoformat()
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID() | Decimal() | PurePath():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return b64encode(value).decode()
        case Mapping():
            return dict(value)
        case Set():
            return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: getattr(value, field.name) for field in fields}
    # Whoever passes such a value has imported its library.
    if (pydantic := sys.modules.get("pydantic")) and isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json")
    if (msgspec := sys.modules.get("msgspec")) and isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    kind = type(value)
    raise TypeError(f"{kind.__module__}.{kind.__qualname__} cannot be written as JSON")
