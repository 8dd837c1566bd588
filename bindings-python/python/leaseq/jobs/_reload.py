"""Starts a worker anew when its source changes, for development."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

log = logging.getLogger("leaseq.jobs")

LOOK = 0.5
"""How often files are looked at, in seconds."""
SKIPPED = {"node_modules", "__pycache__", "venv", "site-packages"}


def reload(arguments: list[str]) -> NoReturn:
    """Run the worker with these arguments in a child process, and a new one after each change."""
    ending: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: ending.append(number))
    seen = _times()
    while True:
        worker = subprocess.Popen(
            [sys.executable, "-m", "leaseq.jobs", *arguments], start_new_session=True
        )
        seen = _until_change(worker, seen, ending)
        status = _end(worker, ending)
        if ending:
            sys.exit(status)
        log.info("files have changed: a new worker starts")


def _until_change(
    worker: subprocess.Popen[bytes], seen: dict[str, int], ending: list[int]
) -> dict[str, int]:
    said = False
    while not ending:
        if worker.poll() is not None and not said:
            said = True
            log.info("the worker has ended (%d); waiting for files to change", worker.returncode)
        now = _times()
        if now != seen:
            return now
        time.sleep(LOOK)
    return seen


def _end(worker: subprocess.Popen[bytes], ending: list[int]) -> int:
    """End it as it would end alone: each signal that comes meanwhile is passed on."""
    passed = 0
    with contextlib.suppress(ProcessLookupError):
        if not ending:
            worker.send_signal(signal.SIGTERM)
        while worker.poll() is None:
            for number in ending[passed:]:
                worker.send_signal(number)
                passed += 1
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(0.05)
    return worker.wait()


def _times() -> dict[str, int]:
    """Return when each Python file below the current folder has changed."""
    times = {}
    for folder, folders, files in os.walk("."):
        folders[:] = [one for one in folders if one not in SKIPPED and not one.startswith(".")]
        for name in files:
            if name.endswith(".py"):
                with contextlib.suppress(OSError):
                    times[name := os.path.join(folder, name)] = Path(name).stat().st_mtime_ns
    return times
