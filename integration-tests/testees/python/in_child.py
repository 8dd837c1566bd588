"""The jobs of a worker whose handlers run in children, which import a module with its request."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "children"))

import harm
from notes import Notes

import working
from leaseq.jobs import Job, Jobs


class ChildNotes(Notes):
    """The notes of one run, which may harm its process."""

    def other(self, job: Job, step: str, value: Any) -> None:
        getattr(harm, f"step_{step}")(Harmed(job, self), value)


class Harmed:
    """A run as `harm` knows it: what it says goes past the library."""

    def __init__(self, job: Job, notes: Notes) -> None:
        self._task: Any = job._task
        self.id, self.notes = job.id, notes
        self.worker, self.cancellation = self, self

    @property
    def socket(self) -> Any:
        return self._task._connection._socket

    @property
    def reason(self) -> str | None:
        return self._task.cancel_reason

    def send(self, **message: object) -> None:
        self._task._connection.send(task=self._task.number, **message)


def jobs_of(request: working.Request, environment: dict[str, str]) -> Jobs:
    """Return the jobs of a worker, unless children are not to start for now."""
    os.environ.update(environment)
    if os.path.exists(os.environ.get("LEASEQ_TESTEE_NO_STARTS", "")):
        sys.exit("no starts for now")
    return working.jobs_of(request, ChildNotes)
