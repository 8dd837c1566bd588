"""What a worker is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._values import Seconds
from ..exceptions import InvalidError
from ._jobs import Jobs, JobType
from ._retry import seconds
from ._run import Middleware, Runner


class Settings:
    """The options of a worker, checked as far as Python knows them."""

    def __init__(
        self,
        jobs: Jobs | Iterable[Jobs],
        queues: Mapping[str, int] | Iterable[str] | None,
        *,
        slots: int | None,
        strict_order: bool,
        lease: Seconds | None,
        kill_after: Seconds | None,
        grace: Seconds,
        max_jobs: int | None,
        burst: bool,
        middleware: Sequence[Middleware],
    ) -> None:
        handlers: dict[str, JobType[..., Any]] = {}
        for kind in (kind for one in _several(jobs) for kind in one):
            if handlers.setdefault(kind.name, kind) is not kind:
                raise InvalidError(f"job {kind.name} has two handlers")
        if queues is None:
            queues = dict.fromkeys((kind._queue for kind in handlers.values()), 1)
        elif isinstance(queues, str):
            raise TypeError("queues are a dict of weights or a list of names, not a str")
        elif not isinstance(queues, Mapping):
            queues = dict.fromkeys(queues, 1)
        self.grace = seconds(grace)
        if not self.grace >= 0:
            raise InvalidError(f"a grace period of {grace} seconds is not a time from zero on")
        self.runner = Runner(handlers, middleware)
        options = ((kind.name, kind._defaults) for kind in handlers.values())
        self._native = {
            "queues": list(queues.items()),
            "strict": strict_order,
            "jobs": [(name, one.timeout, one.retry) for name, one in options],
            "slots": slots,
            "lease": lease,
            "kill_after": kill_after,
            "max_jobs": max_jobs,
        }
        self._burst = burst

    def native(self, *, burst: bool = False, owns_process: bool = False) -> dict[str, Any]:
        """Return the options for the native worker."""
        return {**self._native, "burst": burst or self._burst, "owns_process": owns_process}


def _several(jobs: Jobs | Iterable[Jobs]) -> Iterable[Jobs]:
    return (jobs,) if isinstance(jobs, Jobs) else jobs
