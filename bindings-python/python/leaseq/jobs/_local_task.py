"""A job that no worker of this process has leased: in a child process, or in a test."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._values import Data, Seconds, Trigger
from ..exceptions import InvalidError
from ._retry import seconds

if TYPE_CHECKING:
    from ._context import CancelReason

MAX_TIME = 30 * 86_400
MAX_PROGRESS = 1024


class LocalTask(ABC):
    """What `JobTask` is for jobs of the worker."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.name: str = fields["job"]
        self.args: dict[str, Any] | bytes = fields["args"]
        self.meta: dict[str, str] = fields["meta"]
        self.queue: str = fields["queue"]
        self.id: str = fields["id"]
        self.attempt: int = fields["attempt"]
        self.max_attempts: int = fields["max_attempts"]
        self.last_error: str = fields["last_error"]
        self.generation: int = fields["generation"]
        self.trigger: Trigger | None = fields.get("trigger")
        self.cancel_reason: CancelReason | None = None
        self._deadline: float = time.monotonic() + fields["timeout_ms"] / 1000
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._then: Callable[[], object] | None = None

    @property
    def remaining(self) -> float:
        """Seconds until the timeout."""
        return max(float(self._deadline - time.monotonic()), 0.0)

    def cancel(self, reason: CancelReason) -> None:
        """Note that the handler is to stop."""
        with self._lock:
            if self.cancel_reason is not None:
                return
            self.cancel_reason = reason
            then = self._then
        self._cancelled.set()
        if then is not None:
            then()

    def on_cancel(self, then: Callable[[], object]) -> None:
        """Call this when the handler is to stop: now, if it is already."""
        with self._lock:
            self._then = then
            is_cancelled = self.cancel_reason is not None
        if is_cancelled:
            then()

    def wait_cancelled(self, within: Seconds | None) -> bool:
        """Wait until the handler is to stop."""
        return self._cancelled.wait(None if within is None else seconds(within))

    def more_time(self, time_left: Seconds) -> None:
        """Set the timeout anew."""
        left = seconds(time_left)
        if not 0 <= left <= MAX_TIME:
            raise InvalidError(f"{left} seconds more are not between 0 and {MAX_TIME}")
        if self.cancel_reason is not None:
            raise InvalidError(f"job {self.name}, item {self.id!r}: it was cancelled")
        self._deadline = time.monotonic() + left
        self._more_time(left)

    def progress(self, progress: Data) -> None:
        """Report how far the handler has come."""
        data = progress.encode() if isinstance(progress, str) else bytes(progress)
        if len(data) > MAX_PROGRESS:
            raise InvalidError(f"progress of {len(data)} bytes is over the limit of {MAX_PROGRESS}")
        self._progress(data)

    @abstractmethod
    def _more_time(self, left: float) -> None: ...

    @abstractmethod
    def _progress(self, data: bytes) -> None: ...

    @abstractmethod
    def done(self, result: bytes | None) -> None:
        """End with this result, as JSON."""

    @abstractmethod
    def failed(
        self, classes: list[str], message: str, trace: str | None, policy: str, delay: float
    ) -> None:
        """End with an error."""

    @abstractmethod
    def snooze(self, delay: float) -> None:
        """End, to run again."""

    @abstractmethod
    def cancelled(self) -> None:
        """End, because it was to stop."""

    @abstractmethod
    def invalid_args(self, message: str) -> None:
        """End before the handler, which does not take the arguments."""
