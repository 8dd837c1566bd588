"""What happens to jobs, for a function of the program."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

log = logging.getLogger("leaseq.jobs")


@dataclass(frozen=True)
class JobEvent:
    """A handler has started, or it has ended and its job is settled."""

    kind: Literal["started", "ended"]
    name: str
    """The name of the job."""
    queue: str
    """The name of its queue."""
    id: str
    """The id of its item."""
    attempt: int
    """1 for the first attempt."""
    max_attempts: int
    """How many attempts the job has."""
    generation: int
    """Numbers the lives of the id: see `Job.generation`."""
    meta: dict[str, str]
    """What producers have attached."""
    outcome: (
        Literal["completed", "retried", "dead", "released", "cancelled", "lost", "uncertain"] | None
    ) = None
    """What has become of the job, for `ended`. `released`: it runs again, and the attempt does not
    count. `lost`: another worker has it, or it has ended otherwise. `uncertain`: the answer of the
    queue was lost, and the lease has ended since."""
    duration: float | None = None
    """How long the handler ran, in seconds, for `ended`."""
    error: str | None = None
    """Class, message and the end of the traceback, for `retried` and `dead`."""


OnEvent: TypeAlias = Callable[[JobEvent], object]


def tell(on_event: OnEvent, events: Iterable[tuple[Any, ...]]) -> None:
    """Tell the function of the program. What it raises is logged."""
    for fields in events:
        event = JobEvent(*fields)
        try:
            on_event(event)
        except Exception:
            log.exception(
                "on_event has raised: queue %s, job %s, item %r", event.queue, event.name, event.id
            )
