"""Huey, with its own consumer. It takes items off the queue before it handles them."""

from __future__ import annotations

from huey import RedisHuey

from peers.program import process
from peers.shape import DATA, URL, Rates, one_by_one
from peers.tally import handle

PACKAGE = "huey"
ADDING, WORKING = "one at a time", "8 threads"
HOW = "one consumer of 8 threads, results not kept, no periodic tasks"

app = RedisHuey("bench", url=URL, results=False)
noop = app.task()(handle)


def measure(items: int) -> Rates:
    add = one_by_one(items, lambda: noop(DATA))
    command = ["huey_consumer", "peers.huey.app", "--workers", "8", "--worker-type", "thread"]
    command += ["--no-periodic", "--quiet"]
    rate = process(items, command)
    assert len(app) == 0
    return {"add": add, "process": rate}
