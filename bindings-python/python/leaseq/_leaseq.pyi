# The native part. Users see it through leaseq and leaseq.asyncio; of these names, Item is public.
# A blocking caller passes None as bridge. asyncio passes the bridge of its loop and gets a future;
# for a call that may wait long it also gets a handle that abandons the call.

import os
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, TypeAlias, final, overload

from typing_extensions import disjoint_base

from . import _only_asyncio, _only_blocking
from ._groups import Group, GroupInfo, GroupOutcome, PlaceState
from ._values import (
    Counts,
    Data,
    DeepReport,
    Ending,
    FollowUp,
    ItemId,
    ItemInfo,
    KeyInfo,
    LightReport,
    Outcome,
    Page,
    PutSchedule,
    Releases,
    Revision,
    Schedule,
    ScheduleInfo,
    Seconds,
    Settings,
    State,
    SyncedSchedules,
    Trigger,
)
from .exceptions import LeaseqError

__all__ = [
    "Client",
    "Item",
    "JobTask",
    "JobWorker",
    "Lease",
    "LeaseInit",
    "Logs",
    "LoopBridge",
    "Queue",
    "Started",
    "TestClock",
    "__version__",
    "connect",
    "exiting",
    "job_data",
    "open_clients",
    "redact_url",
    "schedule_times",
    "start_worker",
    "to_json",
]

__version__: str

@final
class Item:
    def __new__(
        cls,
        data: Data,
        *,
        id: ItemId | None = None,
        priority: int | None = None,
        delay: Seconds | None = None,
        due_at: datetime | None = None,
        max_attempts: int | None = None,
        retain: Seconds | None = None,
        unique: ItemId | None = None,
        unique_for: Seconds | None = None,
        replace: bool = False,
        successor: bool = False,
        key: ItemId | None = None,
        expires_in: Seconds | None = None,
        follow_ups: Iterable[FollowUp] | None = None,
        queue: str | None = None,
        group: Group | None = None,
        place: int | None = None,
    ) -> Item: ...
    @classmethod
    def json(
        cls,
        value: object,
        *,
        id: ItemId | None = None,
        priority: int | None = None,
        delay: Seconds | None = None,
        due_at: datetime | None = None,
        max_attempts: int | None = None,
        retain: Seconds | None = None,
        unique: ItemId | None = None,
        unique_for: Seconds | None = None,
        replace: bool = False,
        successor: bool = False,
        key: ItemId | None = None,
        expires_in: Seconds | None = None,
        follow_ups: Iterable[FollowUp] | None = None,
        queue: str | None = None,
        group: Group | None = None,
        place: int | None = None,
    ) -> Item: ...
    @property
    def id(self) -> str: ...
    @property
    def id_bytes(self) -> bytes: ...
    @property
    def data(self) -> bytes: ...
    @property
    def priority(self) -> int: ...
    @property
    def delay(self) -> float: ...
    @property
    def due_at(self) -> datetime | None: ...
    @property
    def max_attempts(self) -> int | None: ...
    @property
    def retain(self) -> float: ...
    @property
    def unique(self) -> str | None: ...
    @property
    def unique_bytes(self) -> bytes | None: ...
    @property
    def unique_for(self) -> float: ...
    @property
    def replace(self) -> bool: ...
    @property
    def successor(self) -> bool: ...
    @property
    def key(self) -> str | None: ...
    @property
    def key_bytes(self) -> bytes | None: ...
    @property
    def expires_in(self) -> float | None: ...
    @property
    def follow_ups(self) -> tuple[FollowUp, ...]: ...
    @property
    def queue(self) -> str | None: ...
    @property
    def group(self) -> Group | None: ...
    @property
    def place(self) -> int | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[bytes], dict[str, Any]]: ...

@final
class LeaseInit: ...

@disjoint_base
class Lease:
    def __new__(cls, init: LeaseInit) -> Lease: ...
    @property
    def id(self) -> str: ...
    @property
    def id_bytes(self) -> bytes: ...
    @property
    def data(self) -> bytes: ...
    def json(self) -> Any: ...
    @property
    def queue(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def failures(self) -> int: ...
    @property
    def expiries(self) -> int: ...
    @property
    def max_attempts(self) -> int | None: ...
    @property
    def key(self) -> str | None: ...
    @property
    def key_bytes(self) -> bytes | None: ...
    @property
    def priority(self) -> int: ...
    @property
    def last_error(self) -> str: ...
    @property
    def endings(self) -> tuple[Ending, ...]: ...
    @property
    def releases(self) -> Releases | None: ...
    @property
    def trigger(self) -> Trigger | None: ...
    @property
    def generation(self) -> int: ...
    @property
    def waited(self) -> float: ...
    @property
    def deadline(self) -> datetime: ...
    @property
    def remaining(self) -> float: ...
    @property
    def lost(self) -> bool: ...
    @property
    def settled(self) -> bool: ...
    @property
    def completed(self) -> bool | None: ...
    def _is_cancelled(self) -> bool: ...
    @overload
    def _wait_cancelled(self, bridge: None, timeout: Seconds | None) -> bool: ...
    @overload
    def _wait_cancelled(
        self, bridge: LoopBridge, timeout: Seconds | None
    ) -> tuple[Future[bool], Started]: ...
    @property
    def _held(self) -> bool: ...
    @property
    def _queue(self) -> Queue: ...
    def _leave(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None: ...

@final
class Started:
    def abandon(self) -> None: ...

@final
class LoopBridge:
    def __new__(cls, event_loop: AbstractEventLoop) -> LoopBridge: ...
    def fileno(self) -> int: ...
    def flush(self) -> None: ...
    def drain(self) -> None: ...

@final
class Logs:
    def __new__(cls) -> Logs: ...
    def next(self) -> tuple[int, str] | None: ...
    def stop(self) -> None: ...

def exiting() -> None: ...
def schedule_times(
    *,
    cron: str | None = None,
    zone: str | None = None,
    every: Seconds | None = None,
    after: datetime | None = None,
    count: int = 10,
) -> list[datetime]: ...
def open_clients() -> list[Client]: ...
@overload
def connect(
    bridge: None,
    url: str | None,
    namespace: str | None = None,
    timeout: Seconds | None = None,
    connect_timeout: Seconds | None = None,
    max_data: int | None = None,
    ca_file: str | os.PathLike[str] | None = None,
    replicas: int | None = None,
    fsync: Literal["local"] | int | None = None,
    clock: TestClock | None = None,
) -> Client: ...
@overload
def connect(
    bridge: LoopBridge,
    url: str | None,
    namespace: str | None = None,
    timeout: Seconds | None = None,
    connect_timeout: Seconds | None = None,
    max_data: int | None = None,
    ca_file: str | os.PathLike[str] | None = None,
    replicas: int | None = None,
    fsync: Literal["local"] | int | None = None,
    clock: TestClock | None = None,
) -> tuple[Future[Client], Started]: ...

@final
class Client:
    def queue(self, name: str) -> Queue: ...
    def give_back_unused(self) -> None: ...
    @overload
    def queues(self, bridge: None) -> list[str]: ...
    @overload
    def queues(self, bridge: LoopBridge) -> Future[list[str]]: ...
    @overload
    def call_registry(self, bridge: None, operation: str, arguments: str) -> str: ...
    @overload
    def call_registry(self, bridge: LoopBridge, operation: str, arguments: str) -> Future[str]: ...
    @overload
    def close(self, bridge: None, within: float | None = None) -> None: ...
    @overload
    def close(self, bridge: LoopBridge, within: float | None = None) -> Future[None]: ...

# In the class, list is the operation.
_list = list
# Of a listing: the opposite order, since, until, with data, id prefix, text in data, text in error.
_Wanted: TypeAlias = tuple[
    bool, datetime | None, datetime | None, bool, ItemId | None, Data | None, str | None
]

@final
class Queue:
    @property
    def name(self) -> str: ...
    def give_back(self, leases: Iterable[Lease]) -> None: ...
    @overload
    def add_item(self, bridge: None, item: Item | Data) -> bool: ...
    @overload
    def add_item(self, bridge: LoopBridge, item: Item | Data) -> Future[bool]: ...
    @overload
    def add_items(self, bridge: None, items: Iterable[Item | Data]) -> _list[bool]: ...
    @overload
    def add_items(
        self, bridge: LoopBridge, items: Iterable[Item | Data]
    ) -> Future[_list[bool]]: ...
    @overload
    def lease(
        self,
        bridge: None,
        duration: Seconds,
        wait: Seconds | None,
        keep_alive: bool,
        limit: Seconds | None,
    ) -> _only_blocking.Lease | None: ...
    @overload
    def lease(
        self,
        bridge: LoopBridge,
        duration: Seconds,
        wait: Seconds | None,
        keep_alive: bool,
        limit: Seconds | None,
    ) -> tuple[Future[_only_asyncio.Lease | None], Started]: ...
    @overload
    def lease_many(
        self,
        bridge: None,
        count: int,
        duration: Seconds,
        wait: Seconds | None,
        keep_alive: bool,
        limit: Seconds | None,
    ) -> _list[_only_blocking.Lease]: ...
    @overload
    def lease_many(
        self,
        bridge: LoopBridge,
        count: int,
        duration: Seconds,
        wait: Seconds | None,
        keep_alive: bool,
        limit: Seconds | None,
    ) -> tuple[Future[_list[_only_asyncio.Lease]], Started]: ...
    @overload
    def complete(
        self,
        bridge: None,
        lease: Lease,
        strict: bool,
        result: Data | None,
        retain: Seconds | None,
        add: Iterable[Item | Data] | None,
    ) -> bool: ...
    @overload
    def complete(
        self,
        bridge: LoopBridge,
        lease: Lease,
        strict: bool,
        result: Data | None,
        retain: Seconds | None,
        add: Iterable[Item | Data] | None,
    ) -> Future[bool]: ...
    @overload
    def complete_many(
        self,
        bridge: None,
        leases: Iterable[Lease],
        strict: bool,
        results: Iterable[Data | None] | None,
        retain: Seconds | None,
        adds: Iterable[Iterable[Item | Data]] | None,
    ) -> _list[bool]: ...
    @overload
    def complete_many(
        self,
        bridge: LoopBridge,
        leases: Iterable[Lease],
        strict: bool,
        results: Iterable[Data | None] | None,
        retain: Seconds | None,
        adds: Iterable[Iterable[Item | Data]] | None,
    ) -> Future[_list[bool]]: ...
    @overload
    def complete_and_lease(
        self,
        bridge: None,
        leases: Iterable[Lease],
        strict: bool,
        results: Iterable[Data | None] | None,
        retain: Seconds | None,
        adds: Iterable[Iterable[Item | Data]] | None,
        count: int,
        duration: Seconds,
        wait: Seconds | None,
        keep_alive: bool,
        limit: Seconds | None,
    ) -> tuple[_list[bool], _list[_only_blocking.Lease]]: ...
    @overload
    def complete_and_lease(
        self,
        bridge: LoopBridge,
        leases: Iterable[Lease],
        strict: bool,
        results: Iterable[Data | None] | None,
        retain: Seconds | None,
        adds: Iterable[Iterable[Item | Data]] | None,
        count: int,
        duration: Seconds,
        wait: Seconds | None,
        keep_alive: bool,
        limit: Seconds | None,
    ) -> tuple[Future[tuple[_list[bool], _list[_only_asyncio.Lease]]], Started]: ...
    @overload
    def extend(self, bridge: None, lease: Lease, duration: Seconds) -> datetime: ...
    @overload
    def extend(self, bridge: LoopBridge, lease: Lease, duration: Seconds) -> Future[datetime]: ...
    @overload
    def extend_many(
        self, bridge: None, leases: Iterable[Lease], duration: Seconds
    ) -> _list[datetime | None]: ...
    @overload
    def extend_many(
        self, bridge: LoopBridge, leases: Iterable[Lease], duration: Seconds
    ) -> Future[_list[datetime | None]]: ...
    @overload
    def set_progress(self, bridge: None, lease: Lease, progress: Data) -> None: ...
    @overload
    def set_progress(self, bridge: LoopBridge, lease: Lease, progress: Data) -> Future[None]: ...
    @overload
    def release(self, bridge: None, lease: Lease, delay: Seconds | None, reason: str) -> None: ...
    @overload
    def release(
        self, bridge: LoopBridge, lease: Lease, delay: Seconds | None, reason: str
    ) -> Future[None]: ...
    @overload
    def release_many(
        self, bridge: None, leases: Iterable[Lease], delay: Seconds | None, reason: str
    ) -> _list[bool]: ...
    @overload
    def release_many(
        self, bridge: LoopBridge, leases: Iterable[Lease], delay: Seconds | None, reason: str
    ) -> Future[_list[bool]]: ...
    @overload
    def fail(
        self,
        bridge: None,
        lease: Lease,
        error: str,
        delay: Seconds | None,
        dead: bool,
        add: Iterable[Item | Data] | None,
    ) -> State: ...
    @overload
    def fail(
        self,
        bridge: LoopBridge,
        lease: Lease,
        error: str,
        delay: Seconds | None,
        dead: bool,
        add: Iterable[Item | Data] | None,
    ) -> Future[State]: ...
    @overload
    def fail_many(
        self,
        bridge: None,
        leases: Iterable[Lease],
        error: str | _list[str],
        delay: Seconds | None,
        dead: bool,
        adds: Iterable[Iterable[Item | Data]] | None,
    ) -> _list[State | None]: ...
    @overload
    def fail_many(
        self,
        bridge: LoopBridge,
        leases: Iterable[Lease],
        error: str | _list[str],
        delay: Seconds | None,
        dead: bool,
        adds: Iterable[Iterable[Item | Data]] | None,
    ) -> Future[_list[State | None]]: ...
    @overload
    def light_clean(self, bridge: None) -> LightReport: ...
    @overload
    def light_clean(self, bridge: LoopBridge) -> Future[LightReport]: ...
    @overload
    def deep_clean(self, bridge: None) -> DeepReport: ...
    @overload
    def deep_clean(self, bridge: LoopBridge) -> Future[DeepReport]: ...
    @overload
    def check(self, bridge: None) -> DeepReport: ...
    @overload
    def check(self, bridge: LoopBridge) -> Future[DeepReport]: ...
    @overload
    def queue_len(self, bridge: None) -> int: ...
    @overload
    def queue_len(self, bridge: LoopBridge) -> Future[int]: ...
    @overload
    def processing(self, bridge: None) -> int: ...
    @overload
    def processing(self, bridge: LoopBridge) -> Future[int]: ...
    @overload
    def counts(self, bridge: None) -> Counts: ...
    @overload
    def counts(self, bridge: LoopBridge) -> Future[Counts]: ...
    @overload
    def get(self, bridge: None, id: ItemId) -> ItemInfo | None: ...
    @overload
    def get(self, bridge: LoopBridge, id: ItemId) -> Future[ItemInfo | None]: ...
    @overload
    def get_many(
        self, bridge: None, ids: Iterable[ItemId], data: bool
    ) -> _list[ItemInfo | None]: ...
    @overload
    def get_many(
        self, bridge: LoopBridge, ids: Iterable[ItemId], data: bool
    ) -> Future[_list[ItemInfo | None]]: ...
    @overload
    def outcome(self, bridge: None, id: ItemId, wait: None, expect: bool) -> Outcome: ...
    @overload
    def outcome(
        self, bridge: None, id: ItemId, wait: Seconds | None, expect: bool
    ) -> Outcome | None: ...
    @overload
    def outcome(
        self, bridge: LoopBridge, id: ItemId, wait: None, expect: bool
    ) -> tuple[Future[Outcome], Started]: ...
    @overload
    def outcome(
        self, bridge: LoopBridge, id: ItemId, wait: Seconds | None, expect: bool
    ) -> tuple[Future[Outcome | None], Started]: ...
    @overload
    def outcome_many(
        self, bridge: None, ids: Iterable[ItemId], wait: Seconds | None, expect: bool
    ) -> _list[Outcome | LeaseqError | None]: ...
    @overload
    def outcome_many(
        self, bridge: LoopBridge, ids: Iterable[ItemId], wait: Seconds | None, expect: bool
    ) -> tuple[Future[_list[Outcome | LeaseqError | None]], Started]: ...
    @overload
    def list(
        self, bridge: None, state: State | str, cursor: str | None, limit: int, wanted: _Wanted
    ) -> Page: ...
    @overload
    def list(
        self,
        bridge: LoopBridge,
        state: State | str,
        cursor: str | None,
        limit: int,
        wanted: _Wanted,
    ) -> Future[Page]: ...
    @overload
    def remove(
        self,
        bridge: None,
        id: ItemId,
        if_generation: str | None,
    ) -> bool: ...
    @overload
    def remove(
        self,
        bridge: LoopBridge,
        id: ItemId,
        if_generation: str | None,
    ) -> Future[bool]: ...
    @overload
    def remove_many(
        self,
        bridge: None,
        ids: Iterable[ItemId],
        if_generation: str | Iterable[str | None] | None,
    ) -> _list[bool]: ...
    @overload
    def remove_many(
        self,
        bridge: LoopBridge,
        ids: Iterable[ItemId],
        if_generation: str | Iterable[str | None] | None,
    ) -> Future[_list[bool]]: ...
    @overload
    def requeue(
        self,
        bridge: None,
        ids: Iterable[ItemId],
        if_generation: str | Iterable[str | None] | None,
    ) -> _list[bool]: ...
    @overload
    def requeue(
        self,
        bridge: LoopBridge,
        ids: Iterable[ItemId],
        if_generation: str | Iterable[str | None] | None,
    ) -> Future[_list[bool]]: ...
    @overload
    def bury(
        self,
        bridge: None,
        ids: Iterable[ItemId],
        error: str,
        if_generation: str | Iterable[str | None] | None,
    ) -> _list[bool]: ...
    @overload
    def bury(
        self,
        bridge: LoopBridge,
        ids: Iterable[ItemId],
        error: str,
        if_generation: str | Iterable[str | None] | None,
    ) -> Future[_list[bool]]: ...
    @overload
    def cancel(
        self,
        bridge: None,
        id: ItemId,
        if_generation: str | None,
    ) -> bool: ...
    @overload
    def cancel(
        self,
        bridge: LoopBridge,
        id: ItemId,
        if_generation: str | None,
    ) -> Future[bool]: ...
    @overload
    def cancel_many(
        self,
        bridge: None,
        ids: Iterable[ItemId],
        if_generation: str | Iterable[str | None] | None,
    ) -> _list[bool]: ...
    @overload
    def cancel_many(
        self,
        bridge: LoopBridge,
        ids: Iterable[ItemId],
        if_generation: str | Iterable[str | None] | None,
    ) -> Future[_list[bool]]: ...
    @overload
    def attach(
        self, bridge: None, id: ItemId, follow_up: FollowUp, if_generation: str | None
    ) -> bool: ...
    @overload
    def attach(
        self, bridge: LoopBridge, id: ItemId, follow_up: FollowUp, if_generation: str | None
    ) -> Future[bool]: ...
    @overload
    def attach_many(
        self, bridge: None, follow_ups: Iterable[tuple[ItemId, FollowUp]]
    ) -> _list[bool]: ...
    @overload
    def attach_many(
        self, bridge: LoopBridge, follow_ups: Iterable[tuple[ItemId, FollowUp]]
    ) -> Future[_list[bool]]: ...
    @overload
    def create_group(self, bridge: None, id: ItemId, follow_ups: Iterable[FollowUp]) -> Group: ...
    @overload
    def create_group(
        self, bridge: LoopBridge, id: ItemId, follow_ups: Iterable[FollowUp]
    ) -> Future[Group]: ...
    @overload
    def seal_group(self, bridge: None, group: Group, places: int) -> bool: ...
    @overload
    def seal_group(self, bridge: LoopBridge, group: Group, places: int) -> Future[bool]: ...
    @overload
    def cancel_group(self, bridge: None, group: Group) -> bool: ...
    @overload
    def cancel_group(self, bridge: LoopBridge, group: Group) -> Future[bool]: ...
    @overload
    def remove_group(self, bridge: None, group: Group) -> bool: ...
    @overload
    def remove_group(self, bridge: LoopBridge, group: Group) -> Future[bool]: ...
    @overload
    def group(self, bridge: None, id: ItemId) -> GroupInfo | None: ...
    @overload
    def group(self, bridge: LoopBridge, id: ItemId) -> Future[GroupInfo | None]: ...
    @overload
    def group_outcome(self, bridge: None, id: ItemId, wait: None, expect: bool) -> GroupOutcome: ...
    @overload
    def group_outcome(
        self, bridge: None, id: ItemId, wait: Seconds | None, expect: bool
    ) -> GroupOutcome | None: ...
    @overload
    def group_outcome(
        self, bridge: LoopBridge, id: ItemId, wait: None, expect: bool
    ) -> tuple[Future[GroupOutcome], Started]: ...
    @overload
    def group_outcome(
        self, bridge: LoopBridge, id: ItemId, wait: Seconds | None, expect: bool
    ) -> tuple[Future[GroupOutcome | None], Started]: ...
    @overload
    def group_places(self, bridge: None, group: Group, first: int) -> _list[PlaceState]: ...
    @overload
    def group_places(
        self, bridge: LoopBridge, group: Group, first: int
    ) -> Future[_list[PlaceState]]: ...
    @overload
    def revise(self, bridge: None, revision: Revision) -> bool: ...
    @overload
    def revise(self, bridge: LoopBridge, revision: Revision) -> Future[bool]: ...
    @overload
    def revise_many(self, bridge: None, revisions: Iterable[Revision]) -> _list[bool]: ...
    @overload
    def revise_many(
        self, bridge: LoopBridge, revisions: Iterable[Revision]
    ) -> Future[_list[bool]]: ...
    @overload
    def configure(self, bridge: None, given: tuple[object, ...]) -> Settings | None: ...
    @overload
    def configure(
        self, bridge: LoopBridge, given: tuple[object, ...]
    ) -> Future[Settings | None]: ...
    @overload
    def settings(self, bridge: None) -> Settings: ...
    @overload
    def settings(self, bridge: LoopBridge) -> Future[Settings]: ...
    @overload
    def set_key_limits(self, bridge: None, limits: Mapping[ItemId, int | None]) -> None: ...
    @overload
    def set_key_limits(
        self, bridge: LoopBridge, limits: Mapping[ItemId, int | None]
    ) -> Future[None]: ...
    @overload
    def get_keys(self, bridge: None, keys: Iterable[ItemId]) -> _list[KeyInfo]: ...
    @overload
    def get_keys(self, bridge: LoopBridge, keys: Iterable[ItemId]) -> Future[_list[KeyInfo]]: ...
    @overload
    def pause(self, bridge: None, duration: Seconds | None, by: str, reason: str) -> None: ...
    @overload
    def pause(
        self, bridge: LoopBridge, duration: Seconds | None, by: str, reason: str
    ) -> Future[None]: ...
    @overload
    def resume(self, bridge: None) -> None: ...
    @overload
    def resume(self, bridge: LoopBridge) -> Future[None]: ...
    @overload
    def events(self, bridge: None, after: str | None, limit: int, wait: Seconds) -> str: ...
    @overload
    def events(
        self, bridge: LoopBridge, after: str | None, limit: int, wait: Seconds
    ) -> tuple[Future[str], Started]: ...
    @overload
    def record_history(self, bridge: None, measured: str) -> bool: ...
    @overload
    def record_history(self, bridge: LoopBridge, measured: str) -> Future[bool]: ...
    @overload
    def history(self, bridge: None, kind: str) -> str: ...
    @overload
    def history(self, bridge: LoopBridge, kind: str) -> Future[str]: ...
    @overload
    def put_schedule(
        self, bridge: None, schedule: Schedule, owner: str, revision: int
    ) -> PutSchedule: ...
    @overload
    def put_schedule(
        self, bridge: LoopBridge, schedule: Schedule, owner: str, revision: int
    ) -> Future[PutSchedule]: ...
    @overload
    def sync_schedules(
        self, bridge: None, owner: str, revision: int, schedules: Iterable[Schedule]
    ) -> SyncedSchedules: ...
    @overload
    def sync_schedules(
        self, bridge: LoopBridge, owner: str, revision: int, schedules: Iterable[Schedule]
    ) -> Future[SyncedSchedules]: ...
    @overload
    def schedules(self, bridge: None, data: bool) -> _list[ScheduleInfo]: ...
    @overload
    def schedules(self, bridge: LoopBridge, data: bool) -> Future[_list[ScheduleInfo]]: ...
    @overload
    def remove_schedule(self, bridge: None, name: str) -> bool: ...
    @overload
    def remove_schedule(self, bridge: LoopBridge, name: str) -> Future[bool]: ...
    @overload
    def pause_schedule(self, bridge: None, name: str, by: str, reason: str) -> bool: ...
    @overload
    def pause_schedule(
        self, bridge: LoopBridge, name: str, by: str, reason: str
    ) -> Future[bool]: ...
    @overload
    def resume_schedule(self, bridge: None, name: str) -> bool: ...
    @overload
    def resume_schedule(self, bridge: LoopBridge, name: str) -> Future[bool]: ...
    @overload
    def run_now(self, bridge: None, name: str) -> bool: ...
    @overload
    def run_now(self, bridge: LoopBridge, name: str) -> Future[bool]: ...
    @overload
    def drop_queue(self, bridge: None, force: bool) -> bool: ...
    @overload
    def drop_queue(self, bridge: LoopBridge, force: bool) -> Future[bool]: ...
    @overload
    def purge(self, bridge: None, state: State | str) -> int: ...
    @overload
    def purge(self, bridge: LoopBridge, state: State | str) -> Future[int]: ...

@final
class JobTask:
    @property
    def number(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def args(self) -> bytes: ...
    @property
    def meta(self) -> dict[str, str]: ...
    @property
    def queue(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def max_attempts(self) -> int: ...
    @property
    def last_error(self) -> str: ...
    @property
    def trigger(self) -> Trigger | None: ...
    @property
    def generation(self) -> int: ...
    @property
    def remaining(self) -> float: ...
    @property
    def cancel_reason(self) -> Literal["user", "timeout", "shutdown", "lost"] | None: ...
    def begun(self) -> None: ...
    def wait_cancelled(self, within: Seconds | None) -> bool: ...
    def watch(self) -> None: ...
    def more_time(self, time: Seconds) -> None: ...
    def progress(self, progress: Data) -> None: ...
    def done(self, result: bytes | None) -> None: ...
    def failed(
        self,
        classes: list[str],
        message: str,
        trace: str | None,
        policy: Literal["retry", "retry_after", "discard", "bury"],
        delay: float,
    ) -> None: ...
    def snooze(self, delay: float) -> None: ...
    def cancelled(self) -> None: ...
    def invalid_args(self, message: str) -> None: ...

@final
class TestClock:
    def __new__(cls, now: int) -> TestClock: ...
    @property
    def now(self) -> int: ...
    def advance(self, ms: int) -> None: ...

@final
class JobWorker:
    @property
    def slots(self) -> int: ...
    def next(self, bridge: LoopBridge) -> tuple[Future[list[JobTask]], Started]: ...
    def take(self) -> JobTask | None: ...
    def stops(self, bridge: LoopBridge) -> tuple[Future[list[int]], Started]: ...
    def events(self, bridge: LoopBridge) -> tuple[Future[list[tuple[Any, ...]]], Started]: ...
    def take_events(self) -> list[tuple[Any, ...]]: ...
    def ended(self, within: float) -> bool: ...
    def left(self) -> None: ...
    def drain(self, grace: float) -> None: ...
    def abort(self) -> None: ...
    def exit(
        self,
    ) -> tuple[
        Literal["drained", "idle", "max_jobs", "hung", "aborted", "failed"],
        int,
        int,
        int,
        bool,
        LeaseqError | None,
    ]: ...

@overload
def start_worker(bridge: None, client: Client, options: dict[str, Any]) -> JobWorker: ...
@overload
def start_worker(
    bridge: LoopBridge, client: Client, options: dict[str, Any]
) -> Future[JobWorker]: ...
def redact_url(url: str | None) -> str: ...
def to_json(value: object, encode: Callable[[object], object]) -> bytes: ...
def job_data(
    name: str,
    args: dict[str, object],
    encode: Callable[[object], object],
    meta: dict[str, str],
    timeout: Seconds | None,
    retry: object,
) -> bytes: ...
