"""What all that is measured has in common."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine

DATA = "x" * 100
AT_ONCE = 100
BATCH = 100
LEASE = 30.0
URL = os.environ.get("BENCH_URL", "")

# Items a second: "add", "process", and what there is besides.
Rates = dict[str, float]


async def at_once(items: int, work: Callable[[int], Coroutine[object, object, object]]) -> float:
    """Items a second, when AT_ONCE tasks share them."""
    begun = time.perf_counter()
    await asyncio.gather(*(work(items // AT_ONCE) for _ in range(AT_ONCE)))
    return items / (time.perf_counter() - begun)


def one_by_one(items: int, add: Callable[[], object]) -> float:
    """Items a second, when one thread makes one call after the other."""
    begun = time.perf_counter()
    for _ in range(items):
        add()
    return items / (time.perf_counter() - begun)
