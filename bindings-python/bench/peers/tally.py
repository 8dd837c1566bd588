"""The handler that does nothing, and counts how often: in a few bytes of shared memory for each
process, so that it costs a microsecond and any number of worker processes can be watched.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from pathlib import Path

from peers.shape import DATA

# How many, and when the first and the last one was handled, in ns of the monotonic clock.
FIELDS = struct.Struct("QQQ")

_lock = threading.Lock()
_process = 0
_shared: mmap.mmap
_count = _first = 0


def handle(data: str) -> None:
    """Do nothing with an item, but see that it is one."""
    global _process, _shared, _count, _first
    if len(data) != len(DATA):
        raise ValueError("wrong data")
    with _lock:
        now = time.monotonic_ns()
        if _process != os.getpid():
            _process, _count, _first = os.getpid(), 0, now
            path = Path(os.environ["BENCH_TALLY"]) / str(_process)
            path.write_bytes(bytes(FIELDS.size))
            with path.open("r+b") as file:
                _shared = mmap.mmap(file.fileno(), FIELDS.size)
        _count += 1
        FIELDS.pack_into(_shared, 0, _count, _first, now)


async def handle_async(data: str) -> None:
    """Do nothing, for workers on an event loop."""
    handle(data)


def read(folder: str) -> tuple[int, int, int]:
    """How many all processes have handled, and when the first and the last one."""
    files = [path.read_bytes() for path in Path(folder).iterdir()]
    # That of a process that begins in this moment is still empty.
    each = [fields for fields in map(FIELDS.unpack, filter(None, files)) if fields[0]]
    if not each:
        return 0, 0, 0
    return sum(one[0] for one in each), min(one[1] for one in each), max(one[2] for one in each)
