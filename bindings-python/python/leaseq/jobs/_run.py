"""Runs the handler of one job."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from ._context import Job, Middleware, _current
from ._decode import MismatchError
from ._report import report_error, report_result

if TYPE_CHECKING:
    from ._context import Task
    from ._job_type import JobType


NOT_ASYNC = (
    "the handler has returned a coroutine, but is not `async def` itself, "
    "as it may be under a decorator: let that be `async def`, too"
)


class Runner:
    """The handlers, and what is done around them."""

    def __init__(
        self,
        handlers: dict[str, JobType[..., Any]],
        middleware: Sequence[Middleware],
        *,
        begin: Callable[[Any], None] | None = None,
    ) -> None:
        self.handlers = handlers
        self._begin = begin
        self._middleware = middleware
        self._process = os.getpid()

    def is_async(self, task: Task) -> bool:
        """Whether the handler of this job runs in an event loop."""
        return self.handlers[task.name]._is_async

    def run(self, task: Task) -> None:
        """Run the handler on this thread, and report how it has ended."""
        copy_context().run(self._run, task)

    def _run(self, task: Task) -> None:
        try:
            ready = self._prepare(task)
            if ready is None:
                return
            with ExitStack() as stack:
                function, args, kwargs = self._enter(ready, stack)
                result = function(*args, **kwargs)
                if inspect.iscoroutine(result):
                    result.close()
                    raise TypeError(NOT_ASYNC)
        except BaseException as error:  # SystemExit ends the job, not the worker
            self._stop_in_child()
            self._failed(task, error)
        else:
            self._stop_in_child()
            report_result(task, result)

    async def run_async(self, task: Task) -> None:
        """Run the handler in this task of an event loop, and report how it has ended."""
        try:
            ready = self._prepare(task)
            if ready is None:
                return
            with ExitStack() as stack:
                function, args, kwargs = self._enter(ready, stack)
                result = await function(*args, **kwargs)
        except asyncio.CancelledError as error:
            if task.cancel_reason is None and _was_cancelled():
                # The event loop ends before the worker.
                task.cancelled()
                raise
            self._failed(task, error)
        except BaseException as error:
            self._failed(task, error)
        else:
            report_result(task, result)

    def _failed(self, task: Task, error: BaseException) -> None:
        report_error(task, error)

    def _prepare(self, task: Task) -> tuple[JobType[..., Any], Job, dict[str, Any]] | None:
        kind = self.handlers[task.name]
        signature = kind._signature
        assert signature is not None
        try:
            args = task.args
            values = json.loads(args) if isinstance(args, bytes) else args
            ready = kind, Job(task), signature.decode(values)
        except (MismatchError, ValueError, RecursionError) as error:
            task.invalid_args(str(error))
            return None
        if self._begin is not None:
            self._begin(task)
        return ready

    def _enter(
        self, ready: tuple[JobType[..., Any], Job, dict[str, Any]], stack: ExitStack
    ) -> tuple[Callable[..., Any], tuple[Job, ...], dict[str, Any]]:
        kind, job, args = ready
        assert kind.function is not None
        assert kind._signature is not None
        _current.set(job)
        for one in (*self._middleware, *kind._jobs._around_handler):
            stack.enter_context(one(job))
        return kind.function, (job,) if kind._signature.takes_job else (), args

    def _stop_in_child(self) -> None:
        """End a child that the handler has forked, and that has returned from it."""
        if os.getpid() != self._process:
            os._exit(1)


def _was_cancelled() -> bool:
    task = asyncio.current_task()
    return sys.version_info >= (3, 11) and task is not None and task.cancelling() > 0
