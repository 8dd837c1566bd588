"""A job with a name, its options and its handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from .._groups import Group
from .._values import ItemId, Seconds
from ._decode import Decoder, decoder
from ._enqueue import NewJob, aadd, add
from ._options import Key, Options
from ._ref import AsyncJobRef, JobRef, only_asyncio, only_blocking
from ._retry import Retry
from ._signature import Signature, annotated

if TYPE_CHECKING:
    from .. import _blocking, asyncio
    from ._jobs import Jobs

P = ParamSpec("P")
R = TypeVar("R")


class JobType(Generic[P, R]):
    """A job with a name, its options and its handler; made by `Jobs.job` and `Jobs.named`."""

    def __init__(
        self,
        jobs: Jobs,
        name: str,
        function: Callable[..., Any] | None,
        defaults: Options,
        changes: Options,
    ) -> None:
        self.name = name
        """The name of the job."""
        self.function = function
        """The handler, as it was written, to call it yourself; `None` if it is elsewhere."""
        self._jobs = jobs
        self._defaults = defaults
        self._changes = changes
        self._signature = Signature(name, function) if function is not None else None

    def __repr__(self) -> str:
        return f"<JobType {self.name!r}>"

    def using(
        self,
        *,
        queue: str | None = None,
        timeout: Seconds | None = None,
        retry: Retry | None = None,
        id: ItemId | None = None,  # noqa: A002 - the word for it
        priority: int | None = None,
        delay: Seconds | None = None,
        due_at: datetime | None = None,
        max_attempts: int | None = None,
        retain: Seconds | None = None,
        unique: Key | None = None,
        unique_for: Seconds | None = None,
        replace: bool | None = None,
        successor: bool | None = None,
        key: Key | None = None,
        expires_in: Seconds | None = None,
        group: Group | None = None,
        place: int | None = None,
        meta: dict[str, str] | None = None,
    ) -> JobType[P, R]:
        """Return this job with other options.

        `timeout` and `retry` take precedence over those of the worker. `meta` are texts for the
        handler. The other options are those of `leaseq.Item`.
        """
        changes = Options(
            queue=queue,
            timeout=timeout,
            retry=retry,
            id=id,
            priority=priority,
            delay=delay,
            due_at=due_at,
            max_attempts=max_attempts,
            retain=retain,
            unique=unique,
            unique_for=unique_for,
            replace=replace,
            successor=successor,
            key=key,
            expires_in=expires_in,
            group=group,
            place=place,
            meta=meta or {},
        )
        changed = self._changes.change(changes.checked(self.name))
        return JobType(self._jobs, self.name, self.function, self._defaults, changed)

    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewJob[R]:
        """Return a job to add, for `Jobs.enqueue`, or to follow another one.

        Raises `TypeError` for wrong arguments.
        """
        if self._signature is not None:
            named = self._signature.bind(args, kwargs)
            self._signature.check(named)
        elif args:
            raise TypeError(f"job {self.name}: its arguments have names")
        else:
            named = dict(kwargs)
        # The worker knows its own timeout and retry rules.
        defaults = self._defaults
        options = Options(
            queue=defaults.queue,
            priority=defaults.priority,
            retain=defaults.retain,
            unique=defaults.unique,
            unique_for=defaults.unique_for,
            key=defaults.key,
            expires_in=defaults.expires_in,
        ).change(self._changes)
        return NewJob(self.name, named, options, self._decode)

    def enqueue(self, client: _blocking.Client, /, *args: P.args, **kwargs: P.kwargs) -> JobRef[R]:
        """Add a job with these arguments, and return a reference to it.

        Raises `TypeError` for arguments that the handler does not take, or that do not fit its
        annotations, and `InvalidError` for values that not every language reads alike: NaN,
        infinite numbers, integers beyond 2^53, more than 64 levels, and types that JSON cannot
        express. Otherwise as `Queue.add_item`.
        """
        return add(client, [self.new(*args, **kwargs)], self._jobs)[0]

    async def aenqueue(
        self, client: asyncio.Client, /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncJobRef[R]:
        """Do the same for asyncio."""
        return (await aadd(client, [self.new(*args, **kwargs)], self._jobs))[0]

    def ref(self, client: _blocking.Client, id: ItemId) -> JobRef[R]:  # noqa: A002
        """Return a reference to a job that was added before, here or elsewhere."""
        only_blocking(client)
        return JobRef(client, self.name, self._queue, _text(id), True, self._decode)

    def aref(self, client: asyncio.Client, id: ItemId) -> AsyncJobRef[R]:  # noqa: A002
        """Do the same for asyncio."""
        only_asyncio(client)
        return AsyncJobRef(client, self.name, self._queue, _text(id), True, self._decode)

    @property
    def _queue(self) -> str:
        queue = self._changes.queue
        if queue is None:
            queue = self._defaults.queue
        return "default" if queue is None else queue

    @property
    def _is_async(self) -> bool:
        function = self.function
        return function is not None and inspect.iscoroutinefunction(annotated(function))

    def _decode(self, value: object) -> Any:  # noqa: ANN401
        decode: Decoder = self._signature.result if self._signature else decoder(Any)
        return decode(value)


def _text(item_id: ItemId) -> str:
    return item_id if isinstance(item_id, str) else item_id.decode("utf-8", "surrogateescape")
