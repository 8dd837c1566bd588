"""redis-work-queue, which has one call for each operation."""

from __future__ import annotations

import time

from redis import Redis
from redis_work_queue import Item, KeyPrefix, WorkQueue

from peers.shape import DATA, LEASE, URL, Rates, one_by_one

PACKAGE = "redis-work-queue"
ADDING = WORKING = "one at a time"
HOW = "with hiredis; one process"


def measure(items: int) -> Rates:
    server = Redis.from_url(URL)
    queue = WorkQueue(KeyPrefix("bench"))
    data = DATA.encode()
    add = one_by_one(items, lambda: queue.add_item(server, Item(data)))
    begun = time.perf_counter()
    for _ in range(items):
        item = queue.lease(server, int(LEASE), block=False)
        assert item is not None
        assert queue.complete(server, item)
    process = items / (time.perf_counter() - begun)
    assert queue.queue_len(server) == 0
    return {"add": add, "process": process}
