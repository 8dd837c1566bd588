"""Groups of items."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


@dataclass(frozen=True, slots=True)
class Group:
    """Names a group, as `create_group` returns it; never a later group with its id.

    Whoever knows the three values can add members, in any process and language.

    >>> Group("orders", "order-17", "1aaaaa").id_bytes
    b'order-17'
    """

    queue: str
    """The name of the queue that has it. Its members may be in any queue."""
    id: str
    """Unique among the groups of its queue. As text, like the id of an item."""
    generation: str
    """Distinguishes it from other groups that have had its id: an opaque text."""

    @property
    def id_bytes(self) -> bytes:
        """The id as bytes."""
        return self.id.encode("utf-8", "surrogateescape")


class PlaceState(str, Enum):
    """What is known of one place of a group. A member is also a text, its name."""

    OPEN = "open"
    """No end of its member has been reported."""
    ENDED = "ended"
    """Its member has ended without being completed, or another item had its id or unique key."""
    COMPLETED = "completed"
    """Its member was completed."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A group as it is now."""

    group: Group
    places: int | None
    """How many places it has; `None`: it is not sealed."""
    ended: int
    """How many of them have ended, the completed ones included."""
    completed: int
    """How many of them are completed."""
    has_ended: bool
    """It has ended: its follow-ups were added, or are added soon, and no report changes it."""
    changed_at: datetime
    """The last change, on the server's clock, in UTC."""


class GroupOutcomeKind(str, Enum):
    """How a group has ended. A member is also a text, its name."""

    COMPLETED = "completed"
    """All its members were completed."""
    ENDED = "ended"
    """All its members have ended, and one of them was not completed."""
    GONE = "gone"
    """There is no such group: it was never created, was removed, was not sealed for a day after its
    last change, or has ended a day ago."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """How a group has ended, as `group_outcome` returns it."""

    kind: GroupOutcomeKind
    info: GroupInfo | None = None
    """The group; `None` if it is gone."""

    @property
    def completed(self) -> bool:
        """Whether all members were completed."""
        return self.kind is GroupOutcomeKind.COMPLETED
