"""Jobs that are added at certain times, declared beside their handlers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .._values import Schedule, Seconds
from ..exceptions import InvalidError

if TYPE_CHECKING:
    from ._enqueue import NewJob
    from ._jobs import Jobs


@dataclass(frozen=True)
class _Rule:
    missed: Literal["skip", "one"] | int = field(default="one", kw_only=True)
    """What is added for times at which nobody was there: nothing, one job for all of them, or a job
    for each of at most so many."""
    grace: Seconds | None = field(default=None, kw_only=True)
    """How late a time may be noticed before it is missed; default: 60 s, or the time to the next
    one if that is shorter."""
    overlap: bool = field(default=False, kw_only=True)
    """Whether a job is added although the last one of the schedule has not ended."""


@dataclass(frozen=True)
class Cron(_Rule):
    """At the times of an expression: five fields, or six with a second first.

    >>> Cron("0 9 * * mon-fri", zone="Europe/Berlin").overlap
    False
    """

    expression: str
    zone: str | None = None
    """The time zone, by its IANA name; default: UTC."""

    def _when(self) -> dict[str, Any]:
        return {"cron": self.expression, "zone": self.zone}


@dataclass(frozen=True)
class Every(_Rule):
    """After each interval, 100 ms to 366 days; the first begins when a worker first declares it."""

    interval: Seconds

    def _when(self) -> dict[str, Any]:
        return {"every": self.interval}


Rule = Cron | Every


@dataclass(frozen=True)
class Declared:
    """A schedule of some `Jobs`."""

    name: str
    job: NewJob[Any]
    rule: Rule

    def native(self) -> tuple[str, Schedule]:
        """Return its queue, and what is stored there. Raises `InvalidError`."""
        rule = self.rule
        how: dict[str, Any] = {name: getattr(rule, name) for name in ("missed", "grace", "overlap")}
        return self.job.queue, Schedule(self.name, self.job.item(), **rule._when(), **how)


def deployment_of(
    deployment: tuple[str, int] | None, jobs: Iterable[Jobs]
) -> tuple[str, int, list[tuple[str, Schedule]]] | None:
    """Return whose schedules a worker stores, and all that its jobs declare."""
    declared = [schedule for one in jobs for schedule in one._schedules]
    if deployment is None:
        if declared:
            raise InvalidError(
                f"schedule {declared[0].name!r} has no owner: give the worker "
                "deployment=(program, revision), from the shell --deployment PROGRAM:REVISION"
            )
        return None
    owner, revision = deployment
    return owner, revision, [schedule.native() for schedule in declared]
