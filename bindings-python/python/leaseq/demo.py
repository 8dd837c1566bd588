"""A worker of the demo: `python -m leaseq.demo QUEUE RESULTS LEASE_MS BATCH`.

It leases items of the queue at `LEASEQ_URL`, computes the SHA-256 of their data, notes it in the
file RESULTS, completes them, and notes the answer. It reads commands from stdin, one a line:
`rest`, `go`, `hold` and `quit`.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import sys
import threading
from typing import TextIO

import leaseq.asyncio

Orders = asyncio.Queue[str]


def read_orders(orders: Orders, loop: asyncio.AbstractEventLoop) -> None:
    """Pass on the lines of the input; its end means `quit`."""
    for line in itertools.chain(sys.stdin, ["quit"]):
        loop.call_soon_threadsafe(orders.put_nowait, line.strip())


class Worker:
    """Leases items and works on them, as its orders say."""

    def __init__(
        self, queue: leaseq.asyncio.Queue, results: TextIO, duration: float, batch: int
    ) -> None:
        self.queue = queue
        self.results = results
        self.duration = duration
        self.batch = batch

    async def follow(self, orders: Orders) -> None:
        """Follow the newest order, until it is `quit`."""
        order = "rest"
        while True:
            if order == "rest":
                print("resting", flush=True)
                order = await orders.get()
            elif order == "go":
                order = await self.go(orders)
            elif order == "hold":
                leases = await self.queue.lease_many(self.batch, self.duration)
                half = len(leases) // 2
                print("holding", len(leases) - half, flush=True)
                await self.work_on(leases[:half])
                print("quiet", flush=True)
                order = await orders.get()
                await self.work_on(leases[half:])
            else:
                return

    async def go(self, orders: Orders) -> str:
        """Work until the next order comes, and return it."""
        order = asyncio.ensure_future(orders.get())
        while not order.done():
            leasing = asyncio.ensure_future(self.queue.lease_many(self.batch, self.duration))
            await asyncio.wait({order, leasing}, return_when=asyncio.FIRST_COMPLETED)
            if not leasing.done():
                # What it leases goes back.
                leasing.cancel()
                await asyncio.wait({leasing})
            if not leasing.cancelled():
                await self.work_on(leasing.result())
        return order.result()

    async def work_on(self, leases: list[leaseq.asyncio.Lease]) -> None:
        """Do the work, with a note before and after."""
        for lease in leases:
            sha256 = hashlib.sha256(lease.data).hexdigest()
            self.note({"id": lease.id, "sha256": sha256})
            completed = await self.queue.complete(lease)
            self.note({"id": lease.id, "completed": completed})

    def note(self, note: dict[str, str | bool]) -> None:
        """Append a line; in one write, since the worker may be killed at any moment."""
        self.results.write(json.dumps(note) + "\n")
        self.results.flush()


async def run(name: str, results: str, lease_ms: str, batch: str) -> None:
    """Follow the orders that come through stdin."""
    orders: Orders = asyncio.Queue()
    reader = threading.Thread(
        target=read_orders, args=(orders, asyncio.get_running_loop()), daemon=True
    )
    reader.start()
    async with await leaseq.asyncio.connect() as client:
        with open(results, "a") as file:
            worker = Worker(client.queue(name), file, int(lease_ms) / 1000, int(batch))
            await worker.follow(orders)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: python -m leaseq.demo QUEUE RESULTS LEASE_MS BATCH")
    asyncio.run(run(*sys.argv[1:]))
