"""A block that ends when the cancellation of an item is requested."""

from __future__ import annotations

import asyncio
import sys
from asyncio import Future
from collections.abc import Callable
from types import TracebackType

from . import _leaseq
from .exceptions import ItemCancelledError


class StopIfCancelled:
    """Made by `leaseq.asyncio.Lease.stop_if_cancelled`; can be entered once."""

    __slots__ = (
        "_cancelling",
        "_lease",
        "_left",
        "_started",
        "_stopping",
        "_task",
        "_told",
        "_wait",
    )

    def __init__(
        self,
        lease: _leaseq.Lease,
        wait: Callable[[], tuple[Future[bool], _leaseq.Started]],
    ) -> None:
        self._lease = lease
        self._wait = wait
        self._task: asyncio.Task[object] | None = None
        self._left = self._stopping = False
        self._cancelling = 0

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("stop_if_cancelled needs a task")
        if self._task is not None:
            raise RuntimeError("the block was entered before")
        self._task = task
        # What others have asked for before is not ours.
        if sys.version_info >= (3, 11):
            self._cancelling = task.cancelling()
        self._told, self._started = self._wait()
        self._told.add_done_callback(self._stop)

    def _stop(self, told: Future[bool]) -> None:
        """Cancel the body. The loop calls this, so the task is waiting for something."""
        if self._left or told.cancelled() or told.exception() is not None or not told.result():
            return
        # A completion that is under way beats the cancellation.
        if self._task is not None and self._lease.completed is False:
            self._stopping = True
            self._task.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # First of all: from here on nothing is stopped any more.
        self._left = True
        self._told.cancel()
        self._started.abandon()
        if not self._stopping or self._task is None or sys.version_info < (3, 11):
            return
        # As in `asyncio.timeout`: if somebody else has cancelled the task too, that stands.
        ours_alone = self._task.uncancel() <= self._cancelling
        if ours_alone and kind is not None and issubclass(kind, asyncio.CancelledError):
            item = f"queue {self._lease.queue}, item {self._lease.id!r}"
            raise ItemCancelledError(f"{item}: its cancellation was requested") from error
