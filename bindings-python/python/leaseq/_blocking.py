"""The synchronous face."""

from __future__ import annotations

import builtins
import os
from collections.abc import Generator, Iterable
from datetime import datetime
from types import TracebackType
from typing import cast, overload

from . import _leaseq
from ._leaseq import Item
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


def connect(
    url: str | None = None,
    *,
    namespace: str | None = None,
    timeout: Seconds | None = None,
    connect_timeout: Seconds | None = None,
    max_data: int | None = None,
    ca_file: str | os.PathLike[str] | None = None,
) -> Client:
    """Connect to a server, or open the embedded engine.

    `url` is `redis://`, `rediss://` (TLS), `redis+unix:///path`,
    `redis+sentinel://h1:26379,h2:26379/master-name`, `redis+cluster://h1:7000,h2:7000`,
    `sqlite:path/to/file.db` or `memory:`. User, password, database and options may stand in it, and
    what it says wins over the arguments here. Without one: the environment variable `LEASEQ_URL`,
    or else `REDIS_URL`.

    - `namespace`: what the keys on Redis begin with, `[A-Za-z0-9._-]{1,64}`; default `leaseq`.
    - `timeout`: how long an operation is tried before it is `UnavailableError`, 50 ms to 10
      minutes; default 10 s.
    - `connect_timeout`: for opening one connection, 10 ms to 10 minutes; default 2 s.
    - `max_data`: largest data of an item, in bytes, at most 256 MiB; default 8 MiB.
    - `ca_file`: PEM file with the authorities to trust for TLS; default: the system's.

    Raises `InvalidError`, `IncompatibleError`, `UnavailableError`.

    >>> client = connect("memory:")
    >>> client.close()
    """
    native = _leaseq.connect(None, url, namespace, timeout, connect_timeout, max_data, ca_file)
    opened()
    return Client(native)


class Client:
    """Owns the connections and serves any number of queues; made by `connect`.

    Threads may share it, and so may processes forked off this one: each opens connections of its
    own at first use. Leaving its `with` block closes it.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _leaseq.Client) -> None:
        self._native = native

    def queue(self, name: str) -> Queue:
        """Return the queue of this name, `[A-Za-z0-9._-]{1,128}`.

        It need not exist: it does as soon as it has items. Raises `InvalidError`, `ClosedError`.
        """
        return Queue(self._native.queue(name))

    def queues(self) -> list[str]:
        """Return the names of all queues that were added to or paused and not dropped, sorted.

        >>> with connect("memory:") as client:
        ...     client.queue("emails").add_item("hello")
        ...     client.queues()
        True
        ['emails']
        """
        return self._native.queues(None)

    def close(self) -> None:
        """End waiting calls with `ClosedError`, finish what is on its way, and disconnect.

        Leases that callers hold stay theirs until their deadline. A second call does nothing. When
        the process ends, clients that are still open are closed.
        """
        self._native.close(None)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, Exception | None):
            self._native.give_back_unused()
        self.close()


class Lease(_leaseq.Lease):
    """One item, leased: a claim on it until a deadline.

    Leaving its `with` block completes the item. If the block raises, the item fails with that
    error; if it is interrupted (`KeyboardInterrupt`, `SystemExit` and the like), the item is
    released. Either way the exception goes on. Nothing is done if the lease was completed, released
    or failed in the block, or is of another process. Without a block the lease runs out at its
    deadline, and the item is delivered again.

    A lease that was never used is released when its handle is dropped, when an interrupt ends the
    `with` block of its client, and when the process ends: Ctrl-C may come when the lease is given
    and nobody has it yet. It is used once one of its attributes is read, it is printed, it is given
    to a method of a queue, its block is left, or a loop over `leases` goes on to the next turn.

    >>> with connect("memory:") as client:
    ...     queue = client.queue("emails")
    ...     queue.add_item("hello")
    ...     with queue.lease(30) as lease:
    ...         print(lease.data)
    ...     queue.get(lease.id)
    True
    b'hello'
    """

    __slots__ = ()

    def __enter__(self) -> Lease:
        return self

    __exit__ = _leaseq.Lease._leave


def _let_go(lease: Lease) -> None:
    try:
        lease._queue.release(None, lease, None)
    except LeaseqError as problem:
        not_given_back(lease, problem)


class Queue:
    """One queue; made by `Client.queue`.

    Threads may share it, and calls that they make at the same time travel in one request. Calls
    wait without the GIL, and signals keep working.

    Besides the errors named, every operation may raise `UnavailableError` (no answer within the
    client's time-out), `ClosedError`, `IncompatibleError` (the queue was written by a version with
    another storage format) and `InternalError` (damage; see `check`).

    `id` is text or bytes; times are seconds, as a number, or a `timedelta`. Leaving its `with`
    block closes this handle, not the client.
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

    def add_item(self, item: Item | Data) -> bool:
        """Add an item, or only its data.

        True: it is stored and will be delivered. False: an item with this id exists in some state;
        nothing changed, its data was not overwritten. Raises `InvalidError`.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_item(b"hello"), queue.add_item("hello")
        (True, True)
        >>> queue.add_item(Item("your order", id="order-17", priority=5))
        True
        >>> queue.add_item(Item("another", id="order-17"))
        False
        """
        return self._native.add_item(None, item)

    def add_items(self, items: Iterable[Item | Data]) -> builtins.list[bool]:
        """Add many items; the answers stand in their order.

        Each chunk of at most 1,000 items and 16 MiB is one atomic step. If any item is outside its
        limits, `InvalidError` is raised and none is added; after another error, earlier chunks have
        been added.

        >>> connect("memory:").queue("emails").add_items(["hello", "world"])
        [True, True]
        """
        return self._native.add_items(None, items)

    @overload
    def lease(
        self,
        duration: Seconds,
        wait: None = None,
        *,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> Lease: ...
    @overload
    def lease(
        self,
        duration: Seconds,
        wait: Seconds | None,
        *,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> Lease | None: ...
    def lease(
        self,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> Lease | None:
        """Lease the oldest ready item of the highest priority, for 1 ms to 30 days.

        `None`: there was none within `wait`, which is not an error. Without `wait` it waits until
        there is one; with zero it returns at once. Ctrl-C ends a wait, and strands no item. Keep
        the lease: one that is dropped before it was used is released (see `Lease`).

        With `keep_alive` the lease is extended in the background, also while Python is busy, until
        it is completed, released, failed, dropped or lost, or until `keep_alive_limit` has passed
        since it was given; `Lease.lost` tells when it is lost. Raises `InvalidError`.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_item("hello")
        True
        >>> while lease := queue.lease(30, wait=0.1):
        ...     print(lease.data, queue.complete(lease))
        b'hello' True
        """
        return self._native.lease(None, duration, wait, keep_alive, keep_alive_limit)

    def lease_many(
        self,
        count: int,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> builtins.list[Lease]:
        """Lease up to `count` items: wait for the first, then take what is there.

        At most 1,000 and about 16 MiB. Empty: there was none within `wait`. Else as `lease`.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_items(["hello", "world"])
        [True, True]
        >>> leases = queue.lease_many(10, 30)
        >>> [lease.data for lease in leases], queue.complete_many(leases)
        ([b'hello', b'world'], [True, True])
        """
        return self._native.lease_many(None, count, duration, wait, keep_alive, keep_alive_limit)

    def leases(
        self,
        duration: Seconds,
        wait: Seconds | None = None,
        *,
        complete: bool = False,
        keep_alive: bool = False,
        keep_alive_limit: Seconds | None = None,
    ) -> Generator[Lease, None, None]:
        """Lease one item after the other, as `lease` does; ends when there is none within `wait`.

        With `complete`, going on to the next turn completes the item of the turn before, and leases
        the next in the same round trip. A turn that does not end, because of an exception, `break`
        or `return`, completes nothing, and its lease is released. What the body has completed,
        released or failed itself stays as it is.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_items(["hello", "world"])
        [True, True]
        >>> for lease in queue.leases(30, wait=0.1):
        ...     with lease:
        ...         print(lease.data)
        b'hello'
        b'world'
        >>> queue.add_items(["and", "again"])
        [True, True]
        >>> for lease in queue.leases(30, wait=0.1, complete=True):
        ...     print(lease.data)
        b'and'
        b'again'
        """
        how = (duration, wait, keep_alive, keep_alive_limit)
        lease = self._native.lease(None, *how)
        while lease:
            try:
                yield lease
            except BaseException:
                if complete and lease._held:
                    _let_go(lease)
                raise
            # Whoever goes on has had the lease, and uses it.
            if lease._held and complete:
                _, leases = self._native.complete_and_lease(None, [lease], False, 1, *how)
                lease = leases[0] if leases else None
            else:
                lease = self._native.lease(None, *how)

    def complete(self, lease: Lease, *, strict: bool = False) -> bool:
        """Complete the item: it is gone.

        True for exactly one caller in a generation. A holder whose lease has expired may still be
        that caller; whoever has leased the item meanwhile gets False. With `strict`, False unless
        the lease is current. `InvalidError` for a lease of another queue or process.
        """
        return self._native.complete(None, lease, strict)

    def complete_many(
        self, leases: Iterable[Lease], *, strict: bool = False
    ) -> builtins.list[bool]:
        """Complete many items; the answers stand in their order."""
        return self._native.complete_many(None, leases, strict)

    def complete_and_lease(
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

        Returns the answers in the order of the leases, and the new leases. The items are completed
        at once, before this waits for the next; a wait that is interrupted strands nothing. After
        an error, nothing was leased, and `completed` of each lease says whether it was completed:
        True, False, or None if that is unknown.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_items(["a", "b", "c"])
        [True, True, True]
        >>> leases = queue.lease_many(2, 30, wait=0)
        >>> while leases:
        ...     print([lease.data for lease in leases])
        ...     completed, leases = queue.complete_and_lease(leases, 2, 30, wait=0)
        ...     print(completed)
        [b'a', b'b']
        [True, True]
        [b'c']
        [True]
        """
        return self._native.complete_and_lease(
            None, leases, strict, count, duration, wait, keep_alive, keep_alive_limit
        )

    def extend(self, lease: Lease, duration: Seconds) -> datetime:
        """Extend the lease to the later of its deadline and now + `duration`.

        Returns the deadline, on the server's clock. Works after the deadline too, as long as nobody
        has reclaimed the item. Raises `LeaseLostError`, `InvalidError`.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_item("hello")
        True
        >>> lease = queue.lease(30)
        >>> before = lease.deadline
        >>> queue.extend(lease, 60) > before
        True
        """
        return self._native.extend(None, lease, duration)

    def extend_many(
        self, leases: Iterable[Lease], duration: Seconds
    ) -> builtins.list[datetime | None]:
        """Extend many leases; the deadlines stand in their order, `None` for one that is lost."""
        return self._native.extend_many(None, leases, duration)

    def release(self, lease: Lease, *, delay: Seconds | None = None) -> None:
        """Give the item back without counting an attempt.

        It goes to the front of its priority, at once or after `delay`, at most 366 days. Raises
        `LeaseLostError`, `InvalidError`.
        """
        self._native.release(None, lease, delay)

    def release_many(
        self, leases: Iterable[Lease], *, delay: Seconds | None = None
    ) -> builtins.list[bool]:
        """Give many items back; False for a lease that is lost."""
        return self._native.release_many(None, leases, delay)

    def fail(
        self, lease: Lease, error: str | BaseException = "", *, delay: Seconds | None = None
    ) -> State:
        """Count a failure: the item goes to the back of its priority, at once or after `delay`.

        It is dead when its limit of attempts is reached. Returns the state that it is in now. The
        error is kept with the item, its first 1,024 bytes. Raises `LeaseLostError`, `InvalidError`.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_item(Item("hello", id="1", max_attempts=1))
        True
        >>> queue.fail(queue.lease(30), ValueError("no such address"))
        <State.DEAD: 'dead'>
        >>> queue.get("1").last_error
        'ValueError: no such address'
        """
        return self._native.fail(None, lease, describe(error), delay)

    def fail_many(
        self,
        leases: Iterable[Lease],
        errors: str | BaseException | Iterable[str | BaseException] = "",
        *,
        delay: Seconds | None = None,
    ) -> builtins.list[State | None]:
        """Count failures of many items, with one error for all, or one for each.

        Returns the states that they are in now, `None` for a lease that is lost.
        """
        return self._native.fail_many(None, leases, describe_all(errors), delay)

    def light_clean(self) -> LightReport:
        """Make due items ready and reclaim expired leases, for queues that nobody is waiting on.

        Costs by what is due or expired, not by what is queued or leased.
        """
        return self._native.light_clean(None)

    def deep_clean(self) -> DeepReport:
        """Find and mend every broken invariant, in small steps, safe under full load."""
        return self._native.deep_clean(None)

    def check(self) -> DeepReport:
        """Do what `deep_clean` does, but only look.

        >>> connect("memory:").queue("emails").check().is_sound
        True
        """
        return self._native.check(None)

    def queue_len(self) -> int:
        """Return how many items are ready."""
        return self._native.queue_len(None)

    def processing(self) -> int:
        """Return how many items are leased, expired ones not yet reclaimed included."""
        return self._native.processing(None)

    def counts(self) -> Counts:
        """Return how many items are in each state, and more that operators watch.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_item(Item("hello", priority=9))
        True
        >>> counts = queue.counts()
        >>> counts.ready, counts.ready_by_priority[9], counts.totals.added
        (1, 1, 1)
        """
        return self._native.counts(None)

    def get(self, id: ItemId) -> ItemInfo | None:  # noqa: A002 - the word for it
        """Look at an item without leasing it; `None` if there is none. Raises `InvalidError`."""
        return self._native.get(None, id)

    def list(self, state: State | str, cursor: str | None = None, limit: int = 100) -> Page:
        """Look at up to `limit` items of a state, 1 to 1,000.

        Ready ones in the order of leasing, the others by time. `Page.cursor` goes on, until it is
        `None`. Not a snapshot: items that move meanwhile may be missed or shown twice; and a page
        may hold fewer items than `limit` without being the last. Raises `InvalidError`.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_items(["hello", "world"])
        [True, True]
        >>> [item.data for item in queue.list("ready").items]
        [b'hello', b'world']
        """
        return self._native.list(None, state, cursor, limit)

    def remove(self, id: ItemId) -> bool:  # noqa: A002 - the word for it
        """Remove an item in whatever state it is; False if there is none. Raises `InvalidError`.

        A holder of its lease gets False or `LeaseLostError` from then on.
        """
        return self._native.remove(None, id)

    def remove_many(self, ids: Iterable[ItemId]) -> builtins.list[bool]:
        """Remove many items; the answers stand in their order."""
        return self._native.remove_many(None, ids)

    def requeue(self, *ids: ItemId) -> builtins.list[bool]:
        """Make dead items ready again, at the back, with their attempts counted anew.

        False for one that is not there, or not dead. Raises `InvalidError`.
        """
        return self._native.requeue(None, ids)

    def pause(self) -> None:
        """Stop leasing from this queue, for every client, until `resume`.

        Adding, completing and reclaiming go on; calls that lease wait, or get nothing.
        """
        self._native.pause(None)

    def resume(self) -> None:
        """Go on leasing after `pause`; waiting calls wake."""
        self._native.resume(None)

    def purge(self, state: State | str) -> int:
        """Remove every item of a state, as many as there are now, and return how many.

        In steps: other clients go on meanwhile. After an error, some have been removed.

        >>> queue = connect("memory:").queue("emails")
        >>> queue.add_items(["hello", "world"])
        [True, True]
        >>> queue.purge("ready")
        2
        """
        return self._native.purge(None, state)

    def drop_queue(self) -> bool:
        """Delete the queue with everything in it: items, counts, totals, the pause, and its name.

        False if there was none. Holders of its leases get False or `LeaseLostError` from then on.
        This handle stays usable: the queue exists again as soon as an item is added. After an
        error, the queue is there or gone; call again.
        """
        return self._native.drop_queue(None)

    def close(self) -> None:
        """Close this handle: calls through it raise `ClosedError` from then on.

        The client and other handles of the queue go on, and so do calls that wait already.
        """
        self._native = cast(_leaseq.Queue, CLOSED)

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
