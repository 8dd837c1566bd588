"""How child processes are started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from .._values import Seconds
from ..exceptions import InvalidError
from ._jobs import Jobs
from ._load import spec_of
from ._logging import log_level

if TYPE_CHECKING:
    from ._settings import WorkerOptions

Isolation: TypeAlias = Literal["thread", "process", "job", "fork"]
"""Where handlers run: see `Worker`."""

# The path of this program first: what it can import, its children can.
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[-1])['path']; "
    "from leaseq.jobs._child import main; main()"
)


class Children:
    """Options for child processes."""

    def __init__(
        self,
        processes: int | None,
        isolation: Isolation | None,
        max_jobs_per_child: int | None,
        max_memory_per_child: int | None,
        memory_limit: int | None,
        start_timeout: Seconds | None,
    ) -> None:
        if isolation is None:
            isolation = "thread" if processes is None else "process"
        if isolation not in get_args(Isolation):
            known = ", ".join(get_args(Isolation))
            raise InvalidError(f"isolation {isolation!r} is not one of {known}")
        only = {
            "processes": processes,
            "max_jobs_per_child": max_jobs_per_child,
            "max_memory_per_child": max_memory_per_child,
            "memory_limit": memory_limit,
            "start_timeout": start_timeout,
        }
        given = [name for name, value in only.items() if value is not None]
        if isolation == "thread" and given:
            raise InvalidError(f"{given[0]} is for isolation in processes, not in threads")
        if isolation == "job":
            if max_jobs_per_child not in (None, 1):
                raise InvalidError("with isolation='job', a child runs one job")
            max_jobs_per_child = 1
        self.isolation = isolation
        self.slots = processes or len(os.sched_getaffinity(0)) if isolation != "thread" else None
        self._options: dict[str, Any] = {
            "max_jobs": max_jobs_per_child,
            "max_memory": max_memory_per_child,
            "memory_limit": memory_limit,
            "start_timeout": start_timeout,
        }

    def native(
        self, jobs: Jobs | Iterable[Jobs] | str, options: WorkerOptions
    ) -> dict[str, Any] | None:
        """Return the options for the native worker; `None`: there are no children."""
        if self.isolation == "thread":
            return None
        told = {
            "path": [os.path.abspath(entry) for entry in sys.path],
            "jobs": spec_of(jobs),
            "deploys": options.get("deployment") is not None,
            "forks": self.isolation == "fork",
            "log_level": log_level(),
        }
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *flags, "-c", PROGRAM, json.dumps(told)]
        return {**self._options, "command": command}
