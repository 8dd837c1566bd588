"""A work queue for work that must not be lost.

A producer adds items; a worker leases one for a time, does the work and completes it. If the worker
dies, the lease expires and another worker gets the item.

>>> import leaseq
>>> with leaseq.connect("memory:") as client:  # or sqlite:jobs.db, or redis://127.0.0.1/
...     queue = client.queue("emails")
...     queue.add_item(b"hello")
...     for lease in queue.leases(30, wait=0.1):
...         with lease:  # completes it; an exception fails it, and goes on
...             print(lease.data)
True
b'hello'

`leaseq.asyncio` is the same for asyncio. Every error is a `LeaseqError`. Warnings go to the logger
`leaseq`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from . import exceptions
from ._blocking import Client, Lease, Queue, connect
from ._events import Event, EventKind, EventsPage
from ._follow_ups import FollowUpInfo, FollowUpItem
from ._groups import Group, GroupInfo, GroupOutcome, GroupOutcomeKind, PlaceState
from ._history import HistoryRow, HistoryTotals, Measurements
from ._leaseq import Item, __version__, schedule_times
from ._values import (
    Counts,
    Data,
    DeepReport,
    Ending,
    EndingKind,
    FollowUp,
    ItemId,
    ItemInfo,
    KeyInfo,
    LightReport,
    Outcome,
    OutcomeKind,
    Page,
    PutSchedule,
    Rate,
    Releases,
    Revision,
    Schedule,
    ScheduleInfo,
    Seconds,
    Settings,
    State,
    SyncedSchedules,
    Totals,
    Trigger,
)
from ._workers import (
    Beat,
    BeatReply,
    CancelCommand,
    GivenCommand,
    RunningItem,
    StopCommand,
    WorkerInfo,
    WorkerName,
    WorkersPage,
    WorkerState,
)
from .exceptions import (
    ClosedError,
    IncompatibleError,
    InternalError,
    InvalidError,
    ItemCancelledError,
    LeaseLostError,
    LeaseqError,
    UnavailableError,
)

if TYPE_CHECKING:
    from . import asyncio

__all__ = [
    "Beat",
    "BeatReply",
    "CancelCommand",
    "Client",
    "ClosedError",
    "Counts",
    "Data",
    "DeepReport",
    "Ending",
    "EndingKind",
    "Event",
    "EventKind",
    "EventsPage",
    "FollowUp",
    "FollowUpInfo",
    "FollowUpItem",
    "GivenCommand",
    "Group",
    "GroupInfo",
    "GroupOutcome",
    "GroupOutcomeKind",
    "HistoryRow",
    "HistoryTotals",
    "IncompatibleError",
    "InternalError",
    "InvalidError",
    "Item",
    "ItemCancelledError",
    "ItemId",
    "ItemInfo",
    "KeyInfo",
    "Lease",
    "LeaseLostError",
    "LeaseqError",
    "LightReport",
    "Measurements",
    "Outcome",
    "OutcomeKind",
    "Page",
    "PlaceState",
    "PutSchedule",
    "Queue",
    "Rate",
    "Releases",
    "Revision",
    "RunningItem",
    "Schedule",
    "ScheduleInfo",
    "Seconds",
    "Settings",
    "State",
    "StopCommand",
    "SyncedSchedules",
    "Totals",
    "Trigger",
    "UnavailableError",
    "WorkerInfo",
    "WorkerName",
    "WorkerState",
    "WorkersPage",
    "__version__",
    "asyncio",
    "connect",
    "exceptions",
    "schedule_times",
]

for _public in (
    Client,
    Lease,
    Queue,
    connect,
    Counts,
    DeepReport,
    Ending,
    EndingKind,
    FollowUp,
    Group,
    GroupInfo,
    GroupOutcome,
    GroupOutcomeKind,
    ItemInfo,
    KeyInfo,
    LightReport,
    Outcome,
    OutcomeKind,
    Page,
    PlaceState,
    PutSchedule,
    Rate,
    Releases,
    Revision,
    Schedule,
    ScheduleInfo,
    Settings,
    State,
    SyncedSchedules,
    Totals,
    Trigger,
):
    # The module that users import it from, for messages and pickles.
    _public.__module__ = __name__


def __getattr__(name: str) -> ModuleType:
    # At first use: importing asyncio takes longer than the rest of the package.
    if name == "asyncio":
        return importlib.import_module(".asyncio", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
