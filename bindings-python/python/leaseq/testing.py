"""For tests of programs that use leaseq: a queue in memory, and a clock that the test sets.

With pytest, write `pytest_plugins = ["leaseq.testing"]` into the `conftest.py` at the top, and use
the fixtures `leaseq_client` and `leaseq_clock`.

>>> from leaseq.jobs import Jobs
>>> from leaseq.testing import Clock, inline, memory, run_until_idle
>>> jobs = Jobs()
>>> @jobs.job("mail.welcome", retain=60)
... def welcome(to: str) -> str:
...     return f"welcome, {to}"
>>> clock = Clock()
>>> with memory(clock) as client:  # the fixtures do this
...     ref = welcome.using(delay=3600).enqueue(client, to="ada")
...     run_until_idle(client, jobs)  # nothing is due
...     clock.advance(3600)
...     run_until_idle(client, jobs)
...     ref.result(0)
0
1
'welcome, ada'
>>> with memory() as client, inline(jobs):  # without a worker
...     welcome.enqueue(client, to="bob").result()
'welcome, bob'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from . import _blocking, _leaseq, asyncio
from ._only_asyncio import bridge, unless_cancelled
from ._process import opened
from ._values import Seconds
from .exceptions import InvalidError
from .jobs import Jobs, Worker, WorkerOptions
from .jobs._inline import Inline
from .jobs._retry import seconds
from .jobs._settings import handlers_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Clock", "amemory", "inline", "memory", "run_until_idle"]

_CENTURY = 36_525 * 86_400  # seconds


class Clock:
    """The time of a queue in memory. It stands still until it is advanced.

    It decides what is due: delays, retries, schedules, what is retained, and which leases have
    expired. Timeouts of handlers, and how long calls wait, follow the real time.
    """

    def __init__(self, start: datetime | None = None) -> None:
        time = datetime.now(timezone.utc) if start is None else start
        self._native = _leaseq.TestClock(int(time.timestamp() * 1000))

    def now(self) -> datetime:
        """Return the time."""
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=self._native.now)

    def advance(self, time: Seconds) -> None:
        """Set it forward, by at most a century."""
        by = seconds(time)
        if not 0 <= by <= _CENTURY:
            raise InvalidError(f"a clock is set forward by 0 s to a century, not by {time!r}")
        self._native.advance(round(by * 1000))


def memory(clock: Clock | None = None) -> _blocking.Client:
    """Return a client of a new queue in memory, with its own time if there is a clock."""
    native = None if clock is None else clock._native
    client = _leaseq.connect(None, "memory:", clock=native)
    opened()
    return _blocking.Client(client)


async def amemory(clock: Clock | None = None) -> asyncio.Client:
    """Do the same for asyncio."""
    native = None if clock is None else clock._native
    client = await unless_cancelled(_leaseq.connect(bridge(), "memory:", clock=native))
    opened()
    return asyncio.Client(client)


def run_until_idle(
    client: _blocking.Client, jobs: Jobs | Iterable[Jobs] | str, **options: Unpack[WorkerOptions]
) -> int:
    """Run what is due, one job after the other, and what that adds; return how many jobs were run.

    Handlers run on a thread. Failed jobs are retried when the clock says so. With asyncio, use
    `await AsyncWorker(client, jobs).run_until_idle()`.
    """
    return Worker(client, jobs, threads=1, **options).run_until_idle().started


@contextmanager
def inline(*jobs: Jobs, raise_errors: bool = True) -> Iterator[None]:
    """Run jobs where they are enqueued, as long as the block lasts: without a queue and a worker.

    Arguments and results go through JSON, as in a worker, and middleware is around the handler. An
    exception of the handler is raised by `enqueue`; with `raise_errors=False`, the reference has
    it, as if the job had used up its attempts. Options about time and other jobs have no effect.
    """
    running = Inline(handlers_of(jobs), raise_errors)
    with ExitStack() as stack:
        for one in jobs:
            stack.callback(setattr, one, "_inline", one._inline)
            one._inline = running
        yield


try:
    import pytest
except ImportError:
    pass
else:

    @pytest.fixture
    def leaseq_clock() -> Clock:
        """Return the time of `leaseq_client`."""
        return Clock()

    @pytest.fixture
    def leaseq_client(leaseq_clock: Clock) -> Iterator[_blocking.Client]:
        """Return a client of a queue in memory, new for each test."""
        with memory(leaseq_clock) as client:
            yield client
