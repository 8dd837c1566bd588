"""Celery, as its page on optimizing says for many short tasks."""

from __future__ import annotations

from celery import Celery
from redis import Redis

from peers.program import process
from peers.shape import DATA, URL, Rates, one_by_one
from peers.tally import handle

PACKAGE = "celery"
ADDING, WORKING = "one at a time", "2 processes"
HOW = "prefork, prefetch multiplier 128, results ignored, no events, gossip or heartbeat"

app = Celery("bench", broker=URL)
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=128,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
)
noop = app.task(handle, name="noop")


def measure(items: int) -> Rates:
    with app.producer_pool.acquire(block=True) as producer:
        add = one_by_one(items, lambda: noop.apply_async((DATA,), producer=producer))
    command = ["celery", "-A", "peers.celery", "worker", "--pool", "prefork", "--concurrency", "2"]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    command += ["--loglevel", "error"]
    rate = process(items, command)
    assert not Redis.from_url(URL).llen("celery")
    return {"add": add, "process": rate}
