"""A child process of a worker in plain Python: what docs/child-protocol.md describes.

With `--fork`, it forks for each job. Its one job, `test.steps`, does what its arguments say.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

PR_SET_PDEATHSIG = 1
# The jobs of the tests.
JOBS = {"test.steps": {"queue": "steps", "retry": {"max": 1}}}

Message = dict[str, Any]


class Worker:
    """The connection to the worker."""

    def __init__(self) -> None:
        # Out of the way of handlers that read their standard input.
        self.socket = socket.socket(fileno=os.dup(0))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        self.writing = threading.Lock()

    def send(self, **message: object) -> None:
        """Send a message."""
        frame = json.dumps(message).encode()
        with self.writing:
            self.socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def receive(self) -> Message | None:
        """Return the next message; None at the end."""
        head = self._read(4)
        text = head and self._read(int.from_bytes(head, "big"))
        return json.loads(text) if text else None

    def _read(self, count: int) -> bytes | None:
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                return None
            data += more
        return data


def die_with_parent() -> None:
    """Ask the system to kill this process when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Answer(Exception):  # noqa: N818 (it is no error)
    """Ends a handler with another answer than a result or a failure."""

    def __init__(self, **answer: object) -> None:
        super().__init__()
        self.answer = answer


class Cancellation:
    """Whether a job was cancelled: readable for `select` when it was."""

    def __init__(self) -> None:
        self.reason = ""
        self.event = threading.Event()
        self.readable, self.writable = os.pipe()

    def fileno(self) -> int:
        """Return what `select` looks at."""
        return self.readable

    def set(self, reason: str) -> None:
        """Cancel it."""
        self.reason = reason
        self.event.set()
        os.write(self.writable, b".")

    def close(self) -> None:
        """Close the descriptors."""
        os.close(self.readable)
        os.close(self.writable)


Handler = Callable[[Worker, Message, Cancellation], object]


def run(worker: Worker, job: Message, handler: Handler, pid: int | None = None) -> None:
    """Run a handler, listen meanwhile, and answer."""
    task = job["task"]
    worker.send(type="started", task=task, pid=pid)
    cancelled = Cancellation()
    answer: Message = {}

    def call() -> None:
        try:
            answer.update(type="done", result=handler(worker, job, cancelled))
        except Answer as other:
            answer.update(other.answer)
        except Exception as error:
            classes = [kind.__name__ for kind in type(error).__mro__]
            trace = traceback.format_exc()
            answer.update(type="failed", classes=classes, message=str(error), trace=trace)
        # Ends the wait for messages below.
        os.write(ended[1], b".")

    ended = os.pipe()
    thread = threading.Thread(target=call)
    thread.start()
    while True:
        readable, _, _ = select.select([worker.socket, ended[0]], [], [])
        if ended[0] in readable:
            break
        message = worker.receive()
        if message is None:
            os._exit(1)
        if message["type"] == "cancel" and message["task"] == task:
            cancelled.set(message["reason"])
    thread.join()
    cancelled.close()
    os.close(ended[0])
    os.close(ended[1])
    worker.send(task=task, **answer)


def run_forked(worker: Worker, job: Message, handler: Handler) -> int:
    """Run a handler in a process of its own, and end as that does unless it ends well."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        try:
            run(worker, job, handler, os.getpid())
        finally:
            os._exit(0)
    # Until it is reaped, its number, which the worker knows, stays its own.
    end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if end.si_code != os.CLD_EXITED:
        if end.si_status != signal.SIGKILL:
            signal.signal(end.si_status, signal.SIG_DFL)
        os.kill(parent, end.si_status)
    elif end.si_status:
        os._exit(end.si_status)
    return pid


def main(handlers: dict[str, Handler], jobs: Message, forks: bool) -> None:
    """Run jobs until the worker says that it is enough."""
    worker = Worker()
    # If the worker has ended before, the connection is closed.
    die_with_parent()
    worker.send(type="hello", version=1, jobs=jobs)
    ended: int | None = None
    while True:
        worker.send(type="ready")
        job = worker.receive()
        while job is not None and job["type"] == "cancel":
            job = worker.receive()
        if ended:
            os.waitpid(ended, 0)
            ended = None
        if job is None or job["type"] == "stop":
            return
        if job["job"] not in handlers:
            worker.send(type="invalid_args", task=job["task"], message="there is no handler")
        elif forks:
            ended = run_forked(worker, job, handlers[job["job"]])
        else:
            run(worker, job, handlers[job["job"]])


if __name__ == "__main__":
    from steps import steps

    main({"test.steps": steps}, JOBS, "--fork" in sys.argv)
