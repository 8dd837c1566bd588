"""Values that operations take and return. They can be compared and pickled."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .exceptions import InvalidError

if TYPE_CHECKING:
    from ._follow_ups import FollowUpInfo
    from ._leaseq import Item

Data: TypeAlias = str | bytes | bytearray | memoryview
"""Data of an item; text becomes UTF-8."""
ItemId: TypeAlias = str | bytes
"""1 to 512 bytes; text becomes UTF-8. Bytes that are not UTF-8 are returned as surrogates, as in
names of files (`os.fsdecode`); `id_bytes` returns the bytes themselves."""
Seconds: TypeAlias = float | timedelta
"""A time: seconds, or a timedelta."""


def to_json(value: object) -> str:
    """Write a value as data."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidError(f"data cannot be written as json: {error}") from error


def from_json(data: bytes, item_id: str) -> Any:  # noqa: ANN401 - JSON is anything
    """Read data as a value."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"item {item_id!r}: data cannot be read as json: {error}") from error


class State(str, Enum):
    """The state of an item; exactly one at a time. A member is also a text, its name."""

    READY = "ready"
    """Can be leased."""
    DELAYED = "delayed"
    """Will be ready when its delay ends."""
    LEASED = "leased"
    """Leased, or expired and not yet reclaimed."""
    DEAD = "dead"
    """Out of attempts, or failed with `dead`; waits for `requeue` or `remove`."""
    COMPLETED = "completed"
    """Completed, and kept for the time that it is retained."""
    CANCELLED = "cancelled"
    """Cancelled, and kept for the time that it is retained."""
    HELD = "held"
    """Would be ready, but as many items of its key are leased as may be."""

    def __str__(self) -> str:
        return self.value


class OutcomeKind(str, Enum):
    """How an item has ended. A member is also a text, its name."""

    COMPLETED = "completed"
    """It was completed."""
    DEAD = "dead"
    """It failed or expired for the last time, or was buried."""
    CANCELLED = "cancelled"
    """It was cancelled."""
    REMOVED = "removed"
    """It was removed or purged, or an item with another id and its unique key replaced it."""
    GONE = "gone"
    """There is no such item: it was never added, or has ended without being retained, and how is
    not known any more."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an item has ended, as `outcome` returns it."""

    kind: OutcomeKind
    result: bytes | None = None
    """The result of a completed item; `None` if it had none or is not retained."""
    error: str | None = None
    """The text of the last error of a dead item, perhaps empty; `None` for others."""
    retained: bool = False
    """Whether the item was completed and is retained; if not, its result is not known."""

    @property
    def completed(self) -> bool:
        """Whether the item was completed."""
        return self.kind is OutcomeKind.COMPLETED


@dataclass(frozen=True, slots=True)
class FollowUp:
    """An item that is added, to the same queue or its own `queue`, when another one ends so.

    >>> FollowUp("completed", "next step").with_trigger
    False
    """

    on: Literal["completed", "dead", "ended"]
    """The end that fires it. `ended` is any: completed, dead, cancelled, removed or purged."""
    item: Item | Data
    """What is added, with all its options. Delays begin then."""
    with_trigger: bool = False
    """Whether `Lease.trigger` has the id and the result of the item that has fired it."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """The item whose end has added a follow-up."""

    id: str
    id_bytes: bytes
    result: bytes | None
    """Of its completion. `None` if it has none, or one of more than 64 KiB."""


class EndingKind(str, Enum):
    """How a lease ended without completion. A member is also a text, its name."""

    FAILED = "failed"
    """With `fail`."""
    EXPIRED = "expired"
    """It expired and was reclaimed."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a lease without completion."""

    at: datetime
    """When it ended; for an expired lease, when it was reclaimed. As `ItemInfo.added_at`."""
    kind: EndingKind


@dataclass(frozen=True, slots=True)
class Releases:
    """Releases for the same reason, one after the other.

    A release for another reason, or for none, a failed and an expired lease begin anew, and so does
    `requeue`.
    """

    reason: str
    """The reason that each `release` gave, up to 128 bytes."""
    count: int
    """How many there were."""
    first_at: datetime
    """When the first one was. As `ItemInfo.added_at`."""


@dataclass(frozen=True, slots=True)
class ItemInfo:
    """An item in the queue, read without leasing it."""

    id: str
    data: bytes
    state: State
    priority: int
    """0 to 9; higher ones are leased first."""
    max_attempts: int | None
    """The limit of attempts, if there is one."""
    failures: int
    """Deliveries that ended with `fail`, since the add or the last `requeue`."""
    expiries: int
    """Deliveries that ended with an expired lease, since the add or the last `requeue`."""
    last_error: str
    """The text of the last `fail`; empty if there was none."""
    endings: tuple[Ending, ...]
    """How its last 16 failed or expired leases ended, the oldest first, also before a `requeue`;
    empty if there was none."""
    releases: Releases | None
    """The releases in a row for one reason, up to now; `None` if there was none."""
    generation: str
    """Names this life of the id, for `if_generation`: an opaque text. It changes when the item is
    added anew, buried, revised or cancelled while it waits; leases and `requeue` keep it."""
    added_at: datetime
    """On the server's clock, in UTC; at the latest 9999-12-31, the end of `datetime`."""
    at: datetime | None
    """The deadline of the lease, when the item is due, when it died, or until when it is retained;
    `None` for ready and held items."""
    ended_at: datetime | None
    """When a retained item ended; `None` for others."""
    result: bytes | None
    """The result of a retained item; `None` if it has none."""
    retain: float | None
    """For how many seconds the item is retained after its completion, as it was added; `None` if
    not at all."""
    unique: str | None
    """The unique key as text, like the id; `None` if it has none."""
    key: str | None
    """The key as text, like the id; `None` if it has none."""
    expires_at: datetime | None
    """When the item is dead if it is not leased then; `None`: never, because it was added without
    `expires_in`, an attempt of it has counted, or it has ended."""
    progress: bytes | None
    """How far the last holder that has said so has come; `None` if none has, and for completed
    items."""
    cancel_requested: bool
    """Whether the item is leased and its cancellation was requested."""
    follow_ups: list[FollowUpInfo] = field(hash=False)  # dicts have no hash
    """Its follow-ups, as it was given them. None for items that have been completed or cancelled,
    and if the item was read without its data."""

    @property
    def id_bytes(self) -> bytes:
        """The id as bytes."""
        return self.id.encode("utf-8", "surrogateescape")

    @property
    def unique_bytes(self) -> bytes | None:
        """The unique key as bytes."""
        return None if self.unique is None else self.unique.encode("utf-8", "surrogateescape")

    @property
    def key_bytes(self) -> bytes | None:
        """The key as bytes."""
        return None if self.key is None else self.key.encode("utf-8", "surrogateescape")

    def json(self) -> Any:  # noqa: ANN401 - JSON is anything
        """Read the data as JSON. Raises `InvalidError` if it is no JSON."""
        return from_json(self.data, self.id)


@dataclass(frozen=True, slots=True)
class Revision:
    """What to change of an item that is in the queue, for `Queue.revise_many`.

    What is `None` stays as it is.

    >>> Revision("order-17", priority=9).priority
    9
    """

    id: ItemId
    data: Data | None = None
    """The new data: bytes, or text, which becomes UTF-8."""
    priority: int | None = field(default=None, kw_only=True)
    """0 to 9."""
    delay: Seconds | None = field(default=None, kw_only=True)
    """The item is ready after this time from now on, at most 366 days; 0: at once."""
    due_at: datetime | None = field(default=None, kw_only=True)
    """The item is ready at this time by the server's clock; not together with a delay."""
    max_attempts: int | None = field(default=None, kw_only=True)
    """The item is dead after so many failed or expired attempts, 1 to 65,535."""
    if_generation: str | None = field(default=None, kw_only=True)
    """Only if the item is of this generation, as `ItemInfo.generation` tells it."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What has happened in a queue since it was new."""

    added: int
    leased: int
    completed: int
    expired: int
    """Leases that expired and were reclaimed."""
    failed: int
    """Calls of `fail` that counted."""
    died: int
    """Items that ran out of attempts, or failed with `dead`."""
    removed: int
    """Items removed or purged."""
    replaced: int
    """Items replaced by an add."""
    expired_unleased: int
    """Items that nobody leased before they expired; they count in `died` too."""
    cancelled: int
    """Items that have ended because they were cancelled."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items are in each state, and what else operators monitor."""

    ready: int
    ready_by_priority: tuple[int, ...]
    """Ten numbers, for the priorities 0 to 9."""
    delayed: int
    leased: int
    """Including expired ones that nobody has reclaimed yet."""
    dead: int
    completed: int
    """Completed items that are retained."""
    cancelled: int
    """Cancelled items that are retained."""
    held: int
    """Items that wait until fewer of their key are leased; one of which no lease has found yet that
    its key is full counts as ready."""
    oldest_ready: float | None
    """For how many seconds the oldest ready item has been ready; `None` if none is ready."""
    paused: bool
    rate_limited: bool
    """Whether the rate is used up now: the queue gives no lease, however many items are ready."""
    totals: Totals


@dataclass(frozen=True, slots=True)
class Rate:
    """How many leases a queue or a key gives: at most `burst + count * t / period` in any time."""

    count: int
    """How many leases become allowed in each period, 1 to 1,000,000, evenly distributed over it."""
    period: float
    """The period in seconds, 1 ms to 31 days."""
    burst: int | None = None
    """How many leases are allowed at once if there were none for a while, 1 to 1,000,000; `None`:
    as many as `count`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a queue, which hold for every client. Times are in seconds."""

    max_attempts: int | None
    """The limit of attempts of items that were added without one; `None`: there is no limit."""
    retain: float
    """For how long an item is retained if neither it nor its completion says so; 0: not at all."""
    max_dead: int | None
    """The most dead items that the queue keeps; `None`: there is no limit."""
    max_retained: int | None
    """The most retained items that the queue keeps; `None`: there is no limit."""
    max_dead_age: float | None
    """Dead items are removed after this time; `None`: they stay."""
    max_retained_age: float | None
    """The longest time for which an item is retained; `None`: there is no limit."""
    key_limit: int
    """How many items of a key are leased at the same time, unless it has a limit of its own."""
    events: int | None
    """How many of its last changes the queue keeps; `None`: none."""
    rate: Rate | None
    """How many leases the queue gives in a time; `None`: there is no limit."""
    key_rate: Rate | None
    """How many leases each key gets in a time; `None`: there is no limit."""
    revision: int
    """Goes up with each change; 0: the queue was never configured. A pause is no change."""
    paused: bool
    paused_until: datetime | None
    """When leasing goes on by itself; `None`: it is not paused, or until `resume`."""
    paused_at: datetime | None
    """When the pause has begun, by the server's clock; `None`: it is not paused."""
    paused_by: str
    """Who has paused it; empty: it is not paused, or nobody said so."""
    pause_reason: str
    """Why it was paused; empty: it is not paused, or nobody said so."""
    rate_limited_until: datetime | None
    """When the rate allows the next lease; `None`: it allows one now, or there is no rate."""


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key of items, as `get_keys` shows it."""

    key: str
    """The key as text, like an id."""
    limit: int
    """How many of its items may be leased at the same time."""
    own_limit: bool
    """Whether the limit is its own, and not that of the queue."""
    leased: int
    """How many of its items are leased now; more than the limit after that was lowered. Leases that
    have expired count until somebody leases or cleans."""

    @property
    def key_bytes(self) -> bytes:
        """The key as bytes."""
        return self.key.encode("utf-8", "surrogateescape")


class PutSchedule(str, Enum):
    """What putting a schedule has done. A member is also a text, its name."""

    ADDED = "added"
    """There was none."""
    UPDATED = "updated"
    """Another one was stored. If it had the same rule, the next tick has stayed."""
    UNCHANGED = "unchanged"
    """The same one was stored."""
    OUTDATED = "outdated"
    """Its owner has stored or removed one with a higher revision. Nothing has changed."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule to put: a name, a rule, and the item that each tick adds.

    It has either `cron` or `every`.

    >>> Schedule("report", "data", cron="0 9 * * mon-fri", zone="Europe/Berlin").cron
    '0 9 * * mon-fri'
    """

    name: str
    """1 to 128 bytes without control characters; its own in the queue."""
    item: Item | Data
    """What each tick adds, with the id `NAME@TIME`; a delay begins with the tick."""
    cron: str | None = field(default=None, kw_only=True)
    """When: five fields (minute, hour, day, month, day of the week), or six with a second first."""
    zone: str | None = field(default=None, kw_only=True)
    """The time zone of `cron`, by its IANA name; default: UTC."""
    every: Seconds | None = field(default=None, kw_only=True)
    """After each interval, 100 ms to 366 days. The first one begins when the schedule is put."""
    missed: Literal["skip", "one"] | int = field(default="one", kw_only=True)
    """What ticks add that nobody processed within their grace: nothing, one item for all of them,
    or an item each for at most so many, 1 to 1,000, the earliest ones."""
    grace: Seconds | None = field(default=None, kw_only=True)
    """How late a tick may be processed before it is missed, at most 366 days; default: 60 s, or the
    time to the next tick if that is shorter."""
    overlap: bool = field(default=False, kw_only=True)
    """Whether a tick adds an item although the last one of the schedule has not ended."""


@dataclass(frozen=True, slots=True)
class ScheduleInfo:
    """A schedule as it is stored. Times are in seconds."""

    name: str
    data: bytes
    """The data of the item that each tick adds; empty if it was read without."""
    cron: str | None
    """The cron expression; `None` for an interval."""
    zone: str | None
    """The time zone of the expression; `None` for an interval."""
    every: float | None
    """The interval; `None` for a cron expression."""
    owner: str
    """Who declares it; empty: nobody."""
    revision: int
    """The revision of its owner."""
    missed: Literal["skip", "one"] | int
    """What ticks add that were missed."""
    grace: float | None
    """How late a tick may be processed; `None`: the default."""
    overlap: bool
    """Whether a tick adds an item although the last one has not ended."""
    priority: int
    """Of its items, 0 to 9."""
    delay: float
    """How long after its tick an item is ready; 0: at once."""
    max_attempts: int | None
    """Of its items; `None`: they have no limit of their own."""
    retain: float | None
    """How long an item is retained after its completion; `None`: as the queue says."""
    unique: str | None
    """The unique key of its items as text, like an id."""
    unique_for: float | None
    """How long the unique key stays taken at least; `None`: no longer than the item needs it."""
    replace: bool
    """Whether an item replaces another one that has its unique key."""
    successor: bool
    """Whether it waits for the end of the lease if that one is leased."""
    key: str | None
    """The key of its items as text, like an id."""
    expires_in: float | None
    """After which time an item is dead that was not leased; `None`: it does not expire."""
    paused: bool
    paused_at: datetime | None
    """When it was paused, by the server's clock; `None`: it is not paused."""
    paused_by: str
    """Who has paused it; empty: it is not paused, or nobody said so."""
    pause_reason: str
    """Why it was paused; empty: it is not paused, or nobody said so."""
    next: datetime | None
    """The next tick; `None` while it is paused."""
    last_id: str | None
    """The id of the last item that it has added; `None`: it has added none."""

    @property
    def unique_bytes(self) -> bytes | None:
        """The unique key of its items as bytes, if they have one."""
        return None if self.unique is None else self.unique.encode("utf-8", "surrogateescape")

    @property
    def key_bytes(self) -> bytes | None:
        """The key of its items as bytes, if they have one."""
        return None if self.key is None else self.key.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class SyncedSchedules:
    """What `Queue.sync_schedules` has done, by the names of the schedules."""

    added: list[str]
    """There was none."""
    updated: list[str]
    """Another one was stored."""
    removed: list[str]
    """The owner declares them no longer."""
    unchanged: list[str]
    """The same ones were stored."""
    outdated: list[str]
    """Their owner has stored or removed them with a higher revision."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of `Queue.list`."""

    items: list[ItemInfo]
    """In the order of leasing (ready, held) or of time (the others), or in the opposite order."""
    cursor: str | None
    """Pass it to `list` for the next page; `None` at the end."""
    examined: int
    """How many entries of the queue the page has examined: its items, those that filters left out,
    and those whose item is gone."""


@dataclass(frozen=True, slots=True)
class LightReport:
    """What a light clean did."""

    promoted: int
    """Delayed items that became ready."""
    expired: int
    """Expired leases that were reclaimed."""
    died: int
    """How many of those items are dead now, at their limit of attempts."""
    removed: int
    """Dead and retained items removed because the settings allow no more, or none so old."""
    next_in: float | None
    """Seconds until the next item is due or the next lease expires; `None` if there is neither."""


@dataclass(frozen=True, slots=True)
class DeepReport:
    """What a deep clean, or a check, found."""

    items: int
    """How many items were checked."""
    idle_lanes: int
    """Unused lanes of clients that are gone; they are no damage."""
    found: dict[str, int]
    """How often each damage was found; empty for a sound queue."""
    mended: dict[str, int]
    """How often each damage was mended; always empty for a check."""
    details: list[str]
    """The first findings, one line each, at most 100."""

    @property
    def is_sound(self) -> bool:
        """True if nothing is wrong."""
        return not self.found
