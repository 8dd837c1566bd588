"""Dramatiq, with its own worker program."""

from __future__ import annotations

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from peers.program import process
from peers.shape import DATA, URL, Rates, one_by_one
from peers.tally import handle

PACKAGE = "dramatiq"
ADDING, WORKING = "one at a time", "2 processes × 8 threads"
HOW = "a process for each core, 8 threads: its defaults; no results"

broker = RedisBroker(url=URL)
dramatiq.set_broker(broker)
noop = dramatiq.actor(handle)


def measure(items: int) -> Rates:
    add = one_by_one(items, lambda: noop.send(DATA))
    command = ["dramatiq", "peers.dramatiq", "--processes", "2", "--threads", "8"]
    rate = process(items, command)
    assert not broker.client.llen("dramatiq:default")
    return {"add": add, "process": rate}
