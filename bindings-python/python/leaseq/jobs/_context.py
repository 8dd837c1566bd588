"""The job that a handler runs."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from .._values import Data, Seconds
from ._decode import MismatchError, decoder
from ._errors import JobCancelledError
from ._retry import Bury

if TYPE_CHECKING:
    from .._leaseq import JobTask
    from ._local_task import LocalTask

    Task: TypeAlias = JobTask | LocalTask
    """A job of the worker, of a child process, or of a test."""

CancelReason = Literal["user", "timeout", "shutdown", "lost"]

T = TypeVar("T")

_current: ContextVar[Job] = ContextVar("leaseq_job")


class Job:
    """The job that a handler runs: its first parameter, if that is annotated so.

    Threads and tasks that the handler starts may use it.
    """

    def __init__(self, task: Task) -> None:
        self._task = task

    def __repr__(self) -> str:
        return f"<Job {self.name!r} {self.id!r} in queue {self.queue!r}, attempt {self.attempt}>"

    @cached_property
    def name(self) -> str:
        """The name of the job."""
        return self._task.name

    @cached_property
    def queue(self) -> str:
        """The name of its queue."""
        return self._task.queue

    @cached_property
    def id(self) -> str:
        """The id of its item."""
        return self._task.id

    @cached_property
    def meta(self) -> dict[str, str]:
        """What producers and middleware have attached, such as a `traceparent`."""
        return self._task.meta

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        return self._task.attempt

    @property
    def max_attempts(self) -> int:
        """How many attempts the job has."""
        return self._task.max_attempts

    @property
    def last_error(self) -> str:
        """The text of the last failure; empty if there was none."""
        return self._task.last_error

    @property
    def generation(self) -> int:
        """Numbers the lives of the id: it goes up with every add, and is the same in all attempts.

        A store of your own can refuse writers of an earlier generation.
        """
        return self._task.generation

    @property
    def previous_id(self) -> str | None:
        """The id of the job whose end has added this one; `None`: a program has added it."""
        trigger = self._task.trigger
        return None if trigger is None else trigger.id

    @overload
    def previous(self) -> Any: ...  # noqa: ANN401
    @overload
    def previous(self, kind: type[T]) -> T | None: ...
    def previous(self, kind: Any = Any) -> Any:
        """Return the result of the job whose success has added this one, as this type.

        `None` if it had no result, or one of more than 64 KiB, has not succeeded, or there is none.
        Raises `Bury` for a result that does not fit: let it end the handler.
        """
        trigger = self._task.trigger
        if trigger is None or trigger.result is None:
            return None
        try:
            return decoder(kind)(json.loads(trigger.result))
        except (MismatchError, ValueError, RecursionError) as error:
            raise Bury(f"the result of job {trigger.id!r}, which was before: {error}") from error

    @property
    def remaining(self) -> float:
        """Seconds until the timeout; 0 once it is over."""
        return self._task.remaining

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop. It has a reason then, and may still succeed."""
        return self._task.cancel_reason is not None

    @property
    def cancel_reason(self) -> CancelReason | None:
        """Why the handler should stop; `None`: it should not.

        `user`: somebody has cancelled the job. `timeout`: its time is over. `shutdown`: the worker
        ends. `lost`: the lease is lost, and another worker may have the job.
        """
        return self._task.cancel_reason

    def raise_if_cancelled(self) -> None:
        """Raise `JobCancelledError` if the handler should stop. Let it end the handler."""
        if (reason := self.cancel_reason) is not None:
            raise JobCancelledError(f"job {self.name}, item {self.id!r}: cancelled ({reason})")

    def wait_cancelled(self, timeout: Seconds | None = None) -> bool:
        """Sleep until the handler should stop, at most for this time; whether it should.

        This blocks: `async def` handlers are cancelled at their `await` instead.
        """
        return self._task.wait_cancelled(timeout)

    def more_time(self, time: Seconds) -> None:
        """Set the timeout anew: the handler has this much time from now on, at most 30 days.

        Raises `InvalidError` for a longer time, and when the job was cancelled.
        """
        self._task.more_time(time)

    def progress(self, progress: Data) -> None:
        """Report how far the handler has come, for whoever looks at the job: at most 1,024 bytes.

        Returns at once. If this is called faster than the queue takes it, the last one counts.
        Raises `InvalidError` for more bytes.
        """
        self._task.progress(progress)


Middleware: TypeAlias = Callable[[Job], AbstractContextManager[object]]
"""Returns what is entered before the handler of a job runs, and left after that."""


def current_job() -> Job | None:
    """Return the job that is run here; `None` outside of handlers."""
    return _current.get(None)


class JobFilter(logging.Filter):
    """Adds `job`, `job_id`, `job_queue` and `job_attempt` to the log records of handlers.

    Outside of handlers they are `-`, and `job_attempt` is 0.

    >>> handler = logging.StreamHandler()
    >>> handler.addFilter(JobFilter())
    >>> handler.setFormatter(logging.Formatter("%(job)s %(job_id)s: %(message)s"))
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record."""
        job = current_job()
        record.job = job.name if job else "-"
        record.job_id = job.id if job else "-"
        record.job_queue = job.queue if job else "-"
        record.job_attempt = job.attempt if job else 0
        return True
