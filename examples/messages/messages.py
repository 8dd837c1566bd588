"""Messages with three priorities, which are retried, scheduled and reported.

`python -m leaseq.jobs messages:jobs --queue high --queue default --queue low --strict`
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from urllib.request import Request, urlopen

import leaseq
from leaseq.jobs import Job, JobRef, Jobs, Retry

log = logging.getLogger("messages")
jobs = Jobs(queue="default")
PRIORITIES = ("high", "default", "low")


class RateLimitedError(OSError):
    """The receiver asks for patience."""


RETRY = Retry(
    7, on=(ConnectionError, TimeoutError, RateLimitedError, "TemporaryError"), base=2, cap=3600
)


@jobs.around_handler
@contextmanager
def report(job: Job) -> Iterator[None]:
    """Write each change as a line of JSON, and call the URL that the producer has given."""
    begun, ended = time.monotonic(), "failed"
    line = {"id": job.id, "job": job.name, "queue": job.queue, "attempt": job.attempt}
    log.info(json.dumps({**line, "event": "started"}))
    try:
        yield
        ended = "completed"
    finally:
        seconds = round(time.monotonic() - begun, 3)
        log.info(json.dumps({**line, "event": ended, "seconds": seconds}))
        is_last = ended == "completed" or job.attempt >= job.max_attempts
        if (url := job.meta.get(f"on_{ended}")) and is_last:
            notify.enqueue(client(), url=url, about={**line, "event": ended})


@jobs.job("message", timeout=420, retain=500, retry=RETRY)
def message(to: str, text: str) -> str:
    """Deliver a message."""
    if to == "busy":
        raise RateLimitedError(f"{to} is busy")
    return f"{len(text)} letters to {to}"


@jobs.job("notify", queue="low", timeout=15, retry=Retry(10))
def notify(url: str, about: dict[str, object]) -> None:
    """Call a URL. It must be one of yours: producers choose it."""
    data = json.dumps(about).encode()
    headers = {"Content-Type": "application/json"}
    urlopen(Request(url, data, headers), timeout=15).close()


def send(
    client: leaseq.Client,
    to: str,
    text: str,
    *,
    priority: str = "default",
    after: float | None = None,
    at: datetime | None = None,
    on_completed: str = "",
    on_failed: str = "",
) -> JobRef[str]:
    """Send a message: now, after some seconds, or at a time."""
    urls = {"on_completed": on_completed, "on_failed": on_failed}
    meta = {name: url for name, url in urls.items() if url}
    job = message.using(queue=priority, delay=after, due_at=at, meta=meta)
    return job.enqueue(client, to=to, text=text)


def every_morning(client: leaseq.Client, to: str, text: str) -> None:
    """Send a message each day at 7."""
    client.queue("default").put_schedule(
        f"morning-{to}", message.new(to=to, text=text).item(), cron="0 7 * * *"
    )


def client() -> leaseq.Client:
    """Return the client of the handlers, opened at the first use."""
    global _client
    if _client is None:
        _client = leaseq.connect()
    return _client


_client: leaseq.Client | None = None
