"""What only the blocking interface needs: `with` blocks that no signal can interrupt."""

from __future__ import annotations

from . import _leaseq
from ._process import not_given_back
from ._values import Seconds
from .exceptions import LeaseqError


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

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the client learns of it; False if it does not within the timeout.

        False too when it cannot happen any more: the lease was completed, released, failed or is
        lost, or the client is closed.
        """
        return self._lease._wait_cancelled(None, timeout)


class Lease(_leaseq.Lease):
    """One item, leased: a claim on it until a deadline.

    Leaving its `with` block completes the item. If the block raises, the item fails with that
    error; if it is interrupted (`KeyboardInterrupt`, `SystemExit` and the like), the item is
    released. Either way the exception goes on. Nothing is done if the lease was completed, released
    or failed in the block, or belongs to another process. Without a block the lease expires at its
    deadline, and the item is delivered again.

    A lease that was never used is released when its handle is dropped, when an interrupt ends the
    `with` block of its client, and when the process ends: Ctrl-C may come after the lease was
    returned and before the caller has stored it. A lease counts as used once one of its attributes
    is read, it is printed, it is passed to a method of a queue, its block is left, or a loop over
    `leases` goes on to the next turn.

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

    @property
    def cancelled(self) -> Cancellation:
        """Whether the cancellation of the item was requested, like a `threading.Event`.

        >>> with connect("memory:") as client:
        ...     queue = client.queue("emails")
        ...     queue.add_item("hello")
        ...     lease = queue.lease(30)
        ...     queue.cancel(lease.id)
        ...     lease.cancelled.wait(30)
        ...     queue.release(lease)
        True
        True
        True
        """
        return Cancellation(self)

    def __enter__(self) -> Lease:
        return self

    # Native: Python looks for signals before it begins a function of its own.
    __exit__ = _leaseq.Lease._leave


def give_back(lease: Lease) -> None:
    """Release a lease, and wait until that is done."""
    try:
        lease._queue.release(None, lease, None, "")
    except LeaseqError as problem:
        not_given_back(lease, problem)
