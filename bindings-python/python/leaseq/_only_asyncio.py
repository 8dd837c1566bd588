"""What only the asyncio interface needs: a bridge to the event loop, cancellation, `async with`."""

from __future__ import annotations

import weakref
from asyncio import AbstractEventLoop, Future, get_running_loop
from types import TracebackType
from typing import TypeVar

from . import _leaseq
from ._leaseq import LoopBridge, Started
from ._process import describe, not_given_back
from ._stop import StopIfCancelled
from .exceptions import ItemCancelledError, LeaseqError

T = TypeVar("T")

# By the loop's address. A bridge lives as long as its loop listens to it.
_bridges: dict[int, weakref.ref[LoopBridge]] = {}


def bridge() -> LoopBridge:
    """Return the bridge between the running loop and the core."""
    loop = get_running_loop()
    known = _bridges.get(id(loop))
    bridge = known() if known is not None else None
    return bridge if bridge is not None else _open_bridge(loop)


def _open_bridge(loop: AbstractEventLoop) -> LoopBridge:
    bridge, key = LoopBridge(loop), id(loop)

    def forget(gone: weakref.ref[LoopBridge]) -> None:
        if _bridges.get(key) is gone:
            del _bridges[key]

    loop.add_reader(bridge.fileno(), bridge.drain)
    _bridges[key] = weakref.ref(bridge, forget)
    return bridge


async def unless_cancelled(call: tuple[Future[T], Started]) -> T:
    """Await the reply. If the task is cancelled, end the call and give back what it leased."""
    future, started = call
    try:
        return await future
    except BaseException:
        started.abandon()
        future.cancel()
        if not future.cancelled() and future.exception() is None:
            # The reply arrived at the moment when the task was cancelled.
            give_back(*_leases_in(future.result()))
        raise


def _leases_in(reply: object) -> list[Lease]:
    """Return the leases in the reply of any call."""
    match reply:
        case Lease():
            return [reply]
        case (_, list(leases)) | list(leases):
            return leases
    return []


def give_back(*leases: Lease) -> None:
    """Release leases of one queue in the background."""
    if not leases:
        return
    try:
        leases[0]._queue.give_back(leases)
    except LeaseqError as problem:
        not_given_back(leases[0], problem)


class Cancellation:
    """Whether the cancellation of a leased item was requested; made by `Lease.cancelled`.

    From the first look on, the client asks the server in the background: every 2 s, once for all
    such leases of a queue. So it tells within about 4 s.
    """

    __slots__ = ("_lease",)

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def is_set(self) -> bool:
        """Return whether the client has learned of it. The first look returns False at once."""
        return self._lease._is_cancelled()

    async def wait(self) -> bool:
        """Wait until the client learns of it.

        False when it cannot happen any more: the lease was completed, released, failed or is lost,
        or the client is closed.
        """
        return await unless_cancelled(self._lease._wait_cancelled(bridge(), None))


class Lease(_leaseq.Lease):
    """One item, leased: a claim on it until a deadline.

    Leaving its `async with` block completes the item. If the block raises, the item fails with that
    error; if the task is cancelled or interrupted, or `stop_if_cancelled` has stopped the work, the
    item is released. Either way the exception goes
    on. Nothing is done if the lease was completed, released or failed in the block, or belongs to
    another process. Without a block the lease expires at its deadline, and the item is delivered
    again.

    A lease that was never used, such as the result of a task that nobody awaits, is released when
    its handle is dropped. For what counts as use see `leaseq.Lease`.

    >>> client = await connect("memory:")
    >>> queue = client.queue("emails")
    >>> await queue.add_item("hello")
    True
    >>> async with await queue.lease(30) as lease:
    ...     print(lease.data)
    b'hello'
    >>> await queue.get(lease.id)
    """

    __slots__ = ()
    __module__ = "leaseq.asyncio"

    @property
    def cancelled(self) -> Cancellation:
        """Whether the cancellation of the item was requested, like an `asyncio.Event`."""
        return Cancellation(self)

    def stop_if_cancelled(self) -> StopIfCancelled:
        """Return an `async with` block that ends when the cancellation of the item is requested.

        Within a few seconds of the request, the client cancels what the block awaits, and the block
        raises `ItemCancelledError`. Around it, the block of the lease then releases the item, which
        ends as cancelled. A task that is cancelled for another reason stays cancelled. While the
        item is being completed, and after it was, nothing is stopped.

        Python 3.10 does not count the cancellations of a task. There the block ends with the
        `asyncio.CancelledError`, as if somebody else had cancelled the task.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item("hello")
        True
        >>> async with await queue.lease(30) as lease, lease.stop_if_cancelled():
        ...     print(lease.data)
        b'hello'
        """
        return StopIfCancelled(self, lambda: self._wait_cancelled(bridge(), None))

    async def __aenter__(self) -> Lease:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._held:
            return
        if error is None:
            await self._queue.complete(bridge(), self, False, None, None, None)
            return
        try:
            if isinstance(error, Exception) and not isinstance(error, ItemCancelledError):
                await self._queue.fail(bridge(), self, describe(error), None, False, None)
            else:
                await self._queue.release(bridge(), self, None, "")
        except LeaseqError as problem:
            not_given_back(self, problem)
