"""Options of jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, TypeAlias

from .._groups import Group
from .._values import ItemId, Seconds
from ..exceptions import InvalidError
from ._retry import Retry, seconds

Key: TypeAlias = ItemId | Callable[..., ItemId]
"""A key, or a function that makes it of the arguments of a job, which it gets by name."""


MAX_TIMEOUT = 30 * 86_400.0


@dataclass(frozen=True)
class Options:
    """Options of a job; `None` for those that are not given."""

    queue: str | None = None
    timeout: Seconds | None = None
    retry: Retry | None = None
    id: ItemId | None = None
    priority: int | None = None
    delay: Seconds | None = None
    due_at: datetime | None = None
    max_attempts: int | None = None
    retain: Seconds | None = None
    unique: Key | None = None
    unique_for: Seconds | None = None
    replace: bool | None = None
    successor: bool | None = None
    key: Key | None = None
    expires_in: Seconds | None = None
    group: Group | None = None
    place: int | None = None
    meta: dict[str, str] = field(default_factory=dict)

    def checked(self, job: str) -> Options:
        """Return these options of a job, or refuse what only its worker would notice."""
        if self.retry is not None and not isinstance(self.retry, Retry):
            raise TypeError(f"job {job}: retry is a Retry, not {type(self.retry).__name__}")
        if self.timeout is not None and not 0.001 <= seconds(self.timeout) <= MAX_TIMEOUT:
            raise InvalidError(
                f"job {job}: a timeout of {self.timeout} seconds is not between 1 ms and 30 days"
            )
        return self

    def change(self, options: Options) -> Options:
        """Return these options, changed by those that are given."""
        given = {
            one.name: value
            for one in fields(options)
            if (value := getattr(options, one.name)) is not None
        }
        # A time replaces a delay, and the other way round.
        if "delay" in given or "due_at" in given:
            given = {"delay": None, "due_at": None, **given}
        return replace(self, **{**given, "meta": {**self.meta, **options.meta}})

    def of_item(self, args: dict[str, object]) -> dict[str, Any]:
        """Return the options of the item of a job with these arguments."""
        names = ["id", "priority", "delay", "due_at", "max_attempts", "retain", "unique_for"]
        names += ["replace", "successor", "expires_in", "group", "place"]
        options = {name: value for name in names if (value := getattr(self, name)) is not None}
        for name in ("unique", "key"):
            value = getattr(self, name)
            if value is not None:
                options[name] = value(**args) if callable(value) else value
        return options
