"""Arguments and results become JSON, and are checked when they are read."""

import dataclasses
import enum
import json
import sys
import uuid
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, TypedDict

import msgspec
import pydantic
import pytest

from leaseq import _leaseq
from leaseq.jobs._decode import MismatchError, _cached, decoder
from leaseq.jobs._encode import encode


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Order:
    number: int
    at: datetime
    tags: tuple[str, ...] = ()
    parent: Optional["Order"] = None


class Customer(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0)


class Point(msgspec.Struct):
    x: int


class Row(TypedDict):
    n: int


NOW = datetime(2026, 11, 25, 12, 30, 1, 500, timezone.utc)


def through_json(value, kind):
    return decoder(kind)(json.loads(_leaseq.to_json(value, encode)))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, int),
        (1.5, float),
        ("ä", str),
        (None, None),
        (True, bool),
        ([1, "a", None], list),
        ([1, 2], list[int]),
        ([1, 2], Sequence[int]),
        ({"a": 1.0}, dict[str, float]),
        ({"a": [1]}, Mapping[str, list[int]]),
        ((1, "a"), tuple[int, str]),
        ((1, 2, 3), tuple[int, ...]),
        ({1, 2}, set[int]),
        (frozenset({"a"}), frozenset[str]),
        (None, int | None),
        (3, Optional[int]),  # noqa: UP045
        ("a", int | str),
        ("b", Literal["a", "b"]),
        (Color.RED, Color),
        (Level.LOW, Level),
        (NOW, datetime),
        (NOW.astimezone(timezone(timedelta(hours=2))), datetime),
        (date(2026, 1, 2), date),
        (time(1, 2, 3), time),
        (timedelta(seconds=1.5), timedelta),
        (uuid.UUID(int=5), uuid.UUID),
        (Decimal("1.10"), Decimal),
        (Path("a/b"), Path),
        (b"\x00\xff", bytes),
        (Order(1, NOW, ("a", "b"), Order(2, NOW)), Order),
        ([Order(1, NOW)], list[Order]),
        (Customer(name="ada", age=3), Customer),
        ([Customer(name="ada", age=3)], list[Customer]),
        ({"n": 1}, Row),
        (object, Any),
    ],
)
def test_values_come_back_as_they_were(value, kind):
    if value is object:
        value = {"anything": [1, None, {"at": "all"}]}
    back = through_json(value, kind)
    assert back == value
    assert type(back) is type(value) or kind in (Sequence[int], Any)


@pytest.mark.parametrize(
    ("value", "kind", "error"),
    [
        ("1", int, "an int is needed, not str"),
        (1.5, int, "an int is needed, not float"),
        (True, int, "an int is needed, not bool"),
        (True, float, "a float is needed, not bool"),
        (None, str, "a str is needed, not null"),
        (1, str, "a str is needed, not int"),
        (0, bool, "a bool is needed, not int"),
        ("ab", list[str], "a list is needed, not str"),
        ([1, "a"], list[int], "an int is needed, not str"),
        ([1], tuple[int, str], "a list of 2 is needed"),
        ("x", int | None, "int | None is needed, not str"),
        (True, Literal[1], "one of 1 is needed"),
        ("blue", Color, "'blue' is no Color"),
        ("yesterday", datetime, "a time of RFC 3339 is needed, not 'yesterday'"),
        ("x", uuid.UUID, "a UUID is needed, not 'x'"),
        ("1,5", Decimal, "a decimal number as text is needed"),
        ({"number": 1}, Order, "Order needs 'at'"),
        ({"number": 1, "at": "x"}, Order, "at: a time of RFC 3339 is needed"),
        ({"number": 1, "at": "2026-01-01T00:00:00Z", "b": 1}, Order, "Order has no 'b'"),
        ({"name": "ada", "age": -1}, Customer, "age: Input should be greater than or equal to 0"),
        ({"name": "ada", "age": "1"}, Customer, "age: Input should be a valid integer"),
        (0, Annotated[int, pydantic.Field(gt=0)], "Input should be greater than 0"),
        ({"n": "x"}, Row, "Expected `int`, got `str`"),
    ],
)
def test_values_of_another_type_do_not_fit(value, kind, error):
    with pytest.raises(MismatchError) as raised:
        decoder(kind)(value)
    assert error in str(raised.value)


def test_other_languages_write_the_same_values_differently():
    assert decoder(int)(1.0) == 1
    assert decoder(float)(1) == 1.0
    assert decoder(datetime)("2026-11-25T12:30:01.000500Z") == NOW


@pytest.fixture
def without(monkeypatch):
    """Hides packages."""

    def hide(*names):
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)
        _cached.cache_clear()

    yield hide
    _cached.cache_clear()


def test_msgspec_is_used_without_pydantic(without):
    without("pydantic")
    assert through_json(Point(3), Point) == Point(3)
    with pytest.raises(MismatchError, match="Expected `int`, got `str`"):
        decoder(Point)({"x": "3"})


def test_without_both_what_is_not_known_is_not_checked(without):
    without("pydantic", "msgspec")
    assert decoder(Row)({"n": "x"}) == {"n": "x"}
    with pytest.raises(MismatchError):
        decoder(list[int])(["x"])
