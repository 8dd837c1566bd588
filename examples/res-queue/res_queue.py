"""An in-process job queue: one program that produces and works, without a server.

Jobs are deduplicated by their id, also for 30 s after they have ended. Nothing starts while the
machine is short of memory, swap or GPU memory. `python res_queue.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import leaseq
from leaseq.jobs import Jobs, Throttle, Worker

jobs = Jobs(queue="rules")
THROTTLE = Throttle(memory=(90, 80), gpu=(85, 75), swap=(70, 60))


@jobs.job("rule", timeout=3600, retain=30)  # "recently processed" for 30 s
def rule(name: str) -> None:
    """Process a rule."""
    print("processing", name, flush=True)


def produce(client: leaseq.Client, ready: Iterable[str]) -> list[str]:
    """Add the rules that are ready; return those that were not there already."""
    return [name for name in ready if rule.using(id=name).enqueue(client, name).added]


def statistics(client: leaseq.Client) -> dict[str, list[str]]:
    """Return the ids of queued and active rules, and the names of live workers."""
    queue = client.queue("rules")
    return {
        "queued": [item.id for item in queue.list(leaseq.State.READY).items],
        "active": [item.id for item in queue.list(leaseq.State.LEASED).items],
        "workers": [worker["name"] for worker in client.workers(queue="rules")["workers"]],
    }


def is_throttled(client: leaseq.Client) -> bool:
    """Return whether a worker has said within 10 s that it leases nothing."""
    return any(worker["throttled"] for worker in client.workers(queue="rules")["workers"])


def run(
    client: leaseq.Client,
    find: Callable[[], Iterable[str]],
    stop: threading.Event,
    *,
    every: float = 60,
    first_after: float = 15,
    stagger: float = 1,
    cooldown: float = 10,
) -> None:
    """Produce and work until `stop` is set."""
    if stop.wait(first_after):
        return
    # 90 % of the processors, at least 10 threads.
    with Worker(client, jobs, stagger=stagger, cooldown=cooldown, throttle=THROTTLE):
        while True:
            if not is_throttled(client):
                produce(client, find())
            if stop.wait(every):
                return


if __name__ == "__main__":
    with leaseq.connect("memory:") as client:
        run(client, lambda: ["clean", "report"], threading.Event())
