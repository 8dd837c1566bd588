"""The worker with threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from .. import _blocking, _leaseq
from .._gevent import has_replaced_threads
from .._leaseq import JobTask, JobWorker
from .._values import Seconds
from ..exceptions import InvalidError, LeaseqError
from ._around import keep
from ._children import Children, Isolation
from ._event_loop import LoopThread
from ._exit import CLOSING, Exit, end_process, exit_of
from ._job_events import OnEvent, tell
from ._jobs import Jobs
from ._retry import seconds
from ._settings import Settings, WorkerOptions
from ._signals import Signals

if TYPE_CHECKING:
    from typing_extensions import Unpack

THREADS = "leaseq-job"
"""How the names of the threads of handlers begin."""
LOOK = 0.025
"""How often the main thread handles signals, in seconds."""
AT_ERROR = 5.0
"""How long handlers may take to end when the program is interrupted otherwise, in seconds."""


class Worker:
    """Runs jobs on threads; `async def` handlers in an event loop on a thread of its own.

    - `client`: of `leaseq.connect`.
    - `jobs`: the jobs whose handlers it runs: one `Jobs`, several, or where they are: `app:jobs`.
    - `queues`: names, or weights by names: `{"mail": 3, "bulk": 1}` starts three jobs of `mail` for
      one of `bulk` while both have some. Default: the queues of the jobs.
    - `threads`: how many jobs run at the same time, 1 to 1,000; default 90 % of the processors, at
      least 10.
    - `isolation`: `"thread"` (default); `"process"`: reused child processes; `"job"`: a new one for
      each job; `"fork"`: the same, forked from a process that has loaded the jobs, and which may
      have no other thread. Children are started programs that import the jobs; this process holds
      the leases, and kills a child that does not end.
    - `processes`: how many child processes, 1 to 1,000; default: one for each processor.
    - `max_jobs_per_child`, `max_memory_per_child`: a child is replaced after so many jobs, or after
      a job that leaves it with so many bytes of memory; default never.
    - `memory_limit`: a child with more bytes of memory is killed, and its job fails; default none.
    - `start_timeout`: how long a child may take to import the jobs; default 60 s.
    - `strict_order`: leases from a queue only if those named before it have nothing.
    - `prefetch`: how many jobs are leased in advance while all slots have one, so that none waits
      for the server between two short jobs; with the slots at most 1,000; default 0.
    - `lease`: how soon a job of a killed worker is delivered again; default 30 s. It is extended
      while the handler runs.
    - `kill_after`: how long after its timeout a handler is stopped by force; default 10 s.
    - `grace`: how long handlers may go on when the worker is to end; default 25 s.
    - `max_jobs`: ends after so many jobs.
    - `burst`: ends when there is nothing more to lease.
    - `cooldown`: how long a thread or child waits after a job; default not at all.
    - `stagger`: the least time between the starts of two jobs; default none.
    - `name`: under which it is listed, the same after a restart: 1 to 128 bytes without control
      characters; default: program and host.
    - `throttle`: when it leases nothing because memory is short; default: as the environment says.
    - `deployment`: whose the schedules of the jobs are: the name of the program, and its revision,
      a number or time that goes up with each deployment. An older one changes nothing.
    - `middleware`: functions that get the `Job` and return a context manager, which is entered
      around its handler; the first one is the outermost.
    - `on_event`: is called with a `JobEvent` when a handler starts and when its job is settled, on
      a thread of its own, one call after the other, also for handlers in child processes.

    As a context manager the worker runs in the background, and ends when the block is left:
    for programs that have something else to do, such as a web server.
    """

    def __init__(
        self,
        client: _blocking.Client,
        jobs: Jobs | Iterable[Jobs] | str,
        *,
        threads: int | None = None,
        processes: int | None = None,
        isolation: Isolation | None = None,
        max_jobs_per_child: int | None = None,
        max_memory_per_child: int | None = None,
        memory_limit: int | None = None,
        start_timeout: Seconds | None = None,
        **options: Unpack[WorkerOptions],
    ) -> None:
        self._client = client
        children = Children(
            processes,
            isolation,
            max_jobs_per_child,
            max_memory_per_child,
            memory_limit,
            start_timeout,
        )
        if children.isolation != "thread" and threads is not None:
            raise InvalidError("a worker has either threads or child processes")
        slots = threads if children.slots is None else children.slots
        self._settings = Settings(jobs, slots, options, children.native(jobs, options))
        self._running: _Running | None = None

    def run(self, *, signals: bool = True) -> Exit:
        """Run until SIGTERM or SIGINT, and return when the handlers have ended.

        At the first signal nothing more is leased, and handlers have the grace period; after it
        they are cancelled, and at most 3 s later this returns. A second signal skips the grace
        period, a third ends the worker at once, and its leases expire. Signals are handled only in
        the main thread, and not with `signals=False`; `stop` ends the worker too.

        Raises `InvalidError` for a wrong configuration, `ClosedError` if the client is closed.
        """
        return self._run(self._settings.native(), signals)

    def run_until_idle(self) -> Exit:
        """Run until there is nothing more to lease and no handler runs, for tests.

        Does not wait for delayed jobs.
        """
        return self._run(self._settings.native(burst=True), False)

    def run_process(self) -> NoReturn:
        """Run as `run` does, and end the process with the status of the exit.

        Because of that, a handler that does not return delays nothing: its job is given back, or
        fails if its time is over.
        """
        status = self._run(self._settings.native(owns_process=True), True).status
        with suppress(LeaseqError):
            self._client._native.close(None, CLOSING)
        if any(thread.name.startswith(THREADS) for thread in threading.enumerate()):
            end_process(status)
        raise SystemExit(status)

    def _run(self, options: dict[str, object], signals: bool) -> Exit:
        # Before it starts: a job may run at once, and whoever sees that may send a signal.
        with Signals(self._settings.grace, signals, bool(options.get("owns_process"))) as ending:
            running = self._start(options)
            ending.end(running.native)
            return self._wait(running)

    def _wait(self, running: _Running) -> Exit:
        try:
            while not running.native.ended(LOOK):
                pass
        except BaseException:
            running.native.drain(0.0)
            running.native.ended(AT_ERROR)
            raise
        finally:
            self._running = None
            running.close()
        return exit_of(running.native)

    def start(self) -> None:
        """Start in the background. Signals are left to the program."""
        self._start(self._settings.native())

    def stop(self, grace: Seconds | None = None) -> Exit:
        """End in order, as after a first signal; returns when the handlers have ended.

        `grace` takes precedence over that of the worker. May be called on any thread, and while
        `run` runs.
        """
        running = self._running
        if running is None:
            raise RuntimeError("the worker does not run")
        running.native.drain(self._settings.grace if grace is None else seconds(grace))
        while not running.native.ended(LOOK):
            pass
        if self._running is running:
            self._running = None
        running.close()
        return exit_of(running.native)

    def _start(self, options: dict[str, object]) -> _Running:
        if self._running is not None:
            raise RuntimeError("the worker runs already")
        if has_replaced_threads() and not self._settings.in_children:
            raise InvalidError(
                "gevent has replaced the threads of this program by greenlets, which a worker "
                "would block: start the worker in a program that does not call "
                "monkey.patch_all(), or with processes"
            )
        with ExitStack() as undo:
            entered = self._settings.around.enter()
            undo.callback(entered.close)
            native = _leaseq.start_worker(None, self._client._native, options)
            undo.callback(_give_up, native)
            running = _Running(native, self._settings, entered)
            undo.pop_all()
        # Before its threads start: a handler may stop the worker.
        self._running = running
        running.start()
        return running

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._running is not None:
            self.stop()


def _give_up(native: JobWorker) -> None:
    """End a worker that has started no handler."""
    native.drain(0.0)
    native.ended(AT_ERROR)


class _Running:
    """A worker that runs, and its threads. It leaves in the end what was `entered` around it."""

    def __init__(self, native: JobWorker, settings: Settings, entered: ExitStack) -> None:
        self.native = native
        self._runner = settings.runner
        self._entered = entered
        self._loop: LoopThread | None = None
        around, handlers = settings.around, self._runner.handlers
        if around.needs_loop or any(kind._is_async for kind in handlers.values()):
            self._loop = LoopThread(native, self._runner, around)
        self._closing = threading.Lock()
        self._closed = False
        self._leaving = threading.Lock()
        # Daemons: a handler that does not return does not keep the process alive.
        self._threads = [
            threading.Thread(target=self._serve, name=f"{THREADS}-{number}", daemon=True)
            for number in range(0 if settings.in_children else native.slots)
        ]
        self._telling: threading.Thread | None = None
        if (on_event := settings.on_event) is not None:
            tell_all = partial(self._tell, on_event)
            self._telling = threading.Thread(target=tell_all, name="leaseq-events", daemon=True)

    def start(self) -> None:
        """Start the threads."""
        if self._telling is not None:
            self._telling.start()
        for thread in self._threads:
            thread.start()

    def _serve(self) -> None:
        while (task := self.native.take()) is not None:
            self._run(task)
            # Not while waiting for the next one.
            del task

    def _run(self, task: JobTask) -> None:
        if self._loop is not None and self._runner.is_async(task):
            self._loop.start(task)
        else:
            self._runner.run(task)

    def _tell(self, on_event: OnEvent) -> None:
        while events := self.native.take_events():
            tell(on_event, events)

    def close(self) -> None:
        """Wait for the threads, if their handlers have ended."""
        reason, _, running, _, gave_up, _ = self.native.exit()
        wait = running == 0 and not gave_up and reason not in ("aborted", "failed")
        with self._closing:
            if self._loop is not None and not self._closed:
                self._loop.close(wait)
            self._closed = True
        for thread in self._threads if wait else ():
            _join(thread)
        if self._telling is not None:
            _join(self._telling, AT_ERROR)
        self.native.left()
        with self._leaving:
            if running:
                keep(self._entered.pop_all())
            self._entered.close()


def _join(thread: threading.Thread, within: float | None = None) -> None:
    # A handler may have stopped the worker, and another thread may still be starting it.
    if thread is not threading.current_thread() and thread.is_alive():
        thread.join(within)
