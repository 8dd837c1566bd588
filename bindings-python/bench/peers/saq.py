"""SAQ, with its worker beside the benchmark's own event loop."""

from __future__ import annotations

import asyncio
import time

from saq import Queue, Worker

from peers.shape import AT_ONCE, DATA, URL, Rates, at_once

PACKAGE = "saq"
ADDING = WORKING = f"{AT_ONCE} at once"
HOW = "with hiredis, results not kept; one process"


async def run(items: int) -> Rates:
    queue = Queue.from_url(URL)
    await queue.connect()

    async def add(count: int) -> None:
        for _ in range(count):
            await queue.enqueue("noop", data=DATA, ttl=-1)

    added = await at_once(items, add)
    seen, done = 0, asyncio.Event()

    async def noop(_: object, *, data: str) -> None:
        nonlocal seen
        seen += 1
        if seen == items:
            done.set()

    worker = Worker(queue, [("noop", noop)], concurrency=AT_ONCE)
    begun = time.perf_counter()
    running = asyncio.create_task(worker.start())
    await done.wait()
    rate = items / (time.perf_counter() - begun)
    await worker.stop()
    await asyncio.gather(running, return_exceptions=True)
    await queue.disconnect()
    assert seen == items
    return {"add": added, "process": rate}


def measure(items: int) -> Rates:
    return asyncio.run(run(items))
