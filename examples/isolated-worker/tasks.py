"""The jobs. Each runs in a child process of its own, forked from one that has loaded this file."""

import os

from leaseq.jobs import Job, Jobs, Retry

jobs = Jobs(queue="default")


@jobs.job("count", timeout=180, retain=500, retry=Retry(3))
def count(job: Job, words: str) -> int:
    """Count words."""
    job.progress(f"in process {os.getpid()}")
    return len(words.split())


@jobs.job("crash", queue="low", timeout=180, retry=Retry(1))
def crash() -> None:
    """End the process, as a defect in a library would."""
    os._exit(1)
