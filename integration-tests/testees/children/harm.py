"""What only a child can do to itself and to its worker."""

from __future__ import annotations

import ctypes
import os
import signal as signals
import subprocess
import time
from typing import Any


def block(seconds: float) -> None:
    """In C, with the lock of the interpreter."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))


def step_exit(run: Any, status: int) -> None:
    os._exit(status)


def step_signal(run: Any, number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(600)


def step_hang(run: Any, _: object) -> None:
    time.sleep(600)


def step_hang_in_c(run: Any, _: object) -> None:
    block(600)


def step_ignore_term(run: Any, _: object) -> None:
    # Python itself allows it to the main thread only.
    for number in (signals.SIGTERM, signals.SIGINT):
        ctypes.CDLL(None).signal(int(number), ctypes.c_void_p(int(signals.SIG_IGN)))
    os.kill(os.getpid(), signals.SIGTERM)


def step_flood(run: Any, ms: int) -> None:
    """Speak without a pause."""
    until = time.monotonic() + ms / 1000
    while time.monotonic() < until and not run.cancellation.reason:
        run.send(type="progress", progress="x" * 100)


def step_half_frame(run: Any, _: object) -> None:
    run.worker.socket.sendall(b"\0\0\1\0{")
    os._exit(0)


def step_answer_twice(run: Any, _: object) -> None:
    run.notes.end()
    run.send(type="done", result=run.id)
    run.send(type="done", result="twice")


def step_answer_and_exit(run: Any, _: object) -> None:
    """Its id is what all jobs of the faults return."""
    run.notes.end()
    run.send(type="done", result=run.id)
    os._exit(1)


def step_grandchild(run: Any, _: object) -> None:
    """Start a process that would outlive the job, and ignores what it can."""
    shell = "trap '' TERM INT HUP; sleep 600"
    subprocess.Popen(["sh", "-c", shell], env={**os.environ, "LEASEQ_TESTEE_GRANDCHILD": "1"})


def step_close(run: Any, _: object) -> None:
    """Every descriptor, the connection included; not the locks of this run."""
    kept = {lock.fileno() for lock in run.notes.locks}
    for descriptor in range(3, 64):
        if descriptor not in kept:
            try:
                os.close(descriptor)
            except OSError:
                continue
    time.sleep(600)


def step_allocate_mib(run: Any, mebibytes: int) -> None:
    data = bytearray(mebibytes << 20)
    for i in range(0, len(data), 4096):
        data[i] = 1
    time.sleep(600)
