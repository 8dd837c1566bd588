"""The errors: a subclass of `LeaseqError` for each kind.

Messages may change, classes do not. They never contain a password.

>>> import leaseq
>>> try:
...     leaseq.connect("memory:").queue("no spaces, please")
... except leaseq.InvalidError as error:
...     print(isinstance(error, ValueError))
True
"""

from __future__ import annotations

__all__ = [
    "ClosedError",
    "IncompatibleError",
    "InternalError",
    "InvalidError",
    "ItemCancelledError",
    "LeaseLostError",
    "LeaseqError",
    "UnavailableError",
]


class LeaseqError(Exception):
    """Every error of this library."""


class InvalidError(LeaseqError, ValueError):
    """Fix the argument or the configuration; nothing was touched."""


class LeaseLostError(LeaseqError):
    """Stop working on the item: the lease is no longer the current one."""


class ItemCancelledError(LeaseqError):
    """Stop working on the item: its cancellation was requested.

    Only `leaseq.asyncio.Lease.stop_if_cancelled` raises it.
    """


class UnavailableError(LeaseqError, ConnectionError):
    """Back off and retry: there was no answer within the client's time-out.

    `outcome_unknown` is true if the operation may have been executed.
    """

    outcome_unknown: bool

    def __init__(self, message: str, outcome_unknown: bool = False) -> None:
        super().__init__(message)
        self.outcome_unknown = outcome_unknown


class IncompatibleError(LeaseqError):
    """Upgrade or reconfigure: data or a server of another version, or a server that evicts."""


class ClosedError(LeaseqError):
    """Open a new client, or a new queue: this one was closed."""


class InternalError(LeaseqError):
    """Report a bug, or run `check`: the library or its data is damaged."""
