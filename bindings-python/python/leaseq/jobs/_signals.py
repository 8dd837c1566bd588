"""SIGTERM and SIGINT end a worker."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._leaseq import JobWorker


class Waker:
    """A block in which signals wake the current event loop, so that Python handles them.

    One that comes just before the loop sleeps, or on another thread, does not interrupt it.
    """

    def __enter__(self) -> Waker:
        self._ends: tuple[socket.socket, ...] = ()
        if threading.current_thread() is not threading.main_thread():
            return self
        self._ends = reading, writing = socket.socketpair()
        for end in self._ends:
            end.setblocking(False)
        # If there is one already, it wakes the loop, and knows what else to do.
        before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        if before != -1:
            signal.set_wakeup_fd(before)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(reading, reading.recv, 4096)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ends:
            return
        reading, writing = self._ends
        self._loop.remove_reader(reading)
        now = signal.set_wakeup_fd(-1)
        if now not in (-1, writing.fileno()):
            # Another one has been set meanwhile.
            signal.set_wakeup_fd(now)
        for end in self._ends:
            end.close()


class Signals:
    """A block in which signals end a worker.

    The first signal begins the end, the second skips the grace period, and the third ends the
    worker at once. The handlers of the program are restored afterwards, unless the process `ends`
    with the worker: then a signal that is late must not change how it ends. Does nothing outside of
    the main thread.
    """

    def __init__(self, grace: float, wanted: bool, ends: bool) -> None:
        self._grace = grace
        self._ends = ends
        self._wanted = wanted and threading.current_thread() is threading.main_thread()
        self._before: dict[signal.Signals, Any] = {}
        self._worker: JobWorker | None = None
        self._seen = 0

    def end(self, worker: JobWorker) -> None:
        """End this worker, also for signals that came while it was being started."""
        self._worker = worker
        self._act()

    def _handle(self, *_: object) -> None:
        self._seen += 1
        self._act()

    def _act(self) -> None:
        if self._worker is None or not self._seen:
            return
        if self._seen > 2:
            self._worker.abort()
        else:
            self._worker.drain(self._grace if self._seen == 1 else 0.0)

    def __enter__(self) -> Signals:
        for number in (signal.SIGTERM, signal.SIGINT) if self._wanted else ():
            self._before[number] = signal.getsignal(number)
            signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            if self._ends and error is None:
                signal.signal(number, signal.SIG_IGN)
                continue
            # `None`: a handler that is not written in Python, which cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
