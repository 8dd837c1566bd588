"""References to jobs."""

from __future__ import annotations

import json
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Generic, TypeVar

from .. import _blocking
from .._values import ItemInfo, Outcome, OutcomeKind, Seconds
from ._decode import Decoder, MismatchError
from ._errors import (
    JobCancelledError,
    JobFailedError,
    JobGoneError,
    JobNotRetainedError,
    JobRemovedError,
)
from ._progress import ProgressLine

if TYPE_CHECKING:
    from .. import asyncio

R = TypeVar("R")


def only_blocking(client: object) -> None:
    """Refuse a client of asyncio, whose calls would do nothing here."""
    if isinstance(client, _blocking.Client):
        return
    if iscoroutinefunction(getattr(client, "close", None)):
        raise TypeError(
            "the client is of leaseq.asyncio.connect: call aenqueue, aenqueue_many, aenqueue_group"
            " or aref"
        )


def only_asyncio(client: object) -> None:
    """Refuse a client that is not of asyncio, whose calls could not be awaited."""
    if isinstance(client, _blocking.Client):
        raise TypeError(
            "the client is not of leaseq.asyncio.connect: call enqueue, enqueue_many,"
            " enqueue_group or ref"
        )


class _Ref(Generic[R]):
    def __init__(self, name: str, queue: str, job_id: str, added: bool, decode: Decoder) -> None:
        self.name = name
        """The name of the job."""
        self.id = job_id
        """The id of its item."""
        self.queue = queue
        """The name of its queue."""
        self.added = added
        """False: the id or the unique key was taken, and nothing was added. The reference is about
        the job that has this id, if there is one."""
        self._decode = decode

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.id!r} in queue {self.queue!r}>"

    def _ended(self, outcome: Outcome | None, timeout: Seconds | None) -> Outcome:
        if outcome is None:
            raise TimeoutError(f"{self!r} has not ended within {timeout} s")
        return outcome

    def _result(self, outcome: Outcome) -> R:
        match outcome.kind:
            case OutcomeKind.COMPLETED:
                if outcome.result is None and not outcome.retained:
                    raise JobNotRetainedError(
                        f"{self!r} was completed, and its result was not kept: give it retain"
                    )
                try:
                    result: R = self._decode(json.loads(outcome.result or b"null"))
                except (MismatchError, ValueError) as error:
                    raise TypeError(f"{self!r} has another result: {error}") from None
                return result
            case OutcomeKind.DEAD:
                raise JobFailedError(outcome.error or "the job is dead")
            case OutcomeKind.CANCELLED:
                raise JobCancelledError(f"{self!r} was cancelled")
            case OutcomeKind.REMOVED:
                raise JobRemovedError(f"{self!r} was removed")
            case _:
                raise JobGoneError(
                    f"{self!r} has ended, or never was: give it retain to keep how it ends"
                )


class JobRef(_Ref[R]):
    """A reference to a job, which `enqueue` returns."""

    def __init__(
        self,
        client: _blocking.Client,
        name: str,
        queue: str,
        job_id: str,
        added: bool,
        decode: Decoder,
    ) -> None:
        super().__init__(name, queue, job_id, added, decode)
        self._queue = client.queue(queue)

    def wait(self, timeout: Seconds | None = None, *, progress: bool = False) -> Outcome:
        """Wait until the job has ended, and return how. Raises `TimeoutError`.

        With `progress`, the standard error shows what the handler reports with `Job.progress`.
        """
        if not progress:
            return self._ended(self._queue.outcome(self.id, timeout), timeout)
        line, outcome = ProgressLine(self.name, timeout), None
        try:
            while outcome is None and (within := line.next_wait()) > 0:
                line.show(self.info())
                outcome = self._queue.outcome(self.id, within)
        finally:
            line.close()
        return self._ended(outcome, timeout)

    def result(self, timeout: Seconds | None = None, *, progress: bool = False) -> R:
        """Wait for the result of the handler. The job must be retained.

        Raises `TimeoutError`, `JobError` for every end other than a completion, and the `JobError`
        `JobNotRetainedError` for a completion whose result was not kept. `progress` is that of
        `wait`.
        """
        return self._result(self.wait(timeout, progress=progress))

    def cancel(self) -> bool:
        """Cancel the job: one that waits is gone, a handler that runs learns of it within 5 s.

        False: the job has ended.
        """
        return self._queue.cancel(self.id)

    def info(self) -> ItemInfo | None:
        """Look at the job, with its state and progress; `None` if it is gone."""
        return self._queue.get(self.id)


class AsyncJobRef(_Ref[R]):
    """A reference to a job, which `aenqueue` returns."""

    def __init__(
        self,
        client: asyncio.Client,
        name: str,
        queue: str,
        job_id: str,
        added: bool,
        decode: Decoder,
    ) -> None:
        super().__init__(name, queue, job_id, added, decode)
        self._queue = client.queue(queue)

    async def wait(self, timeout: Seconds | None = None, *, progress: bool = False) -> Outcome:
        """Wait until the job has ended, and return how. Raises `TimeoutError`.

        With `progress`, the standard error shows what the handler reports with `Job.progress`.
        """
        if not progress:
            return self._ended(await self._queue.outcome(self.id, timeout), timeout)
        line, outcome = ProgressLine(self.name, timeout), None
        try:
            while outcome is None and (within := line.next_wait()) > 0:
                line.show(await self.info())
                outcome = await self._queue.outcome(self.id, within)
        finally:
            line.close()
        return self._ended(outcome, timeout)

    async def result(self, timeout: Seconds | None = None, *, progress: bool = False) -> R:
        """Wait for the result of the handler. The job must be retained.

        Raises `TimeoutError`, `JobError` for every end other than a completion, and the `JobError`
        `JobNotRetainedError` for a completion whose result was not kept. `progress` is that of
        `wait`.
        """
        return self._result(await self.wait(timeout, progress=progress))

    async def cancel(self) -> bool:
        """Cancel the job: one that waits is gone, a handler that runs learns of it within 5 s.

        False: the job has ended.
        """
        return await self._queue.cancel(self.id)

    async def info(self) -> ItemInfo | None:
        """Look at the job, with its state and progress; `None` if it is gone."""
        return await self._queue.get(self.id)
