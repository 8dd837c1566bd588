"""Runs `async def` handlers in an event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from .._only_asyncio import bridge, unless_cancelled
from ._around import Around
from ._run import Runner

if TYPE_CHECKING:
    from .._leaseq import JobTask, JobWorker


class AsyncRunner:
    """The handlers that run in the current event loop."""

    def __init__(self, worker: JobWorker, runner: Runner) -> None:
        self._worker = worker
        self._runner = runner
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        self._stopper = self._loop.create_task(self._stop(), name="leaseq-stop")

    def start(self, task: JobTask) -> None:
        """Start the handler of a job. On the thread of the loop."""
        running = self._loop.create_task(self._runner.run_async(task), name=f"job {task.name}")
        number = task.number
        self._tasks[number] = running
        running.add_done_callback(lambda _: self._tasks.pop(number, None))
        task.watch()

    async def _stop(self) -> None:
        """Cancel the handlers that are to stop, and again those that are to be stopped by force."""
        while True:
            for number in await unless_cancelled(self._worker.stops(bridge())):
                if (running := self._tasks.get(number)) is not None:
                    running.cancel()

    async def close(self, wait: bool) -> None:
        """Stop watching; first wait for the handlers, which have reported their ends."""
        while wait and self._tasks:
            await asyncio.wait(self._tasks.values())
        self._stopper.cancel()
        await asyncio.gather(self._stopper, return_exceptions=True)


class LoopThread:
    """An event loop on a thread of its own."""

    def __init__(self, worker: JobWorker, runner: Runner, around: Around) -> None:
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._worker, self._runner, self._around = worker, runner, around
        self._thread = threading.Thread(target=self._run, name="leaseq-job-loop", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._ready.is_set():
                raise
            self._error = error
            self._ready.set()

    async def _serve(self) -> None:
        entered = self._around.in_loop()
        await entered.enter()
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[bool] = self._loop.create_future()
        self._handlers = AsyncRunner(self._worker, self._runner)
        self._ready.set()
        wait = await self._end
        await self._handlers.close(wait)
        # Otherwise it ends with the loop, as the handlers do that still run.
        if wait:
            await entered.leave()

    def start(self, task: JobTask) -> None:
        """Start the handler of a job."""
        self._loop.call_soon_threadsafe(self._handlers.start, task)

    def close(self, wait: bool) -> None:
        """End the loop; without waiting, handlers that still run are cancelled."""
        self._loop.call_soon_threadsafe(self._end.set_result, wait)
        if wait:
            self._thread.join()
