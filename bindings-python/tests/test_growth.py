"""Nothing grows over many cycles: neither memory nor the number of open files."""

import asyncio
import gc
import os
from pathlib import Path

import pytest

import leaseq

# `make nightly` runs 200,000.
CYCLES = int(os.environ.get("LEASEQ_CYCLES", "50000"))
BATCH = 100
# What an allocator may keep, and a cache may fill; 200 bytes a cycle are 10 MB in 50,000 cycles.
MOST = 8 << 20
# Connections that are opened at first need, or anew: the first wait may come late.
FILES = 2


def memory():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def files():
    return len(os.listdir("/proc/self/fd"))


def grows(once):
    """Bytes and files by which the process grows when `once`, which does BATCH cycles, repeats."""
    rounds = CYCLES // BATCH
    for _ in range(rounds // 4):
        once()
    before, open_before = memory(), files()
    for _ in range(rounds - rounds // 4):
        once()
    return memory() - before, files() - open_before


@pytest.fixture
def url(tmp_path, request):
    return request.getfixturevalue("redis_url") if request.param == "redis" else "memory:"


@pytest.mark.parametrize("url", ["memory", "redis"], indirect=True)
def test_blocking(url):
    with leaseq.connect(url) as client:
        queue = client.queue("q")

        def once():
            assert all(queue.add_items([b"x" * 100] * (BATCH - 5)))
            for _ in range(5):
                queue.add_item(leaseq.Item("x"))
            leases = queue.lease_many(BATCH - 5, 30)
            assert leases[0].data
            assert all(queue.complete_many(leases))
            for lease in queue.leases(30, wait=0):
                with lease:
                    pass
            try:
                queue.complete_many(leases, strict=True)
                queue.extend(leases[0], 30)
            except leaseq.LeaseLostError:
                pass

        grown, opened = grows(once)
    assert (grown < MOST, opened <= FILES) == (True, True), (grown, opened)


@pytest.mark.parametrize("url", ["memory", "redis"], indirect=True)
def test_asyncio(url):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")

            async def cycle():
                await queue.add_item(b"x" * 100)
                async with await queue.lease(30):
                    pass

            async def cancelled():
                task = asyncio.create_task(client.queue("empty").lease(30))
                await asyncio.sleep(0)
                task.cancel()

            async def batch():
                await asyncio.gather(*(cycle() for _ in range(BATCH)), cancelled())

            loop = asyncio.get_running_loop()
            return await asyncio.to_thread(
                grows, lambda: asyncio.run_coroutine_threadsafe(batch(), loop).result()
            )

    grown, opened = asyncio.run(main())
    assert (grown < MOST, opened <= FILES) == (True, True), (grown, opened)


def test_clients_and_loops_leave_nothing(tmp_path):
    def once():
        async def main():
            async with await leaseq.asyncio.connect(f"sqlite:{tmp_path}/q.db") as client:
                assert await client.queues() == []

        asyncio.run(main())
        leaseq.connect("memory:").queue("q").close()

    for _ in range(20):
        once()
    before, open_before = memory(), files()
    for _ in range(100):
        once()
    gc.collect()
    assert (memory() - before < MOST, files() <= open_before + FILES) == (True, True)
