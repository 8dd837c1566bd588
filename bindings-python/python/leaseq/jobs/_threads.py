"""Threads for `def` handlers beside an event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Threads:
    """As many threads as are needed at the same time.

    They are daemons, unlike those of `concurrent.futures`: a handler that does not return does not
    keep the process alive.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._count = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Run this on a thread."""
        with self._lock:
            if self._idle:
                self._idle -= 1
                self._work.put(work)
                return
            self._count += 1
        name = f"leaseq-job-{self._count}"
        threading.Thread(target=self._serve, args=(work,), name=name, daemon=True).start()

    def _serve(self, work: Callable[[], None] | None) -> None:
        while work is not None:
            work()
            with self._lock:
                self._idle += 1
            work = self._work.get()

    def close(self) -> None:
        """End the threads when they have nothing to do."""
        for _ in range(self._count):
            self._work.put(None)
