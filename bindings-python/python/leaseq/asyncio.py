"""The same for asyncio: `await leaseq.asyncio.connect(url)`.

Everything is as in `leaseq`, method by method; what waits there is awaited here, and what is said
there holds here. Cancelling a task strands no item: what was leased for it goes back.

>>> import asyncio
>>> import leaseq
>>> async def main() -> None:
...     async with await leaseq.asyncio.connect("memory:") as client:
...         queue = client.queue("emails")
...         await queue.add_items(["hello", "world"])
...         async for lease in queue.leases(30, wait=0.1):
...             async with lease:
...                 print(lease.data)
>>> asyncio.run(main())
b'hello'
b'world'
"""

from __future__ import annotations

import builtins
import os
import weakref
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import AsyncGenerator, Iterable
from datetime import datetime
from types import TracebackType
from typing import cast, overload

from . import _leaseq
from ._leaseq import Item, LoopBridge, Started
from ._process import CLOSED, describe, describe_all, not_given_back, opened
from ._values import (
    Counts,
    Data,
    DeepReport,
    ItemId,
    ItemInfo,
    LightReport,
    Page,
    Seconds,
    State,
)
from .exceptions import LeaseqError

__all__ = ["Client", "Lease", "Queue", "connect"]

# By the loop's address. A bridge lives as long as its loop listens to it.
_bridges: dict[int, weakref.ref[LoopBridge]] = {}


def _bridge() -> LoopBridge:
    """Return where answers for the running loop arrive."""
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


def _abandon(
    future: Future[Lease | None] | Future[list[Lease]] | Future[tuple[list[bool], list[Lease]]],
    started: Started,
) -> None:
    """End a call that nobody waits for, and give back what has come for it."""
    started.abandon()
    future.cancel()
    if future.cancelled() or future.exception() is not None:
        return
    # It came in the moment in which the task was cancelled.
    came = future.result()
    if isinstance(came, tuple):
        came = came[1]
    if isinstance(came, Lease):
        came = [came]
    if came:
        _let_go(came)


def _let_go(leases: list[Lease]) -> None:
    """Give leases of one queue back in the background."""
    try:
        leases[0]._queue.give_back(leases)
    except LeaseqError as problem:
        not_given_back(leases[0], problem)


async def connect(
    url: str | None = None,
    *,
    namespace: str | None = None,
    timeout: Seconds | None = None,
    connect_timeout: Seconds | None = None,
    max_data: int | None = None,
    ca_file: str | os.PathLike[str] | None = None,
) -> Client:
    """Connect to a server, or open the embedded engine; see `leaseq.connect`."""
    future, started = _leaseq.connect(
        _bridge(), url, namespace, timeout, connect_timeout, max_data, ca_file
    )
    try:
        native = await future
    except BaseException:
        started.abandon()
        raise
    opened()
    return Client(native)


class Client:
    """Owns the connections and serves any number of queues; made by `connect`.

    Tasks, event loops and threads may share it. Leaving its `async with` block closes it.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _leaseq.Client) -> None:
        self._native = native

    def queue(self, name: str) -> Queue:
        """Return the queue of this name, `[A-Za-z0-9._-]{1,128}`."""
        return Queue(self._native.queue(name))

    async def queues(self) -> list[str]:
        """Return the names of all queues that were added to or paused and not dropped, sorted."""
        return await self._native.queues(_bridge())

    async def close(self) -> None:
        """End waiting calls with `ClosedError`, finish what is on its way, and disconnect."""
        await self._native.close(_bridge())

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, Exception | None):
            self._native.give_back_unused()
        await self.close()


class Lease(_leaseq.Lease):
    """One item, leased: a claim on it until a deadline.

    Leaving its `async with` block completes the item. If the block raises, the item fails with that
    error; if it is cancelled or interrupted, the item is released. One that was never used, as the
    result of a task that nobody takes, is released when its handle is dropped. Else as
    `leaseq.Lease`.
    """

    __slots__ = ()

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
        bridge = _bridge()
        if error is None:
            await self._queue.complete(bridge, self, False)
            return
        try:
            if isinstance(error, Exception):
                await self._queue.fail(bridge, self, describe(error), None)
            else:
                await self._queue.release(bridge, self, None)
        except LeaseqError as problem:
            not_given_back(self, problem)


class Queue:
    """One queue; made by `Client.queue`.

    Tasks, event loops and threads may share it, and calls that they make at the same time travel in
    one request. Leaving its `async with` block closes this handle, not the client.
    """

    __slots__ = ("_name", "_native")

    def __init__(self, native: _leaseq.Queue) -> None:
        self._native = native
        self._name = native.name

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Queue {self._name!r}>"

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._name

    async def add_item(self, item: Item | Data) -> bool:
        """Add an item, or only its data."""
        return await self._native.add_item(_bridge(), item)

    async def add_items(self, items: Iterable[Item | Data]) -> builtins.list[bool]:
        """Add many items; the answers stand in their order."""
        return await self._native.add_items(_bridge(), items)

    @overload
    async def lease(
        self,
        duration: Seconds,
        wait: None = None,
        *,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> Lease: ...
    @overload
    async def lease(
        self,
        duration: Seconds,
        wait: Seconds | None,
        *,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> Lease | None: ...
    async def lease(
        self,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> Lease | None:
        """Lease the oldest ready item of the highest priority, for 1 ms to 30 days.

        `None`: there was none within `wait`, which is not an error. Without `wait` it waits until
        there is one; with zero it returns at once. A task that is cancelled strands no item. Else
        as `leaseq.Queue.lease`.
        """
        future, started = self._native.lease(
            _bridge(), duration, wait, keep_alive, keep_alive_limit
        )
        try:
            return await future
        except BaseException:
            _abandon(future, started)
            raise

    async def lease_many(
        self,
        count: int,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> builtins.list[Lease]:
        """Lease up to `count` items: wait for the first, then take what is there.

        Empty: there was none within `wait`. Else as `lease`.
        """
        future, started = self._native.lease_many(
            _bridge(), count, duration, wait, keep_alive, keep_alive_limit
        )
        try:
            return await future
        except BaseException:
            _abandon(future, started)
            raise

    async def leases(
        self,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        complete: bool = False,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> AsyncGenerator[Lease, None]:
        """Lease one item after the other, as `lease`; ends when there is none within `wait`.

        With `complete`, going on to the next turn completes the item of the turn before, and leases
        the next in the same round trip. A turn that does not end completes nothing, and its lease
        is released when the iterator is closed: `contextlib.aclosing` does it at once. Else as
        `leaseq.Queue.leases`.
        """
        limit = keep_alive_limit
        lease = await self.lease(duration, wait, keep_alive=keep_alive, keep_alive_limit=limit)
        while lease:
            try:
                yield lease
            except BaseException:
                if complete and lease._held:
                    _let_go([lease])
                raise
            # Whoever goes on has had the lease, and uses it.
            if lease._held and complete:
                _, leases = await self.complete_and_lease(
                    [lease], 1, duration, wait, keep_alive=keep_alive, keep_alive_limit=limit
                )
                lease = leases[0] if leases else None
            else:
                lease = await self.lease(
                    duration, wait, keep_alive=keep_alive, keep_alive_limit=limit
                )

    async def complete(self, lease: Lease, *, strict: bool = False) -> bool:
        """Complete the item: it is gone."""
        return await self._native.complete(_bridge(), lease, strict)

    async def complete_many(
        self, leases: Iterable[Lease], *, strict: bool = False
    ) -> builtins.list[bool]:
        """Complete many items; the answers stand in their order."""
        return await self._native.complete_many(_bridge(), leases, strict)

    async def complete_and_lease(
        self,
        leases: Iterable[Lease],
        count: int,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        strict: bool = False,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> tuple[builtins.list[bool], builtins.list[Lease]]:
        """Complete items as `complete_many`, then lease others as `lease_many`, in one round trip.

        The items are completed at once, before this waits for the next. A task that is cancelled
        strands no item. Else as `leaseq.Queue.complete_and_lease`.
        """
        future, started = self._native.complete_and_lease(
            _bridge(), leases, strict, count, duration, wait, keep_alive, keep_alive_limit
        )
        try:
            return await future
        except BaseException:
            _abandon(future, started)
            raise

    async def extend(self, lease: Lease, duration: Seconds) -> datetime:
        """Extend the lease to the later of its deadline and now + `duration`."""
        return await self._native.extend(_bridge(), lease, duration)

    async def extend_many(
        self, leases: Iterable[Lease], duration: Seconds
    ) -> builtins.list[datetime | None]:
        """Extend many leases; the deadlines stand in their order, `None` for one that is lost."""
        return await self._native.extend_many(_bridge(), leases, duration)

    async def release(self, lease: Lease, *, delay: Seconds | None = None) -> None:
        """Give the item back without counting an attempt."""
        await self._native.release(_bridge(), lease, delay)

    async def release_many(
        self, leases: Iterable[Lease], *, delay: Seconds | None = None
    ) -> builtins.list[bool]:
        """Give many items back; False for a lease that is lost."""
        return await self._native.release_many(_bridge(), leases, delay)

    async def fail(
        self, lease: Lease, error: str | BaseException = "", *, delay: Seconds | None = None
    ) -> State:
        """Count a failure: the item goes to the back of its priority, at once or after `delay`."""
        return await self._native.fail(_bridge(), lease, describe(error), delay)

    async def fail_many(
        self,
        leases: Iterable[Lease],
        errors: str | BaseException | Iterable[str | BaseException] = "",
        *,
        delay: Seconds | None = None,
    ) -> builtins.list[State | None]:
        """Count failures of many items, with one error for all, or one for each."""
        return await self._native.fail_many(_bridge(), leases, describe_all(errors), delay)

    async def light_clean(self) -> LightReport:
        """Make due items ready and reclaim expired leases, for queues that nobody is waiting on."""
        return await self._native.light_clean(_bridge())

    async def deep_clean(self) -> DeepReport:
        """Find and mend every broken invariant, in small steps, safe under full load."""
        return await self._native.deep_clean(_bridge())

    async def check(self) -> DeepReport:
        """Do what `deep_clean` does, but only look."""
        return await self._native.check(_bridge())

    async def queue_len(self) -> int:
        """Return how many items are ready."""
        return await self._native.queue_len(_bridge())

    async def processing(self) -> int:
        """Return how many items are leased, expired ones not yet reclaimed included."""
        return await self._native.processing(_bridge())

    async def counts(self) -> Counts:
        """Return how many items are in each state, and more that operators watch."""
        return await self._native.counts(_bridge())

    async def get(self, id: ItemId) -> ItemInfo | None:  # noqa: A002 - the word for it
        """Look at an item without leasing it; `None` if there is none. Raises `InvalidError`."""
        return await self._native.get(_bridge(), id)

    async def list(self, state: State | str, cursor: str | None = None, limit: int = 100) -> Page:
        """Look at up to `limit` items of a state, 1 to 1,000."""
        return await self._native.list(_bridge(), state, cursor, limit)

    async def remove(self, id: ItemId) -> bool:  # noqa: A002 - the word for it
        """Remove an item in whatever state it is; False if there is none. Raises `InvalidError`."""
        return await self._native.remove(_bridge(), id)

    async def remove_many(self, ids: Iterable[ItemId]) -> builtins.list[bool]:
        """Remove many items; the answers stand in their order."""
        return await self._native.remove_many(_bridge(), ids)

    async def requeue(self, *ids: ItemId) -> builtins.list[bool]:
        """Make dead items ready again, at the back, with their attempts counted anew."""
        return await self._native.requeue(_bridge(), ids)

    async def pause(self) -> None:
        """Stop leasing from this queue, for every client, until `resume`."""
        await self._native.pause(_bridge())

    async def resume(self) -> None:
        """Go on leasing after `pause`; waiting calls wake."""
        await self._native.resume(_bridge())

    async def purge(self, state: State | str) -> int:
        """Remove every item of a state, as many as there are now, and return how many."""
        return await self._native.purge(_bridge(), state)

    async def drop_queue(self) -> bool:
        """Delete the queue with everything in it. False if there was none."""
        return await self._native.drop_queue(_bridge())

    async def close(self) -> None:
        """Close this handle: calls through it raise `ClosedError` from then on."""
        self._native = cast(_leaseq.Queue, CLOSED)

    async def __aenter__(self) -> Queue:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
