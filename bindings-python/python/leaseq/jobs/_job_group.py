"""Groups of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .._groups import Group, GroupInfo, GroupOutcome, GroupOutcomeKind, PlaceState
from .._values import FollowUp, ItemId, Seconds
from ..exceptions import InvalidError
from ._enqueue import NewJob, aadd_items, add_items, around, items_of
from ._ref import AsyncJobRef, JobRef, only_asyncio, only_blocking

if TYPE_CHECKING:
    from .. import _blocking, asyncio
    from ._jobs import Jobs

R = TypeVar("R")
Ref = TypeVar("Ref")
MAX_PLACES = 100_000


@dataclass(frozen=True)
class _GroupRef(Generic[Ref]):
    group: Group
    """Names the group: see `Queue.group`."""
    jobs: list[Ref]
    """Its members, in their order. `added` is false for those that were there."""

    def _ended(self, outcome: GroupOutcome | None, timeout: Seconds | None) -> GroupOutcome:
        if outcome is None:
            raise TimeoutError(f"group {self.group.id!r} has not ended within {timeout} s")
        if outcome.info is not None and outcome.info.group != self.group:
            # Another one has its id by now.
            return GroupOutcome(GroupOutcomeKind.GONE)
        return outcome


@dataclass(frozen=True)
class JobGroupRef(_GroupRef[JobRef[R]], Generic[R]):
    """A group of jobs that was added."""

    _queue: _blocking.Queue = field(repr=False, compare=False)

    def wait(self, timeout: Seconds | None = None) -> GroupOutcome:
        """Wait until all members have ended, and return how. Raises `TimeoutError`."""
        return self._ended(self._queue.group_outcome(self.group.id, timeout), timeout)

    def cancel(self) -> bool:
        """Cancel all its jobs that have not ended; false if the group has ended, or is gone."""
        return self._queue.cancel_group(self.group)


@dataclass(frozen=True)
class AsyncJobGroupRef(_GroupRef[AsyncJobRef[R]], Generic[R]):
    """A group of jobs that was added, as `aenqueue_group` returns it."""

    _queue: asyncio.Queue = field(repr=False, compare=False)

    async def wait(self, timeout: Seconds | None = None) -> GroupOutcome:
        """Wait until all members have ended, and return how. Raises `TimeoutError`."""
        return self._ended(await self._queue.group_outcome(self.group.id, timeout), timeout)

    async def cancel(self) -> bool:
        """Cancel all its jobs that have not ended; false if the group has ended, or is gone."""
        return await self._queue.cancel_group(self.group)


class JobGroup(Generic[R]):
    """A group to add: its members, and what follows it."""

    def __init__(
        self,
        owner: Jobs,
        group_id: ItemId,
        jobs: Iterable[NewJob[R]],
        queue: str | None,
        ends: tuple[Sequence[NewJob[Any]], ...],
    ) -> None:
        self.id = group_id
        self.members = list(jobs)
        if not 1 <= len(self.members) <= MAX_PLACES:
            raise InvalidError(
                f"group {group_id!r}: {len(self.members)} jobs, not between 1 and {MAX_PLACES}"
            )
        if owner._inline is not None:
            raise InvalidError(f"group {group_id!r}: groups do not run inline")
        self.queue = self.members[0].queue if queue is None else queue
        then, on_success, on_failure, on_end = ends
        # A job in the place of the group.
        job: NewJob[Any] = NewJob(f"group {group_id!r}", {}, self.members[0]._options, lambda _: _)
        job = job.then(*then).on_success(*on_success).on_failure(*on_failure).on_end(*on_end)
        self._follow_ups = job._follow_ups

    def all(self) -> list[NewJob[Any]]:
        """Return the members, and what follows the group."""
        return [*self.members, *(job for _, job in self._follow_ups)]

    def follow_ups(self) -> list[FollowUp]:
        """Return what follows the group."""
        # All of the members first: if any is invalid, nothing is added.
        items_of(self.members)
        return [
            FollowUp(on, job._item(self.queue), with_trigger=True) for on, job in self._follow_ups
        ]

    def missing(self, group: Group, states: list[PlaceState]) -> dict[int, NewJob[R]]:
        """Return the members that are to be added, by place."""
        states = states + [PlaceState.OPEN] * (len(self.members) - len(states))
        return {
            place: job._member(group, place, self.id_of(place))
            for place, job in enumerate(self.members)
            if states[place] is PlaceState.OPEN
        }

    def id_of(self, place: int) -> str:
        """Return the id of the item of a member."""
        item_id = self.members[place]._options.id
        if item_id is None:
            return f"{_text(self.id)}/{place}"
        return _text(item_id)

    def check(self, info: GroupInfo | None) -> bool:
        """Say whether its places have to be looked at: a new group has none that is filled.

        Raises `InvalidError` if it was added with another number of jobs.
        """
        if info is not None and info.places not in (None, len(self.members)):
            raise self.refused()
        return info is not None and info.ended > 0

    def refused(self) -> InvalidError:
        """Return the error of a group with another number of jobs."""
        return InvalidError(
            f"queue {self.queue}, group {self.id!r}: it was added with another number of jobs"
        )


def _text(item_id: ItemId) -> str:
    return item_id if isinstance(item_id, str) else item_id.decode("utf-8", "surrogateescape")


def add_group(client: _blocking.Client, new: JobGroup[R], owner: Jobs) -> JobGroupRef[R]:
    """Add a group, or what is missing of it."""
    only_blocking(client)
    with around(owner._around_enqueue, new.all()):
        follow_ups = new.follow_ups()
        queue = client.queue(new.queue)
        group = queue.create_group(new.id, follow_ups)
        states: list[PlaceState] = []
        if new.check(queue.group(group.id)):
            while more := queue.group_places(group, len(states)):
                states += more
        missing = new.missing(group, states)
        jobs = list(missing.values())
        added = dict(zip(missing, add_items(client, jobs, items_of(jobs)), strict=True))
        if not queue.seal_group(group, len(new.members)):
            raise new.refused()
    return JobGroupRef(
        group,
        [
            added[place]
            if place in added
            else JobRef(client, job.name, job.queue, new.id_of(place), False, job._decode)
            for place, job in enumerate(new.members)
        ],
        queue,
    )


async def aadd_group(client: asyncio.Client, new: JobGroup[R], owner: Jobs) -> AsyncJobGroupRef[R]:
    """Add a group, or what is missing of it."""
    only_asyncio(client)
    with around(owner._around_enqueue, new.all()):
        follow_ups = new.follow_ups()
        queue = client.queue(new.queue)
        group = await queue.create_group(new.id, follow_ups)
        states: list[PlaceState] = []
        if new.check(await queue.group(group.id)):
            while more := await queue.group_places(group, len(states)):
                states += more
        missing = new.missing(group, states)
        jobs = list(missing.values())
        added = dict(zip(missing, await aadd_items(client, jobs, items_of(jobs)), strict=True))
        if not await queue.seal_group(group, len(new.members)):
            raise new.refused()
    return AsyncJobGroupRef(
        group,
        [
            added[place]
            if place in added
            else AsyncJobRef(client, job.name, job.queue, new.id_of(place), False, job._decode)
            for place, job in enumerate(new.members)
        ],
        queue,
    )
