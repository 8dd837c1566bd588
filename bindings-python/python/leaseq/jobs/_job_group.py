"""Groups of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .._groups import Group, GroupInfo, PlaceState
from .._values import FollowUp, ItemId
from ..exceptions import InvalidError
from ._enqueue import NewJob, aadd_items, add_items, around, items_of
from ._ref import AsyncJobRef, JobRef

if TYPE_CHECKING:
    from .. import _blocking, asyncio
    from ._jobs import Jobs

R = TypeVar("R")
Ref = TypeVar("Ref")
MAX_PLACES = 100_000


@dataclass(frozen=True)
class JobGroupRef(Generic[Ref]):
    """A group of jobs that was added."""

    group: Group
    """Names the group: see `Queue.group`."""
    jobs: list[Ref]
    """Its members, in their order. `added` is false for those that were there."""


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
        self.queue = queue or self.members[0].queue
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

    def refused(self) -> InvalidError:
        """Return the error of a group that could not be sealed."""
        return InvalidError(
            f"queue {self.queue}, group {self.id!r}: it was added with another number of jobs"
        )


def _text(item_id: ItemId) -> str:
    return item_id if isinstance(item_id, str) else item_id.decode("utf-8", "surrogateescape")


def _has_ended(info: GroupInfo | None) -> bool:
    """Whether the places have to be looked at: a new group has none that is filled."""
    return info is not None and info.ended > 0


def add_group(client: _blocking.Client, new: JobGroup[R], owner: Jobs) -> JobGroupRef[JobRef[R]]:
    """Add a group, or what is missing of it."""
    with around(owner._around_enqueue, new.all()):
        follow_ups = new.follow_ups()
        queue = client.queue(new.queue)
        group = queue.create_group(new.id, follow_ups)
        states: list[PlaceState] = []
        if _has_ended(queue.group(group.id)):
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
    )


async def aadd_group(
    client: asyncio.Client, new: JobGroup[R], owner: Jobs
) -> JobGroupRef[AsyncJobRef[R]]:
    """Add a group, or what is missing of it."""
    with around(owner._around_enqueue, new.all()):
        follow_ups = new.follow_ups()
        queue = client.queue(new.queue)
        group = await queue.create_group(new.id, follow_ups)
        states: list[PlaceState] = []
        if _has_ended(await queue.group(group.id)):
            while more := await queue.group_places(group, len(states)):
                states += more
        missing = new.missing(group, states)
        jobs = list(missing.values())
        added = dict(zip(missing, await aadd_items(client, jobs, items_of(jobs)), strict=True))
        if not await queue.seal_group(group, len(new.members)):
            raise new.refused()
    return JobGroupRef(
        group,
        [
            added[place]
            if place in added
            else AsyncJobRef(client, job.name, job.queue, new.id_of(place), False, job._decode)
            for place, job in enumerate(new.members)
        ],
    )
