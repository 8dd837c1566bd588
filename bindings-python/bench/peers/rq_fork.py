"""RQ, with its default worker, which forks for each job."""

from __future__ import annotations

from redis import Redis
from rq import Queue

from peers.program import process
from peers.shape import DATA, URL, Rates, one_by_one
from peers.tally import handle

PACKAGE = "rq"
ADDING, WORKING = "one at a time", "2 workers"
HOW = "its default worker in a worker pool for two cores, results not kept"


def measure(items: int) -> Rates:
    queue = Queue("bench", connection=Redis.from_url(URL))
    add = one_by_one(items, lambda: queue.enqueue(handle, DATA, result_ttl=0))
    command = ["rq", "worker-pool", "bench", "--url", URL, "--num-workers", "2", "--quiet"]
    rate = process(items, command)
    assert len(queue) == 0
    return {"add": add, "process": rate}
