"""Events: what has changed in a queue."""

from __future__ import annotations

from typing import Literal, TypedDict

EventKind = Literal[
    "added",
    "leased",
    "completed",
    "failed",
    "expired",
    "released",
    "dead",
    "requeued",
    "removed",
    "replaced",
    "cancelled",
    "revised",
]
"""What has happened to an item."""


class _Event(TypedDict):
    number: int
    """Its place among the events of the queue."""
    kind: EventKind
    at: str
    """When, by the server's clock: RFC 3339."""
    generation: str
    """The generation of the item, as `ItemInfo.generation`."""


class Event(_Event, total=False):
    """A change of an item."""

    id: str
    """The id, if the change knows it and it is text."""
    id_hex: str
    """The id, if the change knows it and it is no text."""
    attempt: int
    """Which attempt it was, for events that are about a lease."""


class EventsPage(TypedDict):
    """Some events, in their order."""

    events: list[Event]
    """None if there are no more."""
    cursor: str
    """Where to go on: behind the last of them."""
    gap: bool
    """Whether there were events before these that are not kept any more."""
