"""The worker for asyncio."""

from __future__ import annotations

import asyncio as aio
from collections.abc import Iterable
from contextlib import AsyncExitStack, ExitStack, nullcontext, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from .. import _leaseq, asyncio
from .._leaseq import JobWorker
from .._only_asyncio import bridge, unless_cancelled
from .._values import Seconds
from ..exceptions import LeaseqError
from ._around import AsyncEntered, keep
from ._event_loop import AsyncRunner
from ._exit import CLOSING, Exit, end_process, exit_of
from ._job_events import tell
from ._jobs import Jobs
from ._retry import seconds
from ._settings import Settings, WorkerOptions
from ._signals import Signals, Waker
from ._threads import Threads

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncWorker:
    """Runs jobs in the current event loop; `def` handlers on threads.

    - `client`: of `leaseq.asyncio.connect`.
    - `concurrency`: how many jobs run at the same time, 1 to 1,000; default 100.

    The other options are those of `Worker`, but for threads and processes; `on_event` is called in
    the event loop. As an `async with` block
    the worker runs in the background, and ends when the block is left.
    """

    def __init__(
        self,
        client: asyncio.Client,
        jobs: Jobs | Iterable[Jobs] | str,
        *,
        concurrency: int = 100,
        **options: Unpack[WorkerOptions],
    ) -> None:
        self._client = client
        self._settings = Settings(jobs, concurrency, options)
        self._native: JobWorker | None = None
        self._serving: aio.Task[Exit] | None = None

    async def run(self, *, signals: bool = True) -> Exit:
        """Run until SIGTERM or SIGINT, as `Worker.run` does.

        If the task is cancelled, handlers are cancelled without a grace period, and the
        cancellation goes on when they have ended.
        """
        return await self._run(self._settings.native(), signals)

    async def run_process(self) -> NoReturn:
        """Run as `run` does, and end the process with the status of the exit, as `Worker` does."""
        exit = await self._run(self._settings.native(owns_process=True), True)  # noqa: A001
        if exit.running:
            end_process(exit.status)
        with suppress(LeaseqError, TimeoutError, aio.TimeoutError):
            await aio.wait_for(self._client.close(), CLOSING)
        raise SystemExit(exit.status)

    async def run_until_idle(self) -> Exit:
        """Run until there is nothing more to lease and no handler runs, for tests.

        Does not wait for delayed jobs.
        """
        return await self._run(self._settings.native(burst=True), False)

    async def _run(self, options: dict[str, object], signals: bool) -> Exit:
        # Before it starts: a job may run at once, and whoever sees that may send a signal.
        owns_process = bool(options.get("owns_process"))
        waker = Waker() if signals else nullcontext()
        with waker, Signals(self._settings.grace, signals, owns_process) as ending:
            native, serving = await self._start(options)
            ending.end(native)
            return await self._until_served(native, serving)

    async def _until_served(self, native: JobWorker, serving: aio.Task[Exit]) -> Exit:
        try:
            return await aio.shield(serving)
        except aio.CancelledError:
            native.drain(0.0)
            await aio.wait([serving])
            raise

    async def start(self) -> None:
        """Start in the background. Signals are left to the program."""
        await self._start(self._settings.native())

    async def stop(self, grace: Seconds | None = None) -> Exit:
        """End in order, as after a first signal; returns when the handlers have ended.

        `grace` takes precedence over that of the worker.
        """
        native, serving = self._native, self._serving
        if native is None or serving is None:
            raise RuntimeError("the worker does not run")
        native.drain(self._settings.grace if grace is None else seconds(grace))
        return await self._until_served(native, serving)

    async def _start(self, options: dict[str, object]) -> tuple[JobWorker, aio.Task[Exit]]:
        if self._serving is not None:
            raise RuntimeError("the worker runs already")
        async with AsyncExitStack() as undo:
            entered = self._settings.around.enter()
            undo.callback(entered.close)
            in_loop = self._settings.around.in_loop()
            await in_loop.enter()
            undo.push_async_callback(in_loop.leave)
            native = await _leaseq.start_worker(bridge(), self._client._native, options)
            undo.pop_all()
        self._native = native
        serving = self._serve(native, entered, in_loop)
        self._serving = aio.create_task(serving, name="leaseq-worker")
        return native, self._serving

    async def _serve(self, native: JobWorker, entered: ExitStack, in_loop: AsyncEntered) -> Exit:
        runner = self._settings.runner
        handlers, threads = AsyncRunner(native, runner), Threads()
        telling = aio.create_task(self._tell(native), name="leaseq-events")
        try:
            while tasks := await unless_cancelled(native.next(bridge())):
                for task in tasks:
                    if runner.is_async(task):
                        handlers.start(task)
                    else:
                        threads.submit(partial(runner.run, task))
                # Not while waiting for the next ones.
                del task, tasks
            ended = exit_of(native)
            await handlers.close(wait=ended.running == 0 and ended.reason != "aborted")
            await telling
            return ended
        finally:
            telling.cancel()
            native.abort()
            threads.close()
            self._native = self._serving = None
            if native.exit()[2]:
                keep(entered)
            else:
                with entered:
                    await in_loop.leave()

    async def _tell(self, native: JobWorker) -> None:
        if (on_event := self._settings.on_event) is not None:
            while events := await unless_cancelled(native.events(bridge())):
                tell(on_event, events)

    async def __aenter__(self) -> AsyncWorker:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._serving is not None:
            await self.stop()
