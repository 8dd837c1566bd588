"""arq, with its worker beside the benchmark's own event loop."""

from __future__ import annotations

import asyncio
import time

from arq import create_pool, func
from arq.connections import RedisSettings
from arq.worker import Worker

from peers.shape import AT_ONCE, DATA, URL, Rates, at_once

PACKAGE = "arq"
ADDING = WORKING = f"{AT_ONCE} at once"
HOW = "with hiredis, results not kept, polling every ms; one process"


async def run(items: int) -> Rates:
    settings = RedisSettings.from_dsn(URL)
    settings.max_connections = AT_ONCE + 10
    pool = await create_pool(settings)

    async def add(count: int) -> None:
        for _ in range(count):
            await pool.enqueue_job("noop", DATA)

    added = await at_once(items, add)
    seen, done = 0, asyncio.Event()

    async def noop(_: object, data: str) -> None:
        nonlocal seen
        seen += 1
        if seen == items:
            done.set()

    worker = Worker(
        [func(noop, name="noop", keep_result=0)],
        redis_pool=pool,
        max_jobs=AT_ONCE,
        poll_delay=0.001,
        handle_signals=False,
    )
    begun = time.perf_counter()
    running = asyncio.create_task(worker.main())
    await done.wait()
    rate = items / (time.perf_counter() - begun)
    running.cancel()
    # It passes on that its last jobs were cancelled.
    await asyncio.gather(running, worker.close(), return_exceptions=True)
    assert seen == items
    return {"add": added, "process": rate}


def measure(items: int) -> Rates:
    return asyncio.run(run(items))
