"""Values of JSON as values of a type, checked at run time.

Plain types are checked here. What this module does not know is left to pydantic, or to msgspec, if
it is installed; otherwise it is not checked.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union
from uuid import UUID

Decoder: TypeAlias = Callable[[Any], Any]


class MismatchError(Exception):
    """A value does not fit its annotation."""


def _mismatch(wanted: str, value: object) -> MismatchError:
    kind = "null" if value is None else type(value).__name__
    return MismatchError(f"{wanted} is needed, not {kind}")


def _exactly(kind: type, wanted: str) -> Decoder:
    def decode(value: object) -> object:
        if type(value) is not kind:
            raise _mismatch(wanted, value)
        return value

    return decode


def _int(value: object) -> int:
    # Some languages write 1.0.
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is not int:
        raise _mismatch("an int", value)
    return value


def _float(value: object) -> float:
    if type(value) is not int and type(value) is not float:
        raise _mismatch("a float", value)
    return float(value)


def _none(value: object) -> None:
    if value is not None:
        raise _mismatch("null", value)


def _from_text(parse: Callable[[str], object], wanted: str) -> Decoder:
    def decode(value: object) -> object:
        if type(value) is not str:
            raise _mismatch(wanted, value)
        try:
            return parse(value)
        except (ValueError, ArithmeticError):
            raise MismatchError(f"{wanted} is needed, not {value[:60]!r}") from None

    return decode


def _datetime(text: str) -> datetime:
    # Python 3.10 does not read the Z of RFC 3339.
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)


_PLAIN: dict[Any, Decoder] = {
    Any: lambda value: value,
    object: lambda value: value,
    None: _none,
    type(None): _none,
    str: _exactly(str, "a str"),
    bool: _exactly(bool, "a bool"),
    int: _int,
    float: _float,
    list: _exactly(list, "a list"),
    dict: _exactly(dict, "a dict"),
    datetime: _from_text(_datetime, "a time of RFC 3339"),
    date: _from_text(date.fromisoformat, "a date"),
    time: _from_text(time.fromisoformat, "a time of the day"),
    timedelta: lambda value: timedelta(seconds=_float(value)),
    Decimal: _from_text(Decimal, "a decimal number as text"),
    UUID: _from_text(UUID, "a UUID"),
    Path: _from_text(Path, "a path"),
    bytes: _from_text(lambda text: b64decode(text, validate=True), "base64"),
}
_SEQUENCES: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    Sequence: list,
    set: set,
    frozenset: frozenset,
    Set: set,
}


def decoder(kind: Any) -> Decoder:  # noqa: ANN401 - an annotation is anything
    """Return the function that turns a value of JSON into one of this type.

    It raises `MismatchError`.
    """
    try:
        return _cached(kind)
    except TypeError:  # it cannot be hashed
        return _decoder(kind)


def _decoder(kind: Any) -> Decoder:  # noqa: ANN401
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Union or origin is types.UnionType:
        return _any_of([decoder(one) for one in arguments], str(kind))
    if origin is Literal:
        return _one_of(arguments)
    if origin in _SEQUENCES:
        return _sequence(_SEQUENCES[origin], decoder(arguments[0]))
    if kind is tuple or origin is tuple:
        return _tuple(arguments)
    if origin in (dict, Mapping) and arguments[0] is str:
        return _mapping(decoder(arguments[1]))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _from_value(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind)
    return _from_library(kind)


_cached = lru_cache(maxsize=1000)(_decoder)


def _any_of(decoders: list[Decoder], wanted: str) -> Decoder:
    def decode(value: object) -> object:
        for one in decoders:
            try:
                return one(value)
            except MismatchError:
                pass
        raise _mismatch(wanted, value)

    return decode


def _one_of(values: tuple[Any, ...]) -> Decoder:
    def decode(value: object) -> object:
        for one in values:
            if type(one) is type(value) and one == value:
                return one
        raise MismatchError(f"one of {', '.join(map(repr, values))} is needed")

    return decode


def _sequence(make: Callable[[list[Any]], Any], item: Decoder) -> Decoder:
    def decode(value: object) -> object:
        if type(value) is not list:
            raise _mismatch("a list", value)
        return make([item(one) for one in value])

    return decode


def _tuple(kinds: tuple[Any, ...]) -> Decoder:
    if not kinds:
        return _sequence(tuple, decoder(Any))
    if kinds[-1] is Ellipsis:
        return _sequence(tuple, decoder(kinds[0]))
    decoders = [decoder(kind) for kind in kinds]

    def decode(value: object) -> object:
        if type(value) is not list or len(value) != len(decoders):
            raise _mismatch(f"a list of {len(decoders)}", value)
        return tuple(one(part) for one, part in zip(decoders, value, strict=True))

    return decode


def _mapping(item: Decoder) -> Decoder:
    def decode(value: object) -> object:
        if type(value) is not dict:
            raise _mismatch("a dict", value)
        return {key: item(one) for key, one in value.items()}

    return decode


def _from_value(kind: type[Enum]) -> Decoder:
    def decode(value: object) -> object:
        try:
            return kind(value)
        except ValueError:
            raise MismatchError(f"{value!r:.60} is no {kind.__name__}") from None

    return decode


def _dataclass(kind: type) -> Decoder:
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    decoders: dict[str, Decoder] = {}

    def decode(value: object) -> object:
        if type(value) is not dict:
            raise _mismatch(kind.__name__, value)
        if not decoders:
            # Later, because a class may name itself.
            hints = typing.get_type_hints(kind)
            decoders.update({name: decoder(hints[name]) for name in fields})
        if unknown := value.keys() - fields.keys():
            raise MismatchError(f"{kind.__name__} has no {min(unknown)!r:.60}")
        made = {}
        for name, field in fields.items():
            if name in value:
                made[name] = inside(name, decoders[name], value[name])
            elif (
                field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING
            ):
                raise MismatchError(f"{kind.__name__} needs {name!r}")
        return kind(**made)

    return decode


def inside(name: str, decode: Decoder, value: object) -> object:
    """Decode a part of a value; the error names the part."""
    try:
        return decode(value)
    except MismatchError as error:
        raise MismatchError(f"{name}: {error}") from None


def _from_library(kind: Any) -> Decoder:  # noqa: ANN401
    return _from_pydantic(kind) or _from_msgspec(kind) or _PLAIN[Any]


def _from_pydantic(kind: Any) -> Decoder | None:  # noqa: ANN401
    try:
        import pydantic

        adapter = pydantic.TypeAdapter(kind)
    except ImportError:
        return None
    except pydantic.PydanticUserError:
        return None

    def decode(value: object) -> object:
        try:
            # As JSON: there a time is text, also in strict mode.
            return adapter.validate_json(json.dumps(value), strict=True)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise MismatchError(f"{where}: {first['msg']}" if where else first["msg"]) from None

    return decode


def _from_msgspec(kind: Any) -> Decoder | None:  # noqa: ANN401
    try:
        import msgspec

        read = msgspec.json.Decoder(kind)
    except (ImportError, TypeError):
        return None

    def decode(value: object) -> object:
        try:
            return read.decode(json.dumps(value))
        except msgspec.ValidationError as error:
            raise MismatchError(str(error)) from None

    return decode
