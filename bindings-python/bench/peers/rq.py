"""RQ, with a SimpleWorker: its notes on performance call that the fast one, for short jobs."""

from __future__ import annotations

import time

from redis import Redis
from rq import Queue

from peers.program import process
from peers.shape import BATCH, DATA, URL, Rates, one_by_one
from peers.tally import handle

PACKAGE = "rq"
ADDING, WORKING = "one at a time", "2 workers"
HOW = "SimpleWorker in a worker pool for two cores, results not kept"


def measure(items: int) -> Rates:
    queue = Queue("bench", connection=Redis.from_url(URL))
    begun = time.perf_counter()
    for _ in range(items // BATCH):
        jobs = [Queue.prepare_data(handle, [DATA], result_ttl=0) for _ in range(BATCH)]
        queue.enqueue_many(jobs)
    bulk = items / (time.perf_counter() - begun)
    queue.empty()
    add = one_by_one(items, lambda: queue.enqueue(handle, DATA, result_ttl=0))
    command = ["rq", "worker-pool", "bench", "--url", URL, "--num-workers", "2", "--quiet"]
    command += ["--worker-class", "rq.worker.SimpleWorker"]
    rate = process(items, command)
    assert len(queue) == 0
    return {"add": add, "process": rate, f"add by {BATCH}": bulk}
