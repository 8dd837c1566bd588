"""What a worker is told."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from .._leaseq import JobTask
from .._values import Seconds
from ..exceptions import InvalidError
from ._around import Around
from ._context import Middleware
from ._job_events import OnEvent
from ._job_type import JobType
from ._jobs import Jobs
from ._load import load
from ._retry import seconds
from ._run import Runner
from ._schedules import deployment_of


@dataclass(frozen=True)
class Throttle:
    """When a worker leases nothing because the machine is short of something.

    Each is a high and a low mark in percent: from the high one on nothing is leased, until it is
    below the low one. Handlers that run go on. Without a `Throttle`, a worker reads the variables
    `LEASEQ_THROTTLE_MEMORY`, `LEASEQ_THROTTLE_SWAP` and `LEASEQ_THROTTLE_GPU` (`90:80`), and
    `LEASEQ_GPU_COMMAND`.

    >>> Throttle(memory=(90, 80), swap=(70, 60)).memory
    (90, 80)
    """

    memory: tuple[int, int] | None = None
    """That of the cgroup if it is limited, otherwise of the machine."""
    swap: tuple[int, int] | None = None
    """That of the cgroup if it is limited, otherwise of the machine."""
    gpu: tuple[int, int] | None = None
    """The fullest memory of the GPUs."""
    gpu_command: Sequence[str] = ()
    """A program and its arguments, which prints a percentage for each GPU; default: nvidia-smi."""


class WorkerOptions(TypedDict, total=False):
    """Options that workers of every kind have: see `Worker`."""

    queues: Mapping[str, int] | Iterable[str] | None
    strict_order: bool
    prefetch: int | None
    lease: Seconds | None
    kill_after: Seconds | None
    grace: Seconds
    max_jobs: int | None
    burst: bool
    cooldown: Seconds | None
    stagger: Seconds | None
    name: str | None
    throttle: Throttle | None
    middleware: Sequence[Middleware]
    deployment: tuple[str, int] | None
    on_event: OnEvent | None


NATIVE = (
    "prefetch",
    "lease",
    "kill_after",
    "max_jobs",
    "cooldown",
    "stagger",
    "name",
    "throttle",
)


class Settings:
    """The options of a worker, checked as far as Python knows them.

    `children` is how child processes are started, for the native worker; then nothing runs here.
    """

    def __init__(
        self,
        jobs: Jobs | Iterable[Jobs] | str,
        slots: int | None,
        options: WorkerOptions,
        children: dict[str, Any] | None = None,
    ) -> None:
        for name in options:
            if name not in WorkerOptions.__annotations__:
                raise TypeError(f"a worker has no option {name!r}")
        grace = options.get("grace", 25)
        self.grace = seconds(grace)
        if not self.grace >= 0:
            raise InvalidError(f"a grace period of {grace} seconds is not a time from zero on")
        if not isinstance(jobs, (Jobs, str)):
            jobs = tuple(jobs)  # an iterator can be read only once
        middleware = tuple(options.get("middleware", ()))
        for one in middleware:
            if not callable(one):
                raise TypeError(f"middleware is called, and {one!r:.100} is no function")
        handlers: dict[str, JobType[..., Any]] = {}
        if children is None:
            handlers = handlers_of(jobs)
        elif middleware:
            raise InvalidError(
                "the middleware of a worker does not reach its child processes: "
                "use the decorator around_handler of Jobs"
            )
        self.on_event = options.get("on_event")
        if self.on_event is not None and not callable(self.on_event):
            raise TypeError(f"on_event is called, and {self.on_event!r:.100} is no function")
        if inspect.iscoroutinefunction(self.on_event):
            raise TypeError("on_event is called, not awaited: give it a plain function")
        tells = self.on_event is not None
        self.runner = Runner(handlers, middleware, begin=JobTask.begun if tells else None)
        self.around = Around(handlers)
        declared = ((kind.name, kind._defaults) for kind in handlers.values())
        self._native: dict[str, Any] = {
            **{name: options.get(name) for name in NATIVE},
            "queues": _weights(options.get("queues"), handlers),
            "strict": options.get("strict_order", False),
            "jobs": [(name, one.timeout, one.retry) for name, one in declared],
            "slots": slots,
            "children": children,
            "events": tells,
            "deployment": self._deployment(jobs, options.get("deployment"), children is not None),
        }
        self._burst = options.get("burst", False)
        self.in_children = children is not None

    def _deployment(
        self,
        jobs: Jobs | Iterable[Jobs] | str,
        deployment: tuple[str, int] | None,
        in_children: bool,
    ) -> object:
        if isinstance(jobs, str):
            # What runs in children is imported here only if it is needed.
            if in_children and deployment is None:
                return None
            jobs = load(jobs)
        return deployment_of(deployment, _several(jobs))

    def native(self, *, burst: bool = False, owns_process: bool = False) -> dict[str, Any]:
        """Return the options for the native worker."""
        return {**self._native, "burst": burst or self._burst, "owns_process": owns_process}


def handlers_of(jobs: Jobs | Iterable[Jobs] | str) -> dict[str, JobType[..., Any]]:
    """Return the jobs by their names."""
    if isinstance(jobs, str):
        jobs = load(jobs)
    handlers: dict[str, JobType[..., Any]] = {}
    for kind in (kind for one in _several(jobs) for kind in one):
        if handlers.setdefault(kind.name, kind) is not kind:
            raise InvalidError(f"job {kind.name} has two handlers")
    return handlers


def _weights(
    queues: Mapping[str, int] | Iterable[str] | None, handlers: dict[str, JobType[..., Any]]
) -> list[tuple[str, int]]:
    if queues is None:
        queues = dict.fromkeys(kind._queue for kind in handlers.values())
    elif isinstance(queues, str):
        raise TypeError("queues are a dict of weights or a list of names, not a str")
    elif isinstance(queues, Mapping):
        return list(queues.items())
    return [(name, 1) for name in queues]


def _several(jobs: Jobs | Iterable[Jobs]) -> Iterable[Jobs]:
    return (jobs,) if isinstance(jobs, Jobs) else jobs
