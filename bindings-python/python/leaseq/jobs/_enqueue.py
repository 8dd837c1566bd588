"""Adding jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from .. import _leaseq
from .._leaseq import Item
from ._decode import Decoder
from ._encode import encode
from ._options import Options
from ._ref import AsyncJobRef, JobRef

if TYPE_CHECKING:
    from .. import _blocking, asyncio
    from ._jobs import Jobs

R = TypeVar("R")


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
        self.queue = options.queue or "default"
        """The name of the queue."""
        self._options = options
        self._decode = decode

    def __repr__(self) -> str:
        return f"<NewJob {self.name!r} for queue {self.queue!r}>"

    def item(self) -> Item:
        """Return the item, for programs that add it themselves. Raises `InvalidError`."""
        options = self._options
        data = _leaseq.job_data(
            self.name, self.args, encode, self.meta, options.timeout, options.retry
        )
        return Item(data, **options.of_item(self.args))


EnqueueMiddleware: TypeAlias = Callable[[Sequence[NewJob[Any]]], AbstractContextManager[object]]
"""Returns what is entered before these jobs are added, and left after that."""


@contextmanager
def _around(
    middleware: Iterable[EnqueueMiddleware], jobs: Sequence[NewJob[Any]]
) -> Iterator[dict[str, list[tuple[int, Item]]]]:
    """Return the items by queue, each with the place of its job."""
    with ExitStack() as stack:
        for one in middleware:
            stack.enter_context(one(jobs))
        # All of them first: if any is invalid, none is added.
        by_queue: dict[str, list[tuple[int, Item]]] = {}
        for place, job in enumerate(jobs):
            by_queue.setdefault(job.queue, []).append((place, job.item()))
        yield by_queue


def add(client: _blocking.Client, jobs: Iterable[NewJob[R]], owner: Jobs) -> list[JobRef[R]]:
    """Add jobs, and return their references in order."""
    jobs = list(jobs)
    refs: dict[int, JobRef[R]] = {}
    with _around(owner._around_enqueue, jobs) as by_queue:
        if owner._inline is not None:
            return [owner._inline.run(job) for job in jobs]
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
    refs: dict[int, AsyncJobRef[R]] = {}
    with _around(owner._around_enqueue, jobs) as by_queue:
        if owner._inline is not None:
            return [await owner._inline.arun(job) for job in jobs]
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
