"""A child that does nothing with its jobs, as fast as plain Python can, with one thread.

With `--fork`, it forks for each job.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys

worker = socket.socket(fileno=os.dup(0))
read = worker.makefile("rb").read


def send(*messages: dict[str, object]) -> None:
    """Send messages in one write."""
    frames = [json.dumps(message).encode() for message in messages]
    worker.sendall(b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames))


def receive() -> dict[str, object]:
    """Return the next message; nothing at the end."""
    head = read(4)
    return json.loads(read(int.from_bytes(head, "big"))) if head else {}


def run(task: object, pid: int | None = None) -> None:
    """Handle a job: nothing is to be done."""
    send({"type": "started", "task": task, "pid": pid}, {"type": "done", "task": task})


def main(forks: bool) -> None:
    """Run jobs until the worker says that it is enough."""
    send({"type": "hello", "version": 1, "jobs": {"bench.nothing": {"queue": "bench"}}})
    ended = 0
    while True:
        send({"type": "ready"})
        message = receive()
        if ended:
            os.waitpid(ended, 0)
            ended = 0
        if message.get("type") != "run":
            return
        if not forks:
            run(message["task"])
            continue
        ended = os.fork()
        if ended == 0:
            os.setpgid(0, 0)
            run(message["task"], os.getpid())
            os._exit(0)
        os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(ended, signal.SIGKILL)


main("--fork" in sys.argv)
