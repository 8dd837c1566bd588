"""The registry of workers: what workers say of themselves, and commands for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class WorkerName(TypedDict):
    """Which worker: 1 to 128 bytes each, without control characters."""

    name: str
    """It stays the same when the worker is started again."""
    instance: str
    """It is another one each time that the worker is started."""


class _ItemId(TypedDict, total=False):
    item_id: str
    item_id_hex: str
    """Instead of `item_id`, if the id is no text."""


class RunningItem(_ItemId):
    """An item that a worker is working on."""

    queue: str
    elapsed_ms: int
    """For how long it has been working on it."""
    deadline: str
    """When its lease expires: RFC 3339, such as `2027-01-15T08:00:00Z`."""


class WorkerState(TypedDict, total=False):
    """What a worker does. A histogram is a list of values, each with how often it was counted."""

    host: str
    process: int
    language: str
    version: str
    queues: Sequence[str]
    """The queues that it serves, up to 1,000."""
    slots: int
    """How many items it works on at the same time."""
    running: Sequence[RunningItem]
    """What it is working on, up to 1,000 items."""
    memory_bytes: int | None
    throttled: bool
    """It leases nothing at present, for lack of memory or the like."""
    draining: bool
    """It leases nothing more, and ends when what it works on has ended."""
    waiting_us: Sequence[tuple[int, int]]
    """For how long items were ready before it leased them, in microseconds, since its start."""
    run_us: Sequence[tuple[int, int]]
    """For how long it worked on items, in microseconds, since its start."""
    lease_use: Sequence[tuple[int, int]]
    """How much of their leases items had used when they ended, in thousandths."""


class Beat(WorkerName, WorkerState, total=False):
    """What a worker says of itself, every 10 seconds. All but name and instance may be missing."""

    acknowledged: Sequence[int]
    """The numbers of the commands that it has executed."""


class StopCommand(TypedDict):
    """Stop leasing, finish what is running, and end."""

    action: Literal["stop"]


class CancelCommand(_ItemId):
    """Cancel the work on an item, if the worker is working on it."""

    action: Literal["cancel"]
    queue: str


class GivenCommand(_ItemId, total=False):
    """A command that a worker has not acknowledged."""

    number: int
    action: Literal["stop", "cancel"]
    queue: str
    """Of the item to cancel."""


class BeatReply(TypedDict):
    """The reply to a beat."""

    quiet: bool
    """The worker is to lease nothing until this is false again."""
    commands: list[GivenCommand]
    """Those that it has not acknowledged. One may come again, with the same number."""


class WorkerInfo(WorkerName, WorkerState):
    """A worker as it is listed: what its last beat said, all fields."""

    seen: str
    """When that was."""
    quiet: bool
    commands: list[GivenCommand]


class WorkersPage(TypedDict):
    """Some workers, in the order of their names, then of their instances."""

    workers: list[WorkerInfo]
    """There may be fewer than were looked at, even none."""
    next: WorkerName | None
    """The `after` of the next page; `None`: this is the last one."""
    skipped: int
    """How many entries cannot be read. Something else has written them."""
