"""Adding jobs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from .. import _leaseq
from .._groups import Group
from .._leaseq import Item
from .._values import FollowUp
from ..exceptions import InvalidError
from ._decode import Decoder
from ._encode import encode
from ._options import Options
from ._ref import AsyncJobRef, JobRef, only_asyncio, only_blocking

if TYPE_CHECKING:
    from .. import _blocking, asyncio
    from ._jobs import Jobs

R = TypeVar("R")
On = Literal["completed", "dead", "ended"]
MAX_LEVELS = 16


class NewJob(Generic[R]):
    """A job to add, with its arguments and options; made by `JobType.new`."""

    def __init__(
        self, name: str, args: dict[str, object], options: Options, decode: Decoder
    ) -> None:
        self.name = name
        """The name of the job."""
        self.args = args
        """The arguments by their names."""
        self.meta = dict(options.meta)
        """Texts for handlers and middleware, such as a `traceparent`; may be changed."""
        self.queue = "default" if options.queue is None else options.queue
        """The name of the queue."""
        self._options = options
        self._decode = decode
        self._follow_ups: tuple[tuple[On, NewJob[Any]], ...] = ()
        # How many jobs follow each other after this one, at most.
        self._levels = 0

    def __repr__(self) -> str:
        return f"<NewJob {self.name!r} for queue {self.queue!r}>"

    def on_success(self, *jobs: NewJob[Any]) -> NewJob[R]:
        """Return this job, with others that are added when it has succeeded.

        They get its result: `Job.previous`. Each is added exactly once, to its own queue. A job has
        up to 16 that follow it, in up to 16 levels, of 64 KiB in all; more are an `InvalidError`.
        """
        return self._followed("completed", jobs)

    def on_failure(self, *jobs: NewJob[Any]) -> NewJob[R]:
        """Do the same with jobs that are added when this one is dead."""
        return self._followed("dead", jobs)

    def on_end(self, *jobs: NewJob[Any]) -> NewJob[R]:
        """Do the same with jobs that are added when this one has ended in any way."""
        return self._followed("ended", jobs)

    def then(self, *jobs: NewJob[Any]) -> NewJob[R]:
        """Return this job as the first of a chain.

        Each is added when the one before it has succeeded, the first one after this job.
        """
        following: tuple[NewJob[Any], ...] = ()
        for job in reversed(jobs):
            following = (job.on_success(*following),)
        return self.on_success(*following)

    def _followed(self, on: On, jobs: Sequence[NewJob[Any]]) -> NewJob[R]:
        job = copy.copy(self)
        job.meta = dict(self.meta)
        job._follow_ups = (*self._follow_ups, *((on, one) for one in jobs))
        job._levels = max([self._levels, *(one._levels + 1 for one in jobs)])
        if job._levels > MAX_LEVELS:
            raise InvalidError(f"job {self.name}: more than {MAX_LEVELS} jobs follow each other")
        return job

    def _all(self) -> Iterator[NewJob[Any]]:
        """Return this job and those that follow it."""
        yield self
        for _, job in self._follow_ups:
            yield from job._all()

    def _member(self, group: Group, place: int, item_id: str) -> NewJob[R]:
        """Return this job as a member of a group."""
        job = copy.copy(self)
        job._options = replace(self._options, group=group, place=place, id=item_id)
        return job

    def item(self) -> Item:
        """Return the item, for programs that add it themselves. Raises `InvalidError`."""
        return self._item(self.queue)

    def _item(self, queue: str) -> Item:
        """Return the item; it names its own queue if that is not this one."""
        options = self._options
        data = _leaseq.job_data(
            self.name, self.args, encode, self.meta, options.timeout, options.retry
        )
        follow_ups = [
            FollowUp(on, job._item(self.queue), with_trigger=True) for on, job in self._follow_ups
        ]
        return Item(
            data,
            **options.of_item(self.args),
            follow_ups=follow_ups,
            queue=None if self.queue == queue else self.queue,
        )


EnqueueMiddleware: TypeAlias = Callable[[Sequence[NewJob[Any]]], AbstractContextManager[object]]
"""Returns what is entered before these jobs are added, and left after that.

Those that follow others are among them.
"""


@contextmanager
def around(middleware: Iterable[EnqueueMiddleware], jobs: Sequence[NewJob[Any]]) -> Iterator[None]:
    """Enter the middleware, which sees these jobs and those that follow them."""
    with ExitStack() as stack:
        for one in middleware:
            stack.enter_context(one([each for job in jobs for each in job._all()]))
        yield


# The items of jobs by their queues, each with the place of its job.
Items: TypeAlias = dict[str, list[tuple[int, Item]]]


def items_of(jobs: Sequence[NewJob[Any]]) -> Items:
    """Return the items of all jobs: if any is invalid, none is to be added."""
    by_queue: Items = {}
    for place, job in enumerate(jobs):
        by_queue.setdefault(job.queue, []).append((place, job.item()))
    return by_queue


def add(client: _blocking.Client, jobs: Iterable[NewJob[R]], owner: Jobs) -> list[JobRef[R]]:
    """Add jobs, and return their references in order."""
    jobs = list(jobs)
    with around(owner._around_enqueue, jobs):
        items = items_of(jobs)
        if owner._inline is not None:
            return [owner._inline.run(job) for job in jobs]
        return add_items(client, jobs, items)


def add_items(
    client: _blocking.Client, jobs: Sequence[NewJob[R]], by_queue: Items
) -> list[JobRef[R]]:
    """Add the items of these jobs."""
    only_blocking(client)
    refs: dict[int, JobRef[R]] = {}
    for name, items in by_queue.items():
        queue = client.queue(name)
        if len(items) == 1:
            answers = [queue.add_item(items[0][1])]
        else:
            answers = queue.add_items(item for _, item in items)
        for (place, item), added in zip(items, answers, strict=True):
            job = jobs[place]
            refs[place] = JobRef(client, job.name, name, item.id, added, job._decode)
    return [refs[place] for place in range(len(jobs))]


async def aadd(
    client: asyncio.Client, jobs: Iterable[NewJob[R]], owner: Jobs
) -> list[AsyncJobRef[R]]:
    """Add jobs, and return their references in order."""
    jobs = list(jobs)
    with around(owner._around_enqueue, jobs):
        items = items_of(jobs)
        if owner._inline is not None:
            return [await owner._inline.arun(job) for job in jobs]
        return await aadd_items(client, jobs, items)


async def aadd_items(
    client: asyncio.Client, jobs: Sequence[NewJob[R]], by_queue: Items
) -> list[AsyncJobRef[R]]:
    """Add the items of these jobs."""
    only_asyncio(client)
    refs: dict[int, AsyncJobRef[R]] = {}
    for name, items in by_queue.items():
        queue = client.queue(name)
        if len(items) == 1:
            answers = [await queue.add_item(items[0][1])]
        else:
            answers = await queue.add_items(item for _, item in items)
        for (place, item), added in zip(items, answers, strict=True):
            job = jobs[place]
            refs[place] = AsyncJobRef(client, job.name, name, item.id, added, job._decode)
    return [refs[place] for place in range(len(jobs))]
