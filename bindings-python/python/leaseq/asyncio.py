"""The same for asyncio: `await leaseq.asyncio.connect(url)`.

The classes and methods are those of `leaseq`; what blocks there is awaited here. If a task is
cancelled, what was leased for it goes back.

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
import json
import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from datetime import datetime
from types import EllipsisType, TracebackType
from typing import Literal, cast, overload

from . import _leaseq
from ._events import EventsPage
from ._groups import Group, GroupInfo, GroupOutcome, PlaceState
from ._history import HistoryRow
from ._leaseq import Item
from ._only_asyncio import Lease, bridge, give_back, unless_cancelled
from ._process import CLOSED, describe, describe_all, opened
from ._values import (
    Counts,
    Data,
    DeepReport,
    FollowUp,
    ItemId,
    ItemInfo,
    KeyInfo,
    LightReport,
    Outcome,
    Page,
    PutSchedule,
    Rate,
    Revision,
    Schedule,
    ScheduleInfo,
    Seconds,
    Settings,
    State,
    SyncedSchedules,
)
from ._workers import Beat, BeatReply, CancelCommand, StopCommand, WorkerName, WorkersPage
from .exceptions import LeaseqError

__all__ = ["Client", "Lease", "Queue", "connect"]


async def connect(
    url: str | None = None,
    *,
    namespace: str | None = None,
    timeout: Seconds | None = None,
    connect_timeout: Seconds | None = None,
    max_data: int | None = None,
    ca_file: str | os.PathLike[str] | None = None,
    replicas: int | None = None,
    fsync: Literal["local"] | int | None = None,
) -> Client:
    """Connect to a server, or open the embedded engine.

    `url` is `redis://`, `rediss://` (TLS), `redis+unix:///path`,
    `redis+sentinel://h1:26379,h2:26379/master-name`, `redis+cluster://h1:7000,h2:7000`,
    `sqlite:path/to/file.db` or `memory:`. It may contain user, password, database and options;
    they take precedence over the arguments here. Without a URL: the environment variable
    `LEASEQ_URL`, or else `REDIS_URL`.

    - `namespace`: the prefix of all keys on Redis, `[A-Za-z0-9._-]{1,64}`; default `leaseq`.
    - `timeout`: how long an operation is tried before it raises `UnavailableError`, 50 ms to 10
      minutes; default 10 s.
    - `connect_timeout`: for opening one connection, 10 ms to 10 minutes; default 2 s.
    - `max_data`: the largest data of an item, in bytes, at most 256 MiB; default 8 MiB.
    - `ca_file`: a PEM file with the authorities to trust for TLS; default: the system's.
    - `replicas`: a call returns when so many replicas of the server have its change, 0 to 10;
      default 0. If too few have it in time: `UnavailableError`, and the outcome is unknown.
    - `fsync`: a call returns when the server's disk has its change (`"local"`), or also the disks
      of so many replicas, 1 to 10; default: the server decides. Needs Redis 7.2 or Valkey.

    Raises `InvalidError`, `IncompatibleError`, `UnavailableError`.

    >>> client = await connect("memory:")
    >>> await client.close()
    """
    native = await unless_cancelled(
        _leaseq.connect(
            bridge(), url, namespace, timeout, connect_timeout, max_data, ca_file, replicas, fsync
        )
    )
    opened()
    return Client(native)


class Client:
    """Owns the connections and serves any number of queues; made by `connect`.

    Tasks, event loops and threads may share it. So may forked child processes: each opens
    connections of its own at first use. Leaving its `async with` block closes it.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _leaseq.Client) -> None:
        self._native = native

    def queue(self, name: str) -> Queue:
        """Return the queue of this name, `[A-Za-z0-9._-]{1,128}`.

        It need not exist: the first item creates it. Raises `InvalidError`, `ClosedError`.
        """
        return Queue(self._native.queue(name))

    async def queues(self) -> list[str]:
        """Return the names of all queues, sorted.

        A queue exists once an item was added or it was paused or configured, until it is dropped.

        >>> async with await connect("memory:") as client:
        ...     await client.queue("emails").add_item("hello")
        ...     await client.queues()
        True
        ['emails']
        """
        return await self._native.queues(bridge())

    async def beat(self, beat: Beat) -> BeatReply:
        """Say what a worker does, and return what it shall do.

        A worker beats every 10 seconds and is listed for 30 seconds after its last beat. A command
        comes with each reply until a beat acknowledges its number. Raises `InvalidError` for a
        value above its limit, or a beat of more than 256 KiB.

        >>> client = await connect("memory:")
        >>> await client.beat({"name": "mailer", "instance": "1", "queues": ["emails"], "slots": 4})
        {'quiet': False, 'commands': []}
        """
        given = {"language": "python", **beat}
        return cast(BeatReply, await self._call_registry("beat", given))

    async def leave(self, worker: WorkerName) -> None:
        """End a worker: it is listed no longer, and its commands are deleted."""
        await self._call_registry("leave", worker)

    async def workers(
        self,
        *,
        after: WorkerName | None = None,
        name: str | None = None,
        queue: str | None = None,
        limit: int = 100,
    ) -> WorkersPage:
        """Return a page of the workers that have beaten within 30 seconds.

        - `after`: the `next` of the page before.
        - `name`, `queue`: only workers of this name, or that serve this queue.
        - `limit`: how many workers to look at, 1 to 200.

        >>> client = await connect("memory:")
        >>> await client.beat({"name": "mailer", "instance": "1"})
        {'quiet': False, 'commands': []}
        >>> [worker["name"] for worker in (await client.workers())["workers"]]
        ['mailer']
        """
        which = {"after": after, "name": name, "queue": queue, "limit": limit}
        return cast(WorkersPage, await self._call_registry("workers", which))

    async def command_worker(
        self, worker: WorkerName, command: StopCommand | CancelCommand
    ) -> bool:
        """Give a worker a command, which comes with the reply to its next beat.

        It waits for 5 minutes at most. False: no such worker has beaten within 30 seconds. Raises
        `InvalidError` if the worker has 100 commands that it has not acknowledged.

        >>> client = await connect("memory:")
        >>> await client.command_worker({"name": "mailer", "instance": "1"}, {"action": "stop"})
        False
        """
        given = {"worker": worker, "command": command}
        return cast(bool, await self._call_registry("command_worker", given))

    async def quiet_worker(self, name: str) -> None:
        """Let the workers of this name lease nothing, until `resume_worker`.

        That includes those that are started later; there need not be any.
        """
        await self._call_registry("quiet_worker", {"name": name})

    async def resume_worker(self, name: str) -> None:
        """Let the workers of this name lease again, from their next beats on."""
        await self._call_registry("resume_worker", {"name": name})

    async def _call_registry(self, operation: str, arguments: object) -> object:
        text = json.dumps(arguments)
        return json.loads(await self._native.call_registry(bridge(), operation, text))

    async def close(self) -> None:
        """End waiting calls with `ClosedError`, finish the requests in flight, and disconnect.

        Callers keep the leases that they hold until the deadline. A second call does nothing. When
        the process ends, clients that are still open are closed.
        """
        await self._native.close(bridge())

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


class Queue:
    """One queue; made by `Client.queue`.

    Tasks, event loops and threads may share it. Calls made at the same time share one request.
    Calls wait without the GIL, and signals keep working.

    Besides the errors named, every operation may raise `UnavailableError` (no answer within the
    client's time-out), `ClosedError`, `IncompatibleError` (the queue was written by a version with
    another storage format) and `InternalError` (damage; see `check`).

    `id` is text or bytes; times are seconds, as a number, or a `timedelta`. Leaving its
    `async with` block closes this handle, not the client.
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
        """Add an item, or only its data.

        True: the item is stored and will be delivered. False: an item with this id exists in some
        state, or its unique key is taken; nothing changed, no data was overwritten. With `replace`,
        False only if the other item is leased, or if its key is taken otherwise. Raises
        `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(b"hello"), await queue.add_item("hello")
        (True, True)
        >>> await queue.add_item(Item("your order", id="order-17", priority=5))
        True
        >>> await queue.add_item(Item("another", id="order-17"))
        False
        """
        return await self._native.add_item(bridge(), item)

    async def add_items(self, items: Iterable[Item | Data]) -> builtins.list[bool]:
        """Add many items; the answers are in the same order.

        Each chunk of at most 1,000 items and 16 MiB is one atomic step. If any item is outside its
        limits, `InvalidError` is raised and none is added; after another error, earlier chunks have
        been added.

        >>> client = await connect("memory:")
        >>> await client.queue("emails").add_items(["hello", "world"])
        [True, True]
        """
        return await self._native.add_items(bridge(), items)

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

        `None`: there was none within `wait`, which is not an error. Without `wait` the call waits
        until there is one; with zero it returns at once. If the task is cancelled, what was leased
        goes back. Keep the lease: one that is dropped before it was used is released (see `Lease`).

        With `keep_alive` the lease is extended in the background, also while Python is busy, until
        it is completed, released, failed, dropped or lost, or until `keep_alive_limit` has passed
        since the lease was returned. `Lease.lost` says when it is lost. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item("hello")
        True
        >>> while lease := await queue.lease(30, wait=0.1):
        ...     print(lease.data, await queue.complete(lease))
        b'hello' True
        """
        return await unless_cancelled(
            self._native.lease(bridge(), duration, wait, keep_alive, keep_alive_limit)
        )

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

        At most 1,000 items and about 16 MiB. Empty: there was none within `wait`. Otherwise as
        `lease`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_items(["hello", "world"])
        [True, True]
        >>> leases = await queue.lease_many(10, 30)
        >>> [lease.data for lease in leases], await queue.complete_many(leases)
        ([b'hello', b'world'], [True, True])
        """
        return await unless_cancelled(
            self._native.lease_many(bridge(), count, duration, wait, keep_alive, keep_alive_limit)
        )

    async def leases(
        self,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        complete: bool = False,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> AsyncGenerator[Lease, None]:
        """Lease one item after the other, as `lease` does; ends when there is none within `wait`.

        With `complete`, going on to the next turn completes the item of the turn before, and leases
        the next in the same round trip. A turn that does not end, because of an exception, `break`
        or `return`, completes nothing; its lease is released when the iterator is closed, which
        `contextlib.aclosing` does at once. What the body has completed, released or failed itself
        stays as it is.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_items(["hello", "world"])
        [True, True]
        >>> async for lease in queue.leases(30, wait=0.1):
        ...     async with lease:
        ...         print(lease.data)
        b'hello'
        b'world'
        >>> await queue.add_items(["and", "again"])
        [True, True]
        >>> async for lease in queue.leases(30, wait=0.1, complete=True):
        ...     print(lease.data)
        b'and'
        b'again'
        """
        limit = keep_alive_limit
        lease = await self.lease(duration, wait, keep_alive=keep_alive, keep_alive_limit=limit)
        while lease:
            try:
                yield lease
            except BaseException:
                if complete and lease._held:
                    give_back(lease)
                raise
            # A caller that goes on has the lease, and uses it.
            if lease._held and complete:
                _, leases = await self.complete_and_lease(
                    [lease], 1, duration, wait, keep_alive=keep_alive, keep_alive_limit=limit
                )
                lease = leases[0] if leases else None
            else:
                lease = await self.lease(
                    duration, wait, keep_alive=keep_alive, keep_alive_limit=limit
                )

    async def complete(
        self,
        lease: Lease,
        *,
        strict: bool = False,
        result: Data | None = None,
        retain: Seconds | None = None,
        add: Iterable[Item | Data] | None = None,
    ) -> bool:
        """Complete the item: it is gone, or retained.

        True for exactly one caller in a generation. A holder whose lease has expired may still be
        that caller; whoever has leased the item meanwhile gets False. With `strict`, False unless
        the lease is current.

        An item that is retained stays in the state `completed`, with `result`, for the time that it
        was added with, or for `retain`, at most 366 days; 0 means not at all. The result, as large
        as data may be, is dropped with an item that is not retained.

        Up to 999 items to `add` are added to the queue if this call completes the item.

        Raises `InvalidError`, also for a lease of another queue or process.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", id="1", retain=3600))
        True
        >>> await queue.complete(await queue.lease(30), result="sent")
        True
        >>> info = await queue.get("1")
        >>> info.state, info.result
        (<State.COMPLETED: 'completed'>, b'sent')
        """
        return await self._native.complete(bridge(), lease, strict, result, retain, add)

    async def complete_many(
        self,
        leases: Iterable[Lease],
        *,
        strict: bool = False,
        results: Iterable[Data | None] | None = None,
        retain: Seconds | None = None,
        adds: Iterable[Iterable[Item | Data]] | None = None,
    ) -> builtins.list[bool]:
        """Complete many items; the answers are in the same order.

        `results` has one for each lease, `None` for those without, and `adds` what is added for
        each.
        """
        return await self._native.complete_many(bridge(), leases, strict, results, retain, adds)

    async def complete_and_lease(
        self,
        leases: Iterable[Lease],
        count: int,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        strict: bool = False,
        results: Iterable[Data | None] | None = None,
        retain: Seconds | None = None,
        adds: Iterable[Iterable[Item | Data]] | None = None,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> tuple[builtins.list[bool], builtins.list[Lease]]:
        """Complete items as `complete_many`, then lease others as `lease_many`, in one round trip.

        Returns the answers in the order of the leases, and the new leases. The items are completed
        at once, before the call waits for the next. If the task is cancelled, what was leased goes
        back. After an error, nothing was leased, and `completed` of each lease says whether it was
        completed: True, False, or None if that is unknown.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_items(["a", "b", "c"])
        [True, True, True]
        >>> leases = await queue.lease_many(2, 30, wait=0)
        >>> while leases:
        ...     print([lease.data for lease in leases])
        ...     completed, leases = await queue.complete_and_lease(leases, 2, 30, wait=0)
        ...     print(completed)
        [b'a', b'b']
        [True, True]
        [b'c']
        [True]
        """
        return await unless_cancelled(
            self._native.complete_and_lease(
                bridge(),
                leases,
                strict,
                results,
                retain,
                adds,
                count,
                duration,
                wait,
                keep_alive,
                keep_alive_limit,
            )
        )

    async def extend(self, lease: Lease, duration: Seconds) -> datetime:
        """Extend the lease to the later of its deadline and now + `duration`.

        Returns the deadline, on the server's clock. It also works after the deadline, as long as
        nobody has reclaimed the item. Raises `LeaseLostError`, `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item("hello")
        True
        >>> lease = await queue.lease(30)
        >>> before = lease.deadline
        >>> await queue.extend(lease, 60) > before
        True
        """
        return await self._native.extend(bridge(), lease, duration)

    async def extend_many(
        self, leases: Iterable[Lease], duration: Seconds
    ) -> builtins.list[datetime | None]:
        """Extend many leases; the deadlines are in the same order, `None` for one that is lost."""
        return await self._native.extend_many(bridge(), leases, duration)

    async def set_progress(self, lease: Lease, progress: Data) -> None:
        """Store how far the work on the item has come, for `get` and `list`.

        `progress` is text or bytes, up to 1,024 bytes. It replaces what earlier holders stored. It
        stays when the lease ends, until the item is completed or gone.

        Call it as often as you like: the first value of a lease is stored when the call returns.
        Later ones wait if the client has sent one within the last second, and the call returns at
        once; when the second is over, the last value of each lease is sent. `fail` and `release`
        send what waits, `complete` drops it. Raises `LeaseLostError`, perhaps only in a later call;
        `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item("hello")
        True
        >>> lease = await queue.lease(30)
        >>> await queue.set_progress(lease, "3 of 10")
        >>> (await queue.get(lease.id)).progress
        b'3 of 10'
        """
        await self._native.set_progress(bridge(), lease, progress)

    async def release(
        self, lease: Lease, *, delay: Seconds | None = None, reason: str = ""
    ) -> None:
        """Give the item back without counting an attempt.

        The item goes to the front of its priority, at once or after `delay`, at most 366 days. A
        `reason`, up to 128 bytes of UTF-8, is kept with the item, with how often in a row it was
        given and when first. Raises `LeaseLostError`, `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item("hello")
        True
        >>> await queue.release(await queue.lease(30), reason="no connection")
        >>> lease = await queue.lease(30)
        >>> lease.releases.reason, lease.releases.count
        ('no connection', 1)
        """
        await self._native.release(bridge(), lease, delay, reason)

    async def release_many(
        self, leases: Iterable[Lease], *, delay: Seconds | None = None, reason: str = ""
    ) -> builtins.list[bool]:
        """Give many items back, for one reason; False for a lease that is lost."""
        return await self._native.release_many(bridge(), leases, delay, reason)

    async def fail(
        self,
        lease: Lease,
        error: str | BaseException = "",
        *,
        delay: Seconds | None = None,
        dead: bool = False,
        add: Iterable[Item | Data] | None = None,
    ) -> State:
        """Count a failure: the item goes to the back of its priority, at once or after `delay`.

        The item is dead when its limit of attempts is reached; with `dead`, which allows no delay,
        it is dead whatever its limit. Returns its new state. The first 1,024 bytes of the error are
        kept with the item. Up to 999 items to `add` are added to the queue if this call ends the
        item. Raises `LeaseLostError`, `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", id="1", max_attempts=1))
        True
        >>> await queue.fail(await queue.lease(30), ValueError("no such address"))
        <State.DEAD: 'dead'>
        >>> info = await queue.get("1")
        >>> info.last_error
        'ValueError: no such address'
        """
        return await self._native.fail(bridge(), lease, describe(error), delay, dead, add)

    async def fail_many(
        self,
        leases: Iterable[Lease],
        errors: str | BaseException | Iterable[str | BaseException] = "",
        *,
        delay: Seconds | None = None,
        dead: bool = False,
        adds: Iterable[Iterable[Item | Data]] | None = None,
    ) -> builtins.list[State | None]:
        """Count failures of many items, with one error for all, or one for each.

        Returns their new states, `None` for a lease that is lost. `adds` has for each lease what is
        added if its item ends.
        """
        return await self._native.fail_many(
            bridge(), leases, describe_all(errors), delay, dead, adds
        )

    async def light_clean(self) -> LightReport:
        """Make due items ready and reclaim expired leases, for queues that nobody is waiting on.

        The cost depends on how many items are due or expired, not on how many are queued or leased.
        """
        return await self._native.light_clean(bridge())

    async def deep_clean(self) -> DeepReport:
        """Find and mend every broken invariant, in small steps, safe under full load."""
        return await self._native.deep_clean(bridge())

    async def check(self) -> DeepReport:
        """Report what `deep_clean` would mend, and change nothing.

        >>> client = await connect("memory:")
        >>> report = await client.queue("emails").check()
        >>> report.is_sound
        True
        """
        return await self._native.check(bridge())

    async def queue_len(self) -> int:
        """Return how many items are ready."""
        return await self._native.queue_len(bridge())

    async def processing(self) -> int:
        """Return how many items are leased, expired ones not yet reclaimed included."""
        return await self._native.processing(bridge())

    async def counts(self) -> Counts:
        """Return how many items are in each state, and what else operators monitor.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", priority=9))
        True
        >>> counts = await queue.counts()
        >>> counts.ready, counts.ready_by_priority[9], counts.totals.added
        (1, 1, 1)
        """
        return await self._native.counts(bridge())

    async def get(self, id: ItemId) -> ItemInfo | None:  # noqa: A002 - the word for it
        """Look at an item without leasing it; `None` if there is none. Raises `InvalidError`."""
        return await self._native.get(bridge(), id)

    async def get_many(
        self,
        ids: Iterable[ItemId],
        *,
        data: bool = True,
    ) -> builtins.list[ItemInfo | None]:
        """Look at many items without leasing them; the answers are in the order of the ids.

        `None` for an id without an item. With `data=False` the data is left out, and empty. It
        works in steps of up to 1,000 ids and 16 MiB of data, so it is no snapshot. Raises
        `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", id="order-17"))
        True
        >>> [item and item.state.value for item in await queue.get_many(["order-16", "order-17"])]
        [None, 'ready']
        """
        return await self._native.get_many(bridge(), ids, data)

    @overload
    async def outcome(
        self,
        id: ItemId,
        wait: None = None,
        *,
        expect: bool = False,
    ) -> Outcome: ...
    @overload
    async def outcome(
        self,
        id: ItemId,
        wait: Seconds | None,
        *,
        expect: bool = False,
    ) -> Outcome | None: ...
    async def outcome(
        self,
        id: ItemId,  # noqa: A002 - the word for it
        wait: Seconds | None = None,
        *,
        expect: bool = False,
    ) -> Outcome | None:
        """Wait until an item has ended, and return how: with its result if it is retained.

        `None`: it has not ended within `wait`. Without `wait` the call waits without a limit; with
        zero it looks once. If there is no item with this id, the outcome is `gone`, unless `expect`
        is set: then it also waits for one that is not added yet. Any number of calls share two
        connections. The answer is about the id: if the item ends and is added anew before the
        client has learned of it, it may be about the later one. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", id="order-17", retain=3600))
        True
        >>> await queue.outcome("order-17", wait=0) is None
        True
        >>> await queue.complete(await queue.lease(30), result="sent")
        True
        >>> (await queue.outcome("order-17")).result
        b'sent'
        """
        return await unless_cancelled(self._native.outcome(bridge(), id, wait, expect))

    async def outcome_many(
        self,
        ids: Iterable[ItemId],
        wait: Seconds | None = None,
        *,
        expect: bool = False,
    ) -> builtins.list[Outcome | LeaseqError | None]:
        """Wait until all of these items have ended; the answers are in the order of the ids.

        `None` for an item that has not ended within `wait`, and the error for one that could not be
        asked about, so that the outcomes of the others are not lost. The client asks about up to
        1,000 items in a request, and its error is that of all of them. Raises it if there is one
        for every item, and `InvalidError` if one of the ids is invalid. Otherwise as `outcome`.
        """
        return await unless_cancelled(self._native.outcome_many(bridge(), ids, wait, expect))

    async def list(
        self,
        state: State | str,
        cursor: str | None = None,
        limit: int = 100,
        *,
        reverse: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        data: bool = True,
        id_prefix: ItemId | None = None,
        data_contains: Data | None = None,
        error_contains: str | None = None,
    ) -> Page:
        """Look at up to `limit` items of a state, 1 to 1,000, and with filters at up to 1,000.

        Ready items come in the order of leasing, the others by time (`ItemInfo.at`); with `reverse`
        in the opposite order. `Page.cursor` continues the list; it is `None` on the last page. With
        filters, and because a page has 16 MiB of data at most, a page may have fewer items than
        `limit`, or none, without being the last.

        - `since`, `until`: only items whose time is not before `since`, and before `until`. For
          ready items that is `ItemInfo.added_at`, for the others `ItemInfo.at`.
        - `data=False` leaves out data and results.
        - `id_prefix`, `data_contains`, `error_contains`: only items whose id begins so (512 bytes),
          and whose data and last error contain this (1,024 bytes each).

        The list is no snapshot, but the cursor stays right while items are added and taken: an item
        that stays where it is is shown once, and one that is added, completed or removed meanwhile
        at most once. An item whose time changes meanwhile, or that is revised, or leased and comes
        back, may be missing or appear twice. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_items(["hello", "world"])
        [True, True]
        >>> page = await queue.list("ready")
        >>> [item.data for item in page.items]
        [b'hello', b'world']
        >>> page = await queue.list("ready", data_contains="wor")
        >>> [item.data for item in page.items], page.examined
        ([b'world'], 2)
        """
        wanted = (reverse, since, until, data, id_prefix, data_contains, error_contains)
        return await self._native.list(bridge(), state, cursor, limit, wanted)

    async def remove(
        self,
        id: ItemId,  # noqa: A002 - the word for it
        *,
        if_generation: str | None = None,
    ) -> bool:
        """Remove an item in whatever state it is; False if there is none. Raises `InvalidError`.

        With `if_generation`, as `ItemInfo.generation` tells it, False also if the item is of
        another one: it was added anew, buried or revised since. From then on a holder of its lease
        gets False or `LeaseLostError`.
        """
        return await self._native.remove(bridge(), id, if_generation)

    async def remove_many(
        self,
        ids: Iterable[ItemId],
        *,
        if_generation: str | Iterable[str | None] | None = None,
    ) -> builtins.list[bool]:
        """Remove many items; the answers are in the same order.

        `if_generation`: for each of them the generation that it must have, or `None`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_items([Item("hello", id="1"), Item("world", id="2")])
        [True, True]
        >>> seen = (await queue.list("ready")).items
        >>> await queue.revise("2", "new")
        True
        >>> ids, generations = zip(*((item.id, item.generation) for item in seen))
        >>> await queue.remove_many(ids, if_generation=generations)
        [True, False]
        """
        return await self._native.remove_many(bridge(), ids, if_generation)

    async def requeue(
        self, *ids: ItemId, if_generation: str | Iterable[str | None] | None = None
    ) -> builtins.list[bool]:
        """Make dead items ready again, at the back, with no attempts counted.

        False for an item that does not exist, is not dead or is of another generation than
        `if_generation` says, as for `remove_many`. Raises `InvalidError`.
        """
        return await self._native.requeue(bridge(), ids, if_generation)

    async def bury(
        self,
        *ids: ItemId,
        error: str | BaseException = "",
        if_generation: str | Iterable[str | None] | None = None,
    ) -> builtins.list[bool]:
        """Make items dead that are ready, held or delayed, whatever their limit of attempts.

        The first 1,024 bytes of the error are kept with them; without one it is `buried by an
        operator`. False for an item that does not exist, is leased, is dead or is of another
        generation than `if_generation` says, as for `remove_many`. A buried item is a new
        generation: an earlier holder of a lease can no longer complete it. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", id="1"))
        True
        >>> await queue.bury("1", "2", error="no such address")
        [True, False]
        """
        return await self._native.bury(bridge(), ids, describe(error), if_generation)

    async def cancel(
        self,
        id: ItemId,  # noqa: A002 - the word for it
        *,
        if_generation: str | None = None,
    ) -> bool:
        """Cancel an item. If it is ready, held or delayed, it is gone, or retained as `cancelled`.

        If it is leased, it is marked. Its holder may still complete it; if the lease fails, is
        released or expires instead, the item ends as cancelled, and is neither retried nor dead. A
        holder that asks (`Lease.cancelled`) learns of it within a few seconds.

        True: cancelled, or leased and marked by this call or an earlier one. False: there is no
        such item, it has ended, or it is of another generation than `if_generation` says, as for
        `remove`. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", id="order-17"))
        True
        >>> await queue.cancel("order-17")
        True
        >>> await queue.cancel("order-17")
        False
        """
        return await self._native.cancel(bridge(), id, if_generation)

    async def cancel_many(
        self,
        ids: Iterable[ItemId],
        *,
        if_generation: str | Iterable[str | None] | None = None,
    ) -> builtins.list[bool]:
        """Cancel many items; the answers are in the same order.

        `if_generation`: for each of them the generation that it must have, or `None`.
        """
        return await self._native.cancel_many(bridge(), ids, if_generation)

    async def attach(
        self,
        id: ItemId,  # noqa: A002 - the word for it
        follow_up: FollowUp,
        *,
        if_generation: str | None = None,
    ) -> bool:
        """Add a follow-up to an item that has not ended, in whatever state it is.

        If the item has ended as the follow-up requires, and is dead or retained, the follow-up is
        added at once. True: the item has the follow-up, or it is added. False: there is no such
        item, it has ended in another way, or it is of another generation than `if_generation` says.
        A follow-up whose id the item has already for that end is not attached again. Raises
        `InvalidError`, also if the item would have more than 16 follow-ups or 64 KiB of them.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", id="order-17"))
        True
        >>> await queue.attach("order-17", FollowUp("completed", "next step"))
        True
        """
        return await self._native.attach(bridge(), id, follow_up, if_generation)

    async def attach_many(
        self, follow_ups: Iterable[tuple[ItemId, FollowUp]]
    ) -> builtins.list[bool]:
        """Attach many, each to the item with that id; the answers are in the same order."""
        return await self._native.attach_many(bridge(), follow_ups)

    async def create_group(self, id: ItemId, follow_ups: Iterable[FollowUp] = ()) -> Group:  # noqa: A002 - the word for it
        """Create a group in this queue, or return the one that has its id, as it was created.

        `follow_ups` are added when the group has ended so: `completed` if all members were
        completed, `dead` if all have ended and one was not completed, `ended` in both cases. Add
        the members, to any queues, with a `group` and a `place`, then call `seal_group`. If the
        caller dies in between, it can do all of that again. A group that is not sealed goes after a
        day without change; one that has ended, a day after its end. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> pages = await queue.create_group("order-17", [FollowUp("completed", "all sent")])
        >>> await queue.add_items([Item("send", group=pages, place=n) for n in range(2)])
        [True, True]
        >>> await queue.seal_group(pages, 2)
        True
        >>> leases = await queue.lease_many(2, 30)
        >>> await queue.complete_many(leases)
        [True, True]
        >>> (await queue.lease(30)).data
        b'all sent'
        """
        return await self._native.create_group(bridge(), id, follow_ups)

    async def seal_group(self, group: Group, places: int) -> bool:
        """Fix how many places a group has, 1 to 100,000, counted from 0.

        Call it when all members have been added: the group ends when all these places are filled,
        which may be now. True: it has that many places, also if it had been sealed so before.
        False: it has another number of places, or is gone. Raises `InvalidError`, also for a group
        of another queue.
        """
        return await self._native.seal_group(bridge(), group, places)

    async def cancel_group(self, group: Group) -> bool:
        """Cancel the members of a group, in any queue, also those that are added later.

        Each is cancelled as `cancel` does it. Members that have ended stay as they are, and a dead
        one that is requeued later is not cancelled. The group goes on: it ends when all its places
        are filled, and then adds its follow-ups. Members are cancelled soon, usually before the
        call returns if they are not many. True: there is such a group, and it had not ended.
        False: it has ended, or is gone. Raises `InvalidError`, also for a group of another queue.
        """
        return await self._native.cancel_group(bridge(), group)

    async def remove_group(self, group: Group) -> bool:
        """Remove a group; false if it is gone.

        Its members stay, and their ends fill nothing any more. If the group has not ended, its
        follow-ups are never added. Raises `InvalidError`, also for a group of another queue.
        """
        return await self._native.remove_group(bridge(), group)

    async def group(self, id: ItemId) -> GroupInfo | None:  # noqa: A002 - the word for it
        """Return the group of this queue with this id; `None` if there is none.

        An end of a member counts as soon as it was reported, which is usually when the call that
        has ended it returns. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> pages = await queue.create_group("order-17")
        >>> await queue.seal_group(pages, 2)
        True
        >>> info = await queue.group("order-17")
        >>> (info.places, info.completed, info.has_ended)
        (2, 0, False)
        """
        return await self._native.group(bridge(), id)

    @overload
    async def group_outcome(
        self,
        id: ItemId,
        wait: None = None,
        *,
        expect: bool = False,
    ) -> GroupOutcome: ...
    @overload
    async def group_outcome(
        self,
        id: ItemId,
        wait: Seconds | None,
        *,
        expect: bool = False,
    ) -> GroupOutcome | None: ...
    async def group_outcome(
        self,
        id: ItemId,  # noqa: A002 - the word for it
        wait: Seconds | None = None,
        *,
        expect: bool = False,
    ) -> GroupOutcome | None:
        """Wait until a group has ended, and return how.

        `None`: it has not ended within `wait`. Without `wait` the call waits without a limit; with
        zero it looks once. If there is no group with this id, the outcome is `gone`, unless
        `expect` is set: then it also waits for one that is not created yet. It is about the id, and
        shares connections and requests with all other waits of the client. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> pages = await queue.create_group("order-17")
        >>> await queue.add_item(Item("page", group=pages, place=0))
        True
        >>> await queue.seal_group(pages, 1)
        True
        >>> await queue.group_outcome("order-17", wait=0) is None
        True
        >>> await queue.complete(await queue.lease(30))
        True
        >>> (await queue.group_outcome("order-17")).completed
        True
        """
        return await unless_cancelled(self._native.group_outcome(bridge(), id, wait, expect))

    async def group_places(self, group: Group, first: int = 0) -> builtins.list[PlaceState]:
        """Return the states of up to 1,000 places of a group, from the first one on.

        Fewer if it has no more; none if it is gone. Raises `InvalidError`, also for a group of
        another queue.
        """
        return await self._native.group_places(bridge(), group, first)

    async def revise(
        self,
        id: ItemId,  # noqa: A002 - the word for it
        data: Data | None = None,
        *,
        priority: int | None = None,
        delay: Seconds | None = None,
        due_at: datetime | None = None,
        max_attempts: int | None = None,
        if_generation: str | None = None,
    ) -> bool:
        """Change an item that is not leased; what is `None` stays as it is.

        The item stays in its state, and keeps its attempts and the time of its add; a delay, which
        a dead item cannot have, makes it delayed or ready. If it is ready then, it goes to the back
        of its priority. False if there is no such item, or it is leased or of another generation
        than `if_generation` says, or it is dead and there is a delay. A revised item is a new
        generation: an earlier holder of a lease can no longer complete it. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item(Item("hello", id="1", delay=600))
        True
        >>> await queue.revise("1", "hello at once", delay=0)
        True
        >>> (await queue.lease(30)).data
        b'hello at once'
        """
        revision = Revision(
            id,
            data,
            priority=priority,
            delay=delay,
            due_at=due_at,
            max_attempts=max_attempts,
            if_generation=if_generation,
        )
        return await self._native.revise(bridge(), revision)

    async def revise_many(self, revisions: Iterable[Revision]) -> builtins.list[bool]:
        """Change many items; the answers are in the same order. Raises `InvalidError`."""
        return await self._native.revise_many(bridge(), revisions)

    async def configure(
        self,
        *,
        max_attempts: int | EllipsisType | None = ...,
        retain: Seconds | EllipsisType | None = ...,
        max_dead: int | EllipsisType | None = ...,
        max_retained: int | EllipsisType | None = ...,
        max_dead_age: Seconds | EllipsisType | None = ...,
        max_retained_age: Seconds | EllipsisType | None = ...,
        key_limit: int | EllipsisType | None = ...,
        events: int | EllipsisType | None = ...,
        rate: Rate | EllipsisType | None = ...,
        key_rate: Rate | EllipsisType | None = ...,
        revision: int | None = None,
    ) -> Settings | None:
        """Change settings of this queue, which hold for every client, and return all of them.

        A setting that is not given stays as it is; `None` removes it.

        - `max_attempts`: the limit of items that were added without one of their own, also of those
          that are in the queue already.
        - `retain`: for how long a completed or cancelled item is retained if neither it nor its
          completion says so.
        - `max_dead`, `max_retained`: how many dead and retained items the queue keeps at most, 1 to
          1,000,000,000. Whoever leases or cleans removes the oldest dead ones, and the retained
          ones whose time ends first.
        - `max_dead_age`: after how long dead items are removed.
        - `max_retained_age`: for how long items that end from now on are retained at most.
        - `key_limit`: how many items of a key are leased at once, 1 to 1,000, unless it has a limit
          of its own (`set_key_limits`); `None`: 1. A lower limit takes no lease away.
        - `events`: how many of its last changes the queue keeps, 1 to 1,000,000, for `events`;
          `None`: none, and those that it has kept are deleted.
        - `rate`: how many leases the queue gives in a time, to all clients together. When they are
          used up, items stay ready, and calls that wait get theirs when the next lease is allowed.
        - `key_rate`: how many leases each key gets in a time. When they are used up, the items of
          that key are held, and calls that wait get one when the next lease is allowed. The burst
          must be used up for at most 366 days: `burst * period / count`.

        With `revision`, return `None` and change nothing if the stored revision is another one: 0
        if the queue was never configured. A change that changes nothing keeps the revision. Raises
        `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> settings = await queue.configure(max_attempts=5, max_dead=1000, revision=0)
        >>> settings.max_attempts, settings.max_dead
        (5, 1000)
        >>> await queue.configure(max_attempts=3, revision=0) is None
        True
        >>> (await queue.configure(max_dead=None)).max_attempts
        5
        """
        given = (
            max_attempts,
            retain,
            max_dead,
            max_retained,
            max_dead_age,
            max_retained_age,
            key_limit,
            events,
            rate,
            key_rate,
            revision,
        )
        return await self._native.configure(bridge(), given)

    async def settings(self) -> Settings:
        """Return the settings of this queue, and whether it is paused."""
        return await self._native.settings(bridge())

    async def set_key_limits(self, limits: Mapping[ItemId, int | None]) -> None:
        """Give keys limits of their own, 1 to 1,000: so many items of each are leased at once.

        `None`: the limit of the queue again. Up to 1,000 keys change in one atomic step. A limit
        stays when no item has its key any more. A lower limit takes no lease away: until enough of
        them have ended, the key gets none. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.set_key_limits({"smtp.example": 2})
        >>> await queue.add_items([Item(str(n), key="smtp.example") for n in range(3)])
        [True, True, True]
        >>> len(await queue.lease_many(10, 30))
        2
        >>> (await queue.counts()).held
        1
        """
        await self._native.set_key_limits(bridge(), limits)

    async def get_keys(self, keys: Iterable[ItemId]) -> builtins.list[KeyInfo]:
        """Return the limits of keys, and how many items of each are leased now, in the same order.

        It works in steps of up to 1,000 keys. Raises `InvalidError`.
        """
        return await self._native.get_keys(bridge(), keys)

    async def pause(
        self, duration: Seconds | None = None, *, by: str = "", reason: str = ""
    ) -> None:
        """Stop leasing from this queue, for every client, until `resume` or for a time.

        With a duration, 1 ms to 366 days, leasing goes on by itself, and waiting calls wake. Of
        several pauses the last one counts. Adding, completing and reclaiming go on. Calls that
        lease wait, or return nothing. `settings` shows who has paused, up to 128 bytes, and why,
        up to 256, if the caller says so. Raises `InvalidError`.
        """
        await self._native.pause(bridge(), duration, by, reason)

    async def resume(self) -> None:
        """Allow leasing again after `pause`; waiting calls wake."""
        await self._native.resume(bridge())

    async def record_history(
        self,
        *,
        waiting_us: Iterable[tuple[int, int]] = (),
        run_us: Iterable[tuple[int, int]] = (),
        lease_use: Iterable[tuple[int, int]] = (),
    ) -> bool:
        """Write how the queue is now into its history, and add what the caller has measured.

        Whoever works on a queue calls it once a minute; the first call of a minute writes its row.
        Each measurement is a value, and how often it was measured since the last call: how long
        items were ready and how long they ran, in microseconds, and how much of their leases they
        used, in thousandths. False: there is no queue. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> await client.queue("emails").record_history(run_us=[(1500, 2)])
        False
        """
        measured = {
            "waiting_us": builtins.list(waiting_us),
            "run_us": builtins.list(run_us),
            "lease_use": builtins.list(lease_use),
        }
        return await self._native.record_history(bridge(), json.dumps(measured))

    async def history(
        self, kind: Literal["minutes", "hours"] = "minutes"
    ) -> builtins.list[HistoryRow]:
        """Return the history of this queue, the oldest row first.

        It has a row for each minute of the last day, or each hour of the last 31 days, in which
        somebody has recorded it. Raises `InvalidError` for another kind.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_item("hello")
        True
        >>> await queue.record_history(run_us=[(1500, 2)])
        True
        >>> [(row["ready"], row["run_us"]["count"]) for row in await queue.history()]
        [(1, 2)]
        """
        text = await self._native.history(bridge(), kind)
        return cast(builtins.list[HistoryRow], json.loads(text))

    async def events(
        self, after: str | None = None, *, limit: int = 100, wait: Seconds = 0
    ) -> EventsPage:
        """Read what has changed in this queue, in order, if its settings keep that.

        - `after`: the cursor of the page before; `None`: begin with the oldest event that is kept;
          `"now"`: with the next one.
        - `limit`: at most so many events, 1 to 1,000.
        - `wait`: for how long to wait for one; the client looks up to four times a second.

        Each event is in exactly one page of a reader that goes on from cursor to cursor, unless
        there is a `gap`: the reader was slower than the queue, the queue was dropped, or its events
        were switched off in between. Raises `InvalidError`.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> (await queue.configure(events=1000)).events
        1000
        >>> await queue.add_item(Item("hello", id="a"))
        True
        >>> page = await queue.events()
        >>> [(event["kind"], event["id"]) for event in page["events"]], page["gap"]
        ([('added', 'a')], False)
        >>> (await queue.events(page["cursor"], wait=0.01))["events"]
        []
        """
        text = await unless_cancelled(self._native.events(bridge(), after, limit, wait))
        return cast(EventsPage, json.loads(text))

    async def put_schedule(
        self,
        name: str,
        item: Item | Data,
        *,
        cron: str | None = None,
        zone: str | None = None,
        every: Seconds | None = None,
        owner: str = "",
        revision: int = 0,
        missed: Literal["skip", "one"] | int = "one",
        grace: Seconds | None = None,
        overlap: bool = False,
    ) -> PutSchedule:
        """Store a schedule, which adds an item at certain times, or replace the one of this name.

        Each tick adds exactly one item, however many clients there are, while somebody waits for an
        item of the queue or a cleaner looks after it. `Schedule` describes the arguments. An
        unchanged rule keeps its next tick, and a paused schedule stays paused.

        - `owner`: who declares it, up to 128 bytes; nobody else can change it.
        - `revision`: the number or time of the deployment that declares it, up to 2^53. A lower one
          than that of the stored schedule is refused, also after it was removed.

        Raises `InvalidError`, also for a schedule of another owner, and beyond 1,000 schedules.

        >>> client = await connect("memory:")
        >>> queue = client.queue("reports")
        >>> await queue.put_schedule("report", "data", cron="0 9 * * mon-fri", zone="Europe/Berlin")
        <PutSchedule.ADDED: 'added'>
        >>> await queue.run_now("report")
        True
        >>> (await queue.lease(30)).data
        b'data'
        """
        schedule = Schedule(
            name,
            item,
            cron=cron,
            zone=zone,
            every=every,
            missed=missed,
            grace=grace,
            overlap=overlap,
        )
        return await self._native.put_schedule(bridge(), schedule, owner, revision)

    async def sync_schedules(
        self, owner: str, revision: int, schedules: Iterable[Schedule]
    ) -> SyncedSchedules:
        """Make the schedules of this owner those that it declares: add, update and remove them.

        Those of other owners stay. `revision` is that of all of them, as for `put_schedule`: an
        older deployment undoes nothing. After an error, repeat the call: each schedule is changed
        in a step of its own. Raises `InvalidError`, also for an empty owner.

        >>> client = await connect("memory:")
        >>> queue = client.queue("reports")
        >>> (await queue.sync_schedules("app", 1, [Schedule("report", "x", every=60)])).added
        ['report']
        >>> (await queue.sync_schedules("app", 2, [])).removed
        ['report']
        """
        return await self._native.sync_schedules(bridge(), owner, revision, schedules)

    async def schedules(self, *, data: bool = True) -> builtins.list[ScheduleInfo]:
        """Return the schedules of this queue, in the order of their names.

        With `data=False` the data of their items is left out, and empty.
        """
        return await self._native.schedules(bridge(), data)

    async def remove_schedule(self, name: str) -> bool:
        """Remove a schedule; the items that it has added stay. False: there was none.

        Its revision is kept, and its owner cannot put it with a lower one. Raises `InvalidError`.
        """
        return await self._native.remove_schedule(bridge(), name)

    async def pause_schedule(self, name: str, *, by: str = "", reason: str = "") -> bool:
        """Stop a schedule until `resume_schedule`, also if it is put again. False: there is none.

        `schedules` shows who has paused it and why, as for `pause`. Raises `InvalidError`.
        """
        return await self._native.pause_schedule(bridge(), name, by, reason)

    async def resume_schedule(self, name: str) -> bool:
        """Continue a schedule with its first tick from now on. False: there is none.

        Those during the pause were not missed. Raises `InvalidError`.
        """
        return await self._native.resume_schedule(bridge(), name)

    async def run_now(self, name: str) -> bool:
        """Add the item of a schedule now, also if its last one has not ended or it is paused.

        Its next tick stays. False: there is no such schedule, or its item could not be added,
        because another one has its unique key. Raises `InvalidError`.
        """
        return await self._native.run_now(bridge(), name)

    async def purge(self, state: State | str) -> int:
        """Remove every item that is in a state now, and return how many were removed.

        It works in steps, and other clients go on meanwhile. After an error, some items have been
        removed.

        >>> client = await connect("memory:")
        >>> queue = client.queue("emails")
        >>> await queue.add_items(["hello", "world"])
        [True, True]
        >>> await queue.purge("ready")
        2
        """
        return await self._native.purge(bridge(), state)

    async def drop_queue(self, *, force: bool = False) -> bool:
        """Delete the queue with its items, counts, totals, settings, pause and name.

        False if there was none. From then on holders of its leases get False or `LeaseLostError`.
        This handle stays usable: the next item creates the queue again. After an error, the queue
        may or may not exist; call again.

        Follow-ups for other queues are delivered first. If that cannot be done now, this raises
        `UnavailableError`, and the queue exists; with `force` they are lost.
        """
        return await self._native.drop_queue(bridge(), force)

    async def close(self) -> None:
        """Close this handle: calls through it raise `ClosedError` from then on.

        The client, other handles of the queue and calls that already wait are not affected.
        """
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
