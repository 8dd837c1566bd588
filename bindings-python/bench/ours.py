"""Runs leaseq once: `python ours.py SYSTEM URL ITEMS`; prints its rates as JSON.

It adds ITEMS items of 100 bytes, and then processes them with a handler that does nothing. What
others do in the same run is in `peers/`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from peers.program import process
from peers.shape import AT_ONCE, BATCH, DATA, LEASE, Rates, at_once

import leaseq


def with_asyncio(url: str, items: int) -> Rates:
    async def main() -> Rates:
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("bench")

            async def add(count: int) -> None:
                for _ in range(count):
                    await queue.add_item(DATA)

            async def process(_: int) -> None:
                async for lease in queue.leases(LEASE, wait=0):
                    await queue.complete(lease)

            rates = {"add": await at_once(items, add), "process": await at_once(items, process)}
            assert (await queue.counts()).totals.completed == items
            return rates

    return asyncio.run(main())


def asyncio_alone(_url: str, items: int) -> Rates:
    """The limit: tasks that await a future for each call, resolved together, without a queue."""

    async def main() -> Rates:
        loop = asyncio.get_running_loop()
        pending: list[asyncio.Future[bool]] = []

        def resolve() -> None:
            for future in pending:
                future.set_result(True)
            pending.clear()

        async def call() -> bool:
            if not pending:
                loop.call_soon(resolve)
            future: asyncio.Future[bool] = loop.create_future()
            pending.append(future)
            return await future

        async def add(count: int) -> None:
            for _ in range(count):
                await call()

        async def process(count: int) -> None:
            for _ in range(count):
                await call() and await call()

        return {"add": await at_once(items, add), "process": await at_once(items, process)}

    return asyncio.run(main())


def one_at_a_time(url: str, items: int) -> Rates:
    with leaseq.connect(url) as client:
        queue = client.queue("bench")
        begun = time.perf_counter()
        for _ in range(items):
            queue.add_item(DATA)
        added = time.perf_counter()
        while lease := queue.lease(LEASE, wait=0):
            queue.complete(lease)
        done = time.perf_counter()
        assert queue.counts().totals.completed == items
    return {"add": items / (added - begun), "process": items / (done - added)}


def with_threads(url: str, items: int) -> Rates:
    with leaseq.connect(url) as client:
        queue = client.queue("bench")

        def add(count: int) -> None:
            for _ in range(count):
                queue.add_item(DATA)

        def process(_: int) -> None:
            while lease := queue.lease(LEASE, wait=0):
                queue.complete(lease)

        def rate(work: Callable[[int], None]) -> float:
            begun = time.perf_counter()
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(work, [items // AT_ONCE] * AT_ONCE))
            return items / (time.perf_counter() - begun)

        rates = {"add": rate(add), "process": rate(process)}
        assert queue.counts().totals.completed == items
        return rates


def batches(url: str, items: int) -> Rates:
    with leaseq.connect(url) as client:
        queue = client.queue("bench")
        begun = time.perf_counter()
        for _ in range(items // BATCH):
            queue.add_items([DATA] * BATCH)
        added = time.perf_counter()
        while leases := queue.lease_many(BATCH, LEASE, wait=0):
            queue.complete_many(leases)
        done = time.perf_counter()
        assert queue.counts().totals.completed == items
    return {"add": items / (added - begun), "process": items / (done - added)}


def jobs(options: list[str], is_async: bool) -> Callable[[str, int], Rates]:
    """Jobs with handlers, by the command that users start."""

    def measure(url: str, items: int) -> Rates:
        import noop_jobs

        job = noop_jobs.anoop if is_async else noop_jobs.noop
        with leaseq.connect(url) as client:
            begun = time.perf_counter()
            noop_jobs.jobs.enqueue_many(client, (job.new(DATA) for _ in range(items)))
            added = time.perf_counter() - begun
        os.environ["LEASEQ_URL"] = url
        worker = ["python", "-m", "leaseq.jobs", "noop_jobs:jobs", "--log-level", "error"]
        return {"add": items / added, "process": process(items, [*worker, *options])}

    return measure


SYSTEMS = {
    "leaseq-asyncio": (with_asyncio, f"{AT_ONCE} at once"),
    "asyncio-alone": (asyncio_alone, f"{AT_ONCE} at once"),
    "leaseq-threads": (with_threads, f"{AT_ONCE} threads"),
    "leaseq-one": (one_at_a_time, "one at a time"),
    "leaseq-batches": (batches, f"batches of {BATCH}"),
    "jobs-asyncio": (jobs(["--concurrency", "100"], True), "100 slots"),
    "jobs-threads": (jobs(["--threads", "100"], False), "100 slots"),
    "jobs-children": (jobs(["--processes", "2", "--prefetch", "100"], False), "2 children"),
    "jobs-fork": (jobs(["--processes", "2", "--isolation", "fork"], False), "2 forks"),
}

if __name__ == "__main__":
    _, name, url, items = sys.argv
    run, concurrency = SYSTEMS[name]
    said = {
        "version": leaseq.__version__,
        "concurrency": {"add": concurrency, "process": concurrency},
        "how": "python -m leaseq.jobs" if name.startswith("jobs-") else "one process",
        "rates": run(url, int(items)),
    }
    print(json.dumps(said))
