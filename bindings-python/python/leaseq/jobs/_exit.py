"""How a worker ends, and the process with it."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

if TYPE_CHECKING:
    from .._leaseq import JobWorker

CLOSING = 1.0
"""How long the client may take to finish its requests when the process ends, in seconds."""
ExitReason = Literal["drained", "idle", "max_jobs", "hung", "aborted", "failed"]


@dataclass(frozen=True)
class Exit:
    """How a worker has ended."""

    reason: ExitReason
    """`drained`: it was asked to. `idle`: it was a burst, and there was nothing more to lease.
    `max_jobs`: it has started as many jobs as it may. `hung`: too many handlers did not return, so
    a supervisor should start a new worker. `aborted`: a third signal has ended it."""
    started: int
    """How many jobs it has started."""
    running: int
    """How many handlers still ran when it ended."""
    status: int
    """For the process: 0, or 3 if a burst found nothing to do, or 1 if something is wrong."""


def exit_of(worker: JobWorker) -> Exit:
    """Return how a worker has ended. Raises what has made it fail."""
    reason, started, running, status, _, error = worker.exit()
    if error is not None:
        raise error
    return Exit(reason, started, running, status)


def end_process(status: int) -> NoReturn:
    """End the process, and with it the handlers that cannot be stopped."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with contextlib.suppress(Exception):
        logging.shutdown()
    os._exit(status)
