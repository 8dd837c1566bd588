"""When a failed job is tried again, and what a handler can say about that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from .._values import Seconds
from ..exceptions import InvalidError

ExceptionName = type[BaseException] | str


def seconds(time: Seconds) -> float:
    """Return a time in seconds."""
    return time.total_seconds() if isinstance(time, timedelta) else float(time)


def _names(classes: Iterable[ExceptionName] | ExceptionName) -> tuple[str, ...]:
    if isinstance(classes, type | str):
        classes = (classes,)
    return tuple(one if isinstance(one, str) else one.__name__ for one in classes)


@dataclass(frozen=True, init=False)
class Retry:
    """Rules for retries.

    A failed job waits for a random time between 0 and `base` · 2ⁿ, at most `cap`, where n is the
    number of earlier attempts.

    - `attempts`: how many attempts a job has, 1 to 65,535; default 10. Failures and expired leases
      count, releases do not. An item's own `max_attempts` takes precedence.
    - `on`: if not empty, only exceptions of these classes are retried: classes, or names of classes
      in any language. A superclass covers its subclasses.
    - `never`: exceptions of these classes are not retried.
    - `base`, `cap`: seconds or a `timedelta`; default 1 s and 10 minutes.

    >>> Retry(5, on=(OSError, "RateLimited")).on
    ('OSError', 'RateLimited')
    """

    attempts: int
    on: tuple[str, ...]
    never: tuple[str, ...]
    base: float
    cap: float

    def __init__(
        self,
        attempts: int = 10,
        *,
        on: Iterable[ExceptionName] | ExceptionName = (),
        never: Iterable[ExceptionName] | ExceptionName = (),
        base: Seconds = 1.0,
        cap: Seconds = 600.0,
    ) -> None:
        if isinstance(attempts, bool) or not isinstance(attempts, int):
            raise TypeError(f"attempts is a whole number, not {type(attempts).__name__}")
        if not 1 <= attempts <= 65_535:
            raise InvalidError(f"{attempts} attempts are not between 1 and 65535")
        times = {"base": seconds(base), "cap": seconds(cap)}
        for name, time in times.items():
            if not 0 <= time < float("inf"):
                raise InvalidError(f"{name} of {time} seconds is not a time from zero on")
        values = {"attempts": attempts, "on": _names(on), "never": _names(never), **times}
        for name, value in values.items():
            object.__setattr__(self, name, value)


class Decision(Exception):  # noqa: N818 - not an error
    """What a handler says about its job, by raising or returning it."""


class Discard(Decision):
    """There is nothing more to do: the job ends as completed, without a result."""


class Bury(Decision):
    """The job is dead, whatever attempts it has left."""


class _Delayed(Decision):
    def __init__(self, delay: Seconds, message: str = "") -> None:
        super().__init__(message)
        self.delay = seconds(delay)
        if not 0 <= self.delay < float("inf"):
            raise InvalidError(f"a delay of {self.delay} seconds is not a time from zero on")


class RetryAfter(_Delayed):
    """The job has failed, and is tried again after this delay if it has an attempt left."""


class Snooze(_Delayed):
    """The job runs again after this delay, and this attempt does not count."""
