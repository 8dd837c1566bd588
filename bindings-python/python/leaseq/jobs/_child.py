"""A child process of a worker: imports the jobs, and runs their handlers.

What it says to the worker is described in docs/child-protocol.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn

from ..exceptions import InvalidError
from ._around import Around, AsyncEntered
from ._child_signals import ignore_signals, keep_ignoring
from ._child_task import ChildTask
from ._connection import Connection, Message
from ._exit import end_process
from ._load import load
from ._logging import log_to_stderr
from ._retry import seconds
from ._run import Runner
from ._schedules import deployment_of
from ._settings import handlers_of

if TYPE_CHECKING:
    from ._job_type import JobType

PR_SET_PDEATHSIG = 1


class Child:
    """Runs jobs one after the other, on the main thread."""

    def __init__(self, connection: Connection, handlers: dict[str, JobType[..., Any]]) -> None:
        self._connection = connection
        self._handlers = handlers
        self._runner = Runner(handlers, ())
        self._task: ChildTask | None = None
        self._messages: SimpleQueue[Message | None] = SimpleQueue()
        # Held in the middle of a message.
        self._reading = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._around = Around(handlers)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Enter what the jobs want to be around their handlers in a process."""
        with self._around.enter(), contextlib.ExitStack() as at_end:
            at_end.callback(self._close_loop)
            if self._around.needs_loop:
                loop = self._event_loop()
                in_loop = loop.run_until_complete(_enter(self._around))
                at_end.callback(lambda: loop.run_until_complete(in_loop.leave()))
            yield

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop

    def _close_loop(self) -> None:
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            self._loop = None

    def hello(self) -> None:
        """Tell the worker what jobs there are."""
        jobs = {name: _declaration(kind) for name, kind in self._handlers.items()}
        self._connection.send(type="hello", version=1, jobs=jobs)

    def serve(self) -> None:
        """Run jobs until the worker says that it is enough."""
        self._listen()
        while True:
            self._connection.send(type="ready")
            message = self._messages.get()
            if message is None or message["type"] == "stop":
                break
            self._run(ChildTask(self._connection, message))

    def serve_forked(self) -> None:
        """Run each job in a process of its own, which is forked from this one."""
        ended: int | None = None
        while True:
            self._connection.send(type="ready")
            message = self._connection.receive()
            while message is not None and message["type"] == "cancel":
                message = self._connection.receive()
            if ended is not None:
                os.waitpid(ended, 0)
            if message is None or message["type"] == "stop":
                return
            ended = self._fork(message)

    def _fork(self, message: Message) -> int:
        parent = os.getpid()
        with keep_ignoring():
            pid = os.fork()
        if pid == 0:
            try:
                self._connection.forked()
                os.setpgid(0, 0)
                die_with(parent)
                # It knows the process in which its handlers run.
                self._runner = Runner(self._handlers, ())
                self._listen()
                with self.entered():
                    self._run(ChildTask(self._connection, message), os.getpid())
                # The parent goes on reading where this has ended.
                self._reading.acquire()
                end_process(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        # Until it is reaped, its number, which the worker knows, stays its own.
        end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if end is not None and end.si_code != os.CLD_EXITED:
            _end_by(end.si_status)
        if end is not None and end.si_status:
            os._exit(end.si_status)
        return pid

    def _listen(self) -> None:
        threading.Thread(target=self._read, name="leaseq-worker", daemon=True).start()

    def _read(self) -> None:
        try:
            self._take_messages()
        except OSError as error:
            # Its answer could not be sent.
            with contextlib.suppress(OSError, ValueError):  # it may have closed this, too
                sys.stderr.write(f"a handler has closed the connection to the worker: {error}\n")
                sys.stderr.flush()
            os._exit(1)

    def _take_messages(self) -> None:
        while True:
            self._connection.wait()
            with self._reading:
                message = self._connection.receive()
                task = self._task
                if message is None and task is not None:
                    # Nobody takes its answer any more.
                    os._exit(1)
                if message is not None and message["type"] == "cancel":
                    if task is not None and task.number == message["task"]:
                        task.cancel(message["reason"])
                    continue
            self._messages.put(message)
            if message is None:
                return

    def _run(self, task: ChildTask, pid: int | None = None) -> None:
        self._task = task
        try:
            if task.name not in self._handlers:
                task.invalid_args("there is no handler")
                return
            task.started(pid)
            if self._runner.is_async(task):
                self._event_loop().run_until_complete(self._run_async(task))
            else:
                self._runner.run(task)
        finally:
            self._task = None

    async def _run_async(self, task: ChildTask) -> None:
        loop, handler = asyncio.get_running_loop(), asyncio.current_task()
        assert handler is not None

        def cancel() -> None:
            # It may have ended, and with it the loop.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(handler.cancel)

        task.on_cancel(cancel)
        await self._runner.run_async(task)


async def _enter(around: Around) -> AsyncEntered:
    entered = around.in_loop()
    await entered.enter()
    return entered


def _end_by(number: int) -> NoReturn:
    """End as a forked process has ended: by this signal."""
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    os._exit(1)


def _declaration(kind: JobType[..., Any]) -> dict[str, object]:
    options, declared = kind._defaults, {"queue": kind._queue}
    more: dict[str, object] = {}
    if options.timeout is not None:
        more["timeout_ms"] = int(seconds(options.timeout) * 1000)
    if (retry := options.retry) is not None:
        more["retry"] = {
            "max": retry.attempts,
            "base": int(retry.base * 1000),
            "cap": int(retry.cap * 1000),
            "on": retry.on,
            "never": retry.never,
        }
    return {**declared, **more}


def die_with(parent: int) -> None:
    """Ask the system to kill this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main() -> None:
    """Serve the worker that has started this process; the argument is what it says about that."""
    connection = Connection()
    ignore_signals()
    die_with(int(os.environ.pop("LEASEQ_WORKER_PID")))
    told = json.loads(sys.argv.pop())
    if told["log_level"] is not None:
        log_to_stderr(told["log_level"])
    try:
        jobs = load(told["jobs"])
        if not told["deploys"]:
            deployment_of(None, jobs)
        child = Child(connection, handlers_of(jobs))
    except InvalidError as error:
        sys.exit(str(error))
    if told["forks"] and (count := threading.active_count()) > 1:
        names = ", ".join(thread.name for thread in threading.enumerate()[1:])
        sys.exit(
            f"the import of {told['jobs']} has started {count - 1} threads ({names}), "
            "so it cannot be forked: use isolation='job'"
        )
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        if told["forks"]:
            child.hello()
            child.serve_forked()
        else:
            with child.entered():
                child.hello()
                child.serve()
