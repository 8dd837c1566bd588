"""What the handlers of a worker note, and what they are told, in the process of the worker."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict, deque
from typing import Any

from leaseq.jobs import Job


class Notes:
    """What the handlers of a worker have done, and what they are to do next."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.runs: defaultdict[str, int] = defaultdict(int)
        self.told: defaultdict[str, deque[list[Any]]] = defaultdict(deque)
        self.path: str | None = None
        self._lock = threading.Lock()

    def note(self, what: str) -> None:
        self.log(what)
        self.seen.append(what)

    def log(self, what: str) -> None:
        if self.path is not None:
            line = f"{time.time_ns() // 1000} {what}\n".encode()
            file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
            # In one write, so that no kill can mix lines.
            os.write(file, line)
            os.close(file)

    def count_run(self, job: str) -> int:
        with self._lock:
            self.runs[job] += 1
            return self.runs[job] - 1

    def take(self, job: str) -> list[Any] | None:
        """Return the next steps of a job, if there are any by now."""
        with self._lock:
            told = self.told[job]
            return told.popleft() if told else None


class NotesOfRun:
    """The notes of one run."""

    def __init__(self, notes: Notes, job: str) -> None:
        self._notes, self._job = notes, job

    def count_run(self) -> int:
        return self._notes.count_run(self._job)

    def start(self, attempt: int, _meta: dict[str, str]) -> None:
        self.note(f"start {attempt}")

    def note(self, what: str) -> None:
        self._notes.note(f"{self._job} {what}")

    def take(self) -> list[Any] | None:
        return self._notes.take(self._job)

    def end(self) -> None:
        self._notes.log(f"{self._job} end")

    def other(self, _job: Job, step: str, _value: Any) -> None:
        raise AssertionError(f"unknown step {step}")
