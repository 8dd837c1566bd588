"""A job in a child process of the worker."""

from __future__ import annotations

from .._values import Trigger
from ._connection import Connection, Message
from ._local_task import LocalTask


def _id_of(message: Message) -> tuple[str, bytes]:
    item = bytes.fromhex(message["id_hex"])
    return item.decode("utf-8", "surrogateescape"), item


def _trigger_of(previous: Message | None) -> Trigger | None:
    if previous is None:
        return None
    result: str | None = previous.get("result")
    return Trigger(*_id_of(previous), None if result is None else result.encode())


class ChildTask(LocalTask):
    """A job of the worker that has started this process."""

    def __init__(self, connection: Connection, run: Message) -> None:
        super().__init__({**run, "id": _id_of(run)[0], "trigger": _trigger_of(run.get("previous"))})
        self._connection = connection
        self.number: int = run["task"]

    def _say(self, kind: str, raw: tuple[str, bytes] | None = None, **fields: object) -> None:
        self._connection.send(raw, type=kind, task=self.number, **fields)

    def started(self, pid: int | None = None) -> None:
        """Report that the handler starts."""
        self._say("started", pid=pid)

    def _more_time(self, left: float) -> None:
        self._say("more_time", ms=int(left * 1000))

    def _progress(self, data: bytes) -> None:
        self._say("progress", progress=data.decode("utf-8", "replace"))

    def done(self, result: bytes | None) -> None:
        """End with this result, as JSON."""
        self._say("done", None if result is None else ("result", result))

    def failed(
        self, classes: list[str], message: str, trace: str | None, policy: str, delay: float
    ) -> None:
        """End with an error."""
        ms = int(delay * 1000)
        self._say("failed", classes=classes, message=message, trace=trace, policy=policy, ms=ms)

    def snooze(self, delay: float) -> None:
        """End, to run again."""
        self._say("snooze", ms=int(delay * 1000))

    def cancelled(self) -> None:
        """End, because it was to stop."""
        self._say("cancelled")

    def invalid_args(self, message: str) -> None:
        """End before the handler, which does not take the arguments."""
        self._say("invalid_args", message=message)
