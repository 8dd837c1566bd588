"""The worker of the demo that runs jobs, in Python.

`src/demo/worker.rs` describes its input, `src/demo/jobs.rs` the jobs.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from pathlib import Path

import leaseq
from leaseq.jobs import Job, JobEvent, Jobs, Retry, Worker

ROOT = Path(__file__).parents[3]


class FlakyError(Exception):
    """What some jobs raise at first."""


class Notes:
    """What the worker has done, a line each."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def write(self, **note: object) -> None:
        """In one write: when this returns, killing the process does not lose it."""
        os.write(self._file, f"{json.dumps(note)}\n".encode())


def jobs_of(queue: str, notes: Notes) -> Jobs:
    """Return the jobs of the demo and their handlers."""
    jobs = Jobs(queue=queue)

    @jobs.job("demo.digest", retry=Retry(3, base=0.1))
    def digest(job: Job, path: str, failures: int) -> None:
        if job.attempt <= failures:
            raise FlakyError("on purpose")
        notes.write(id=path, sha256=hashlib.sha256((ROOT / path).read_bytes()).hexdigest())

    @jobs.job("demo.tally")
    def tally() -> None: ...

    return jobs


def main(queue: str, results: str, _lease_ms: str, batch: str) -> None:
    """Follow the orders that come through stdin; its end means `quit`."""
    notes = Notes(results)
    # That jobs fail on purpose is no news.
    logging.getLogger("leaseq").setLevel(logging.ERROR)

    def on_event(event: JobEvent) -> None:
        if event.outcome == "completed" and event.name == "demo.digest":
            notes.write(id=event.id, completed=True)

    with leaseq.connect() as client:
        jobs = jobs_of(f"{queue}.jobs", notes)
        worker = Worker(client, jobs, threads=int(batch), on_event=on_event)
        order = "rest"
        while order in ("rest", "go"):
            if order == "go":
                with worker:
                    order = sys.stdin.readline().strip()
            else:
                print("resting", flush=True)
                order = sys.stdin.readline().strip()


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: demo_handler.py QUEUE RESULTS LEASE_MS BATCH")
    main(*sys.argv[1:])
