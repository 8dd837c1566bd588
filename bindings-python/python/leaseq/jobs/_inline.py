"""Jobs that run where they are enqueued, for tests."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from .._values import ItemInfo, Outcome, OutcomeKind, Seconds, Trigger
from ._enqueue import NewJob
from ._local_task import LocalTask
from ._ref import AsyncJobRef, JobRef
from ._report import report_error
from ._retry import Decision, seconds
from ._run import Runner

if TYPE_CHECKING:
    from ._context import Task
    from ._job_type import JobType

R = TypeVar("R")
MAX_PASSED = 64 << 10


class InlineTask(LocalTask):
    """A job in the program that has enqueued it."""

    def __init__(self, job: NewJob[Any], envelope: dict[str, Any], trigger: Trigger | None) -> None:
        options = job._options
        timeout = 3600.0 if options.timeout is None else seconds(options.timeout)
        item_id = options.id if options.id is not None else uuid4().hex
        super().__init__(
            {
                "job": job.name,
                "args": envelope["args"],
                "meta": envelope.get("meta", {}),
                "queue": job.queue,
                "id": item_id if isinstance(item_id, str) else item_id.decode(),
                "attempt": 1,
                "max_attempts": options.max_attempts or 10,
                "last_error": "",
                "generation": 1,
                "timeout_ms": timeout * 1000,
                "trigger": trigger,
            }
        )
        self.outcome = Outcome(OutcomeKind.GONE)
        self.said: list[bytes] = []

    def _more_time(self, left: float) -> None:
        pass

    def _progress(self, data: bytes) -> None:
        self.said.append(data)

    def done(self, result: bytes | None) -> None:
        """End with this result, as JSON."""
        self.outcome = Outcome(OutcomeKind.COMPLETED, result=result, retained=True)

    def failed(
        self, classes: list[str], message: str, trace: str | None, policy: str, delay: float
    ) -> None:
        """End with an error."""
        if policy == "discard":
            self.outcome = Outcome(OutcomeKind.COMPLETED, retained=True)
        else:
            text = "\n".join(filter(None, [f"{classes[0]}: {message}".rstrip(": "), trace]))
            self.outcome = Outcome(OutcomeKind.DEAD, error=text)

    def snooze(self, delay: float) -> None:
        """End, to run again; nobody runs it again here."""

    def cancelled(self) -> None:
        """End, because it was to stop."""
        self.outcome = Outcome(OutcomeKind.CANCELLED)

    def invalid_args(self, message: str) -> None:
        """End before the handler, which does not take the arguments."""
        raise TypeError(f"job {self.name}: {message}")

    def followed_by(self, job: NewJob[Any]) -> list[NewJob[Any]]:
        """Return the jobs that follow its end."""
        kind = self.outcome.kind
        if kind is OutcomeKind.GONE:
            return []
        ends = {"ended", kind.value}
        return [following for on, following in job._follow_ups if on in ends]

    def as_trigger(self) -> Trigger:
        """Return what the jobs that follow are told of this one."""
        result = self.outcome.result
        is_passed = result is not None and len(result) <= MAX_PASSED
        return Trigger(self.id, self.id.encode(), result if is_passed else None)


class Inline:
    """Runs jobs at once, with arguments and results that have gone through JSON."""

    def __init__(self, handlers: dict[str, JobType[..., Any]], raise_errors: bool) -> None:
        self._handlers = handlers
        self._runner = _InlineRunner(handlers, ()) if raise_errors else Runner(handlers, ())

    def run(self, job: NewJob[R]) -> JobRef[R]:
        """Run a job, and those that follow it."""
        task = self._run(job, None)
        return InlineRef(task, job)

    def _run(self, job: NewJob[Any], trigger: Trigger | None) -> InlineTask:
        task = self._task(job, trigger)
        if not self._runner.is_async(task):
            self._runner.run(task)
        else:
            _run_apart(self._runner, task)
        for next_job in task.followed_by(job):
            self._run(next_job, task.as_trigger())
        return task

    async def arun(self, job: NewJob[R]) -> AsyncJobRef[R]:
        """Run a job, and those that follow it, in the current event loop."""
        return AsyncInlineRef(await self._arun(job, None), job)

    async def _arun(self, job: NewJob[Any], trigger: Trigger | None) -> InlineTask:
        task = self._task(job, trigger)
        if self._runner.is_async(task):
            # With context variables of its own.
            await asyncio.create_task(self._runner.run_async(task), name=f"job {job.name}")
        else:
            self._runner.run(task)
        for next_job in task.followed_by(job):
            await self._arun(next_job, task.as_trigger())
        return task

    def _task(self, job: NewJob[Any], trigger: Trigger | None) -> InlineTask:
        if job.name not in self._handlers:
            raise LookupError(f"job {job.name} has no handler here")
        # As the queue stores it.
        return InlineTask(job, json.loads(job.item().data), trigger)


class _InlineRunner(Runner):
    """Handlers whose errors reach the caller of `enqueue`."""

    def _failed(self, task: Task, error: BaseException) -> None:
        if isinstance(error, Decision):
            report_error(task, error)
        else:
            raise error


def _run_apart(runner: Runner, task: InlineTask) -> None:
    """Run an `async def` handler for a caller that may be in an event loop."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(runner.run_async(task))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="leaseq-inline")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


class InlineRef(JobRef[R]):
    """A reference to a job that has ended."""

    def __init__(self, task: InlineTask, job: NewJob[R]) -> None:
        super(JobRef, self).__init__(job.name, job.queue, task.id, True, job._decode)
        self._outcome = task.outcome

    def wait(self, timeout: Seconds | None = None, *, progress: bool = False) -> Outcome:
        """Return how the job has ended."""
        return self._outcome

    def cancel(self) -> bool:
        """Do nothing: the job has ended."""
        return False

    def info(self) -> ItemInfo | None:
        """Return nothing: there is no item."""
        return None


class AsyncInlineRef(AsyncJobRef[R]):
    """A reference to a job that has ended."""

    def __init__(self, task: InlineTask, job: NewJob[R]) -> None:
        super(AsyncJobRef, self).__init__(job.name, job.queue, task.id, True, job._decode)
        self._outcome = task.outcome

    async def wait(self, timeout: Seconds | None = None, *, progress: bool = False) -> Outcome:
        """Return how the job has ended."""
        return self._outcome

    async def cancel(self) -> bool:
        """Do nothing: the job has ended."""
        return False

    async def info(self) -> ItemInfo | None:
        """Return nothing: there is no item."""
        return None
