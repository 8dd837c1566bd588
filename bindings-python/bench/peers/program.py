"""Runs a peer's own worker program until it has handled everything."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers import tally

# Of the start of a program with everything in the queue, and of its end, in seconds.
LIMIT = 120.0
GOODBYE = 15.0


def process(items: int, command: list[str]) -> float:
    """Items a second, between the first and the last one that the program handles.

    Its start does not count. Fewer items, or more, is an error, and so is an early end.
    """
    bench = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as log:
        worker = subprocess.Popen(
            [str(Path(sys.executable).with_name(command[0])), *command[1:]],
            cwd=bench,
            env={**os.environ, "PYTHONPATH": str(bench), "BENCH_TALLY": folder},
            stdout=log,
            stderr=log,
        )
        until = time.monotonic() + LIMIT
        try:
            while (count := tally.read(folder)[0]) < items:
                if worker.poll() is not None:
                    log.seek(0)
                    raise RuntimeError(f"{command[0]} ended early: {log.read()[-500:]}")
                if time.monotonic() > until:
                    raise TimeoutError(f"{count} of {items} items handled in {LIMIT:.0f} s")
                time.sleep(0.02)
        finally:
            worker.terminate()
            try:
                worker.wait(GOODBYE)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
        count, first, last = tally.read(folder)
    if count != items:
        raise RuntimeError(f"{count} items handled, not {items}")
    return (items - 1) / ((last - first) / 1e9)
