"""What handlers in children note, and what they are told: over a testee's socket, or into a log.

With a log, nobody tells them anything, and each run holds a lock for its job, one of those of its
worker and one of those of its key. A lock is a name of a socket, which no language lacks. The
system releases it with the process, however it ends, so a run that finds it taken proves that it
overlaps another one.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import time
from pathlib import Path
from typing import Protocol


class Readable(Protocol):
    """What `select` can look at."""

    def fileno(self) -> int:
        """Return its descriptor."""


class Notes:
    """The notes of one run."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.log = os.environ.get("LEASEQ_TESTEE_LOG")
        self.locks: list[socket.socket] = []
        self.has_ended = False
        # Where the next steps will be told.
        self._asked: socket.socket | None = None

    def note(self, what: str) -> None:
        """Note something, and return when it is noted."""
        self._note(f"{self.job} {what}")

    def _note(self, line: str) -> None:
        if self.log is None:
            self._ask({"note": line})
            return
        # In one write, so that no kill can mix lines.
        log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(log, f"{time.time_ns() // 1000} {line}\n".encode())
        os.close(log)

    def start(self, attempt: int, meta: dict[str, str]) -> None:
        """Note that the run starts, and with whom it overlaps."""
        self.note(f"start {attempt}")
        if self.log is None:
            return
        log = Path(self.log)
        limits = [("job", log.parent / self.job, 1)]
        limits.append(("slot", log, int(os.environ["LEASEQ_TESTEE_SLOTS"])))
        if "key" in meta:
            limits.append(("key", log.parent / meta["key"], int(meta["key_limit"])))
        for what, path, most in limits:
            if not any(self._lock(f"{path}.{what}{place}") for place in range(most)):
                self.note(f"over {what}")

    def _lock(self, path: str) -> bool:
        lock = socket.socket(socket.AF_UNIX)
        try:
            # Of the full length: some languages fill up what is shorter.
            lock.bind(f"\0{path}".ljust(108, "/"))
        except OSError as error:
            lock.close()
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        self.locks.append(lock)
        return True

    def end(self) -> None:
        """Note that the run has ended, once."""
        if self.has_ended or self.log is None:
            return
        self.has_ended = True
        self.note("end")
        for lock in self.locks:
            lock.close()

    def count_run(self) -> int:
        """Return the number of this run of the job, from 0."""
        return int(json.loads(self._ask({"run": self.job})))

    def told(self, cancellation: Readable | None) -> list[object] | None:
        """Wait for steps; None if the run is cancelled before."""
        with self._connect({"told": self.job}) as testee:
            waits: list[Readable] = [testee] if cancellation is None else [testee, cancellation]
            readable, _, _ = select.select(waits, [], [])
            return _steps(testee) if testee in readable else None

    def take(self) -> list[object] | None:
        """Return the next steps, if there are any by now."""
        if self._asked is None:
            self._asked = self._connect({"told": self.job})
        readable, _, _ = select.select([self._asked], [], [], 0)
        if not readable:
            return None
        with self._asked as testee:
            self._asked = None
            return _steps(testee)

    def _ask(self, request: object) -> str:
        with self._connect(request) as testee, testee.makefile() as answer:
            return answer.readline()

    def _connect(self, request: object) -> socket.socket:
        testee = socket.socket(socket.AF_UNIX)
        testee.connect(os.environ["LEASEQ_TESTEE_SOCKET"])
        testee.sendall(json.dumps(request).encode() + b"\n")
        return testee


def _steps(testee: socket.socket) -> list[object]:
    with testee.makefile() as answer:
        steps: list[object] = json.loads(answer.readline())
        return steps
