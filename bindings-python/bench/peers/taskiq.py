"""taskiq on Redis streams, which its documentation names first: with acknowledgements."""

from __future__ import annotations

import asyncio

from taskiq_redis import RedisStreamBroker

from peers.program import process
from peers.shape import AT_ONCE, DATA, URL, Rates, at_once
from peers.tally import handle_async

PACKAGE = "taskiq"
ADDING, WORKING = f"{AT_ONCE} at once", f"2 processes × {AT_ONCE} at once"
HOW = "RedisStreamBroker, uvloop, two workers (its default), no results"

broker = RedisStreamBroker(URL)
noop = broker.register_task(handle_async, task_name="noop")


async def add(items: int) -> float:
    await broker.startup()

    async def some(count: int) -> None:
        for _ in range(count):
            await noop.kiq(DATA)

    rate = await at_once(items, some)
    await broker.shutdown()
    return rate


def measure(items: int) -> Rates:
    added = asyncio.run(add(items))
    command = ["taskiq", "worker", "peers.taskiq:broker", "--workers", "2"]
    command += ["--max-async-tasks", str(AT_ONCE), "--max-prefetch", str(AT_ONCE)]
    command += ["--log-level", "ERROR"]
    return {"add": added, "process": process(items, command)}
