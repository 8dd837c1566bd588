"""The jobs that are measured: they do nothing."""

from __future__ import annotations

from peers.tally import handle

from leaseq.jobs import Jobs

jobs = Jobs(queue="bench")


@jobs.job("noop")
def noop(data: str) -> None:
    """Do nothing."""
    handle(data)


@jobs.job("anoop")
async def anoop(data: str) -> None:
    """Do nothing, in an event loop."""
    handle(data)
