"""Names, handlers and types of jobs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from .._values import ItemId, Seconds
from ..exceptions import InvalidError
from ._around import ProcessMiddleware
from ._context import Job, Middleware
from ._enqueue import EnqueueMiddleware, NewJob, aadd, add
from ._job_group import AsyncJobGroupRef, JobGroup, JobGroupRef, aadd_group, add_group
from ._job_type import JobType
from ._options import Key, Options
from ._ref import AsyncJobRef, JobRef
from ._retry import Retry
from ._schedules import Declared, Rule
from ._signature import check_handler

if TYPE_CHECKING:
    from .. import _blocking, asyncio
    from ._inline import Inline

P = ParamSpec("P")
R = TypeVar("R")
MAX_NAME = 128


class _Decorator:
    """Makes a job of a handler."""

    def __init__(self, jobs: Jobs, name: str, options: Options, rule: Rule | None) -> None:
        self._jobs, self._name, self._options, self._rule = jobs, name, options, rule

    @overload
    def __call__(
        self, function: Callable[Concatenate[Job, P], Coroutine[Any, Any, R]]
    ) -> JobType[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Job, P], R]) -> JobType[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> JobType[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> JobType[P, R]: ...
    def __call__(self, function: Callable[..., Any]) -> JobType[..., Any]:
        made = self._jobs._register(self._name, function, self._options)
        if self._rule is not None:
            try:
                job = made.new()
            except TypeError as error:
                raise TypeError(
                    f"job {self._name} has a schedule, which adds it without arguments: {error}; "
                    "use Jobs.schedule"
                ) from None
            self._jobs.schedule(self._name, job, self._rule)
        return made


class Jobs:
    """Names and handlers of jobs. Has no client and no URL, and connects to nothing.

    `queue`: the queue of jobs that name no other; default `default`.

    >>> jobs = Jobs(queue="mail")
    >>> @jobs.job("mail.send", timeout=30)
    ... def send(to: str, order: int) -> str:
    ...     return f"sent {order} to {to}"
    >>> with leaseq.connect("memory:") as client:
    ...     ref = send.using(retain=60).enqueue(client, to="ada", order=17)
    ...     exit = Worker(client, jobs).run_until_idle()
    ...     ref.result()
    'sent 17 to ada'
    """

    def __init__(self, *, queue: str = "default") -> None:
        self._default_queue = queue
        self._types: dict[str, JobType[..., Any]] = {}
        self._around_enqueue: list[EnqueueMiddleware] = []
        self._around_handler: list[Middleware] = []
        self._around_process: list[ProcessMiddleware] = []
        self._schedules: list[Declared] = []
        self._inline: Inline | None = None
        self._module: str = sys._getframe(1).f_globals.get("__name__", "")

    def __iter__(self) -> Iterator[JobType[..., Any]]:
        return iter(self._types.values())

    def job(
        self,
        name: str,
        *,
        queue: str | None = None,
        timeout: Seconds | None = None,
        retry: Retry | None = None,
        priority: int | None = None,
        retain: Seconds | None = None,
        unique: Key | None = None,
        unique_for: Seconds | None = None,
        key: Key | None = None,
        expires_in: Seconds | None = None,
        schedule: Rule | None = None,
    ) -> _Decorator:
        """Register the function below as the handler of jobs of this name.

        The name is 1 to 128 bytes, the same in every language and version, and no path in the code.
        The function is `def` or `async def`. If its first parameter is annotated with `Job`, it
        gets the job. The other parameters are the arguments, by name.

        - `timeout`: how long the handler may run before it is cancelled, 1 ms to 30 days; default
          1 hour.
        - `retry`: when and how often it is tried again.
        - `retain`: how long the job is kept after its completion, with its result; default not.
        - `unique` and `key` are texts, or functions of the arguments that return one.
        - `schedule`: when the job is added, without arguments and under its own name: see
          `Jobs.schedule`.

        `priority`, `unique_for` and `expires_in` are those of `leaseq.Item`. Raises `InvalidError`
        if the name is taken, `TypeError` for a function whose parameters have no names, for a class
        and for a generator.
        """
        _checked(name)
        options = Options(
            queue=self._default_queue if queue is None else queue,
            timeout=timeout,
            retry=retry,
            priority=priority,
            retain=retain,
            unique=unique,
            unique_for=unique_for,
            key=key,
            expires_in=expires_in,
        )
        return _Decorator(self, name, options.checked(name), schedule)

    def named(self, name: str, *, queue: str | None = None) -> JobType[..., Any]:
        """Return a job of which this program knows only the name: its handler is elsewhere.

        It takes any arguments, by name.
        """
        options = Options(queue=self._default_queue if queue is None else queue)
        return JobType(self, _checked(name), None, options, Options())

    def schedule(self, name: str, job: NewJob[Any], rule: Rule) -> None:
        """Add this job at the times of a rule, once for each time however many workers there are.

        The workers of these jobs store it when they start, in the queue of the job, for the program
        that their option `deployment` names; what it has declared before and does not any more is
        removed there. `name` is its own in the queue, 1 to 128 bytes.

        >>> jobs = Jobs()
        >>> @jobs.job("report", schedule=Cron("0 4 * * *"))
        ... def report(city: str = "all") -> None: ...
        >>> jobs.schedule("report of berlin", report.new("berlin"), Every(600))
        >>> with leaseq.connect("memory:") as client:
        ...     exit = Worker(client, jobs, deployment=("reports", 1)).run_until_idle()
        ...     [schedule.name for schedule in client.queue("default").schedules()]
        ['report', 'report of berlin']
        """
        if any(one.name == name and one.job.queue == job.queue for one in self._schedules):
            raise InvalidError(f"schedule {name!r} of queue {job.queue} is declared twice")
        self._schedules.append(Declared(name, job, rule))

    def enqueue(self, client: _blocking.Client, job: NewJob[R]) -> JobRef[R]:
        """Add a job that was made by `JobType.new`, with those that follow it.

        >>> jobs = Jobs()
        >>> @jobs.job("load")
        ... def load(rows: int) -> int:
        ...     return rows * 2
        >>> @jobs.job("report")
        ... def report(job: Job) -> None:
        ...     print("loaded", job.previous(int))
        >>> with leaseq.connect("memory:") as client:
        ...     ref = jobs.enqueue(client, load.new(21).then(report.new()))
        ...     exit = Worker(client, jobs).run_until_idle()
        loaded 42
        """
        return add(client, [job], self)[0]

    async def aenqueue(self, client: asyncio.Client, job: NewJob[R]) -> AsyncJobRef[R]:
        """Do the same for asyncio."""
        return (await aadd(client, [job], self))[0]

    def enqueue_many(self, client: _blocking.Client, jobs: Iterable[NewJob[R]]) -> list[JobRef[R]]:
        """Add many jobs, which may be of several types; the references are in their order.

        Jobs of a queue are added in batches of up to 1,000, each of which is one atomic step. If
        any is invalid, none is added; after another error, some may have been added.
        """
        return add(client, jobs, self)

    async def aenqueue_many(
        self, client: asyncio.Client, jobs: Iterable[NewJob[R]]
    ) -> list[AsyncJobRef[R]]:
        """Do the same for asyncio."""
        return await aadd(client, jobs, self)

    def enqueue_group(
        self,
        client: _blocking.Client,
        id: ItemId,  # noqa: A002 - the word for it
        jobs: Iterable[NewJob[R]],
        *,
        queue: str | None = None,
        then: Sequence[NewJob[Any]] = (),
        on_success: Sequence[NewJob[Any]] = (),
        on_failure: Sequence[NewJob[Any]] = (),
        on_end: Sequence[NewJob[Any]] = (),
    ) -> JobGroupRef[R]:
        """Add a group of 1 to 100,000 jobs, and what follows when all of them have ended.

        `then` is a chain that begins when all have succeeded; the others are as those of `NewJob`.
        `on_failure`: all have ended, and one has not succeeded. What follows gets the id of the
        group as `previous_id`. `queue` has the group; default: that of its first job. A job without
        an id of its own gets that of the group with `/` and its place, counted from 0.

        May be repeated after an error, or after the program was killed: what was added before
        stays, and a member that has ended is not added again. Until all of this is done, nothing
        follows the group; if nobody completes it, it is forgotten a day after its last change. A
        job that is not added, because another one has its id or its unique key, counts as ended
        without success. Raises `InvalidError` also for a group that was added with another number
        of jobs.

        >>> jobs = Jobs()
        >>> @jobs.job("page")
        ... def page(number: int) -> None: ...
        >>> @jobs.job("bind")
        ... def bind(job: Job) -> None:
        ...     print("all of", job.previous_id)
        >>> with leaseq.connect("memory:") as client:
        ...     pages = [page.new(number) for number in range(3)]
        ...     added = jobs.enqueue_group(client, "book", pages, then=[bind.new()])
        ...     exit = Worker(client, jobs).run_until_idle()
        all of book
        """
        ends = (then, on_success, on_failure, on_end)
        return add_group(client, JobGroup(self, id, jobs, queue, ends), self)

    async def aenqueue_group(
        self,
        client: asyncio.Client,
        id: ItemId,  # noqa: A002 - the word for it
        jobs: Iterable[NewJob[R]],
        *,
        queue: str | None = None,
        then: Sequence[NewJob[Any]] = (),
        on_success: Sequence[NewJob[Any]] = (),
        on_failure: Sequence[NewJob[Any]] = (),
        on_end: Sequence[NewJob[Any]] = (),
    ) -> AsyncJobGroupRef[R]:
        """Do the same for asyncio."""
        ends = (then, on_success, on_failure, on_end)
        return await aadd_group(client, JobGroup(self, id, jobs, queue, ends), self)

    def around_enqueue(self, middleware: EnqueueMiddleware) -> EnqueueMiddleware:
        """Do this around every enqueue; the first one is the outermost. Can be a decorator.

        `middleware` gets the jobs to add, may change their `meta`, and returns a context manager.
        """
        self._around_enqueue.append(middleware)
        return middleware

    def around_handler(self, middleware: Middleware) -> Middleware:
        """Do this around every handler of these jobs, in every worker that runs them.

        The first one is the outermost; those of a worker are around them. Can be a decorator.
        `middleware` gets the `Job`, and returns a context manager.

        >>> jobs = Jobs()
        >>> from contextlib import contextmanager
        >>> @jobs.around_handler
        ... @contextmanager
        ... def session(job):
        ...     print("begin", job.name)
        ...     yield
        ...     print("end")
        """
        self._around_handler.append(middleware)
        return middleware

    def around_process(self, middleware: ProcessMiddleware) -> ProcessMiddleware:
        """Do this once in each process that runs handlers of these jobs. Can be a decorator.

        `middleware` returns a context manager. It is entered when a worker starts, or a child
        process, before the first handler runs; and left when it has ended in order, in the
        reverse order: not if it is killed, or while a handler still runs that did not end in time.
        What it raises when it is entered ends the start of the worker. An asynchronous one is
        entered in the event loop in which `async def` handlers run.

        >>> jobs = Jobs()
        >>> from contextlib import contextmanager
        >>> @jobs.around_process
        ... @contextmanager
        ... def pool():
        ...     global connections
        ...     connections = ["a pool"]
        ...     yield
        ...     connections.clear()
        """
        self._around_process.append(middleware)
        return middleware

    def _register(
        self, name: str, function: Callable[..., Any], options: Options
    ) -> JobType[..., Any]:
        if _checked(name) in self._types:
            raise InvalidError(f"job {name} has two handlers")
        check_handler(name, function)
        made: JobType[..., Any] = JobType(self, name, function, options, Options())
        self._types[name] = made
        return made


def _checked(name: str) -> str:
    if not isinstance(name, str):
        # As `@jobs.job` would be without a name.
        raise TypeError(f'a job has a name, as in @jobs.job("mail.send"), not {name!r}')
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise InvalidError(f"the name of a job, {name!r}, is no text: {error}") from None
    if not 1 <= size <= MAX_NAME:
        raise InvalidError(f"the name of a job has {size} bytes, not between 1 and {MAX_NAME}")
    return name
