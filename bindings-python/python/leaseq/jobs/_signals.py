"""SIGTERM and SIGINT end a worker."""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._leaseq import JobWorker


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
