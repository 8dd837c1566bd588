"""The handler of the scenarios: it does what the arguments of its job say."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from leaseq.jobs import Bury, Discard, Job, Retry, RetryAfter, Snooze

Step = dict[str, Any] | str
LOOK = 0.01


class Notes:
    """What the handlers of a worker have done, and what they are to do next."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.runs: defaultdict[str, int] = defaultdict(int)
        self.told: defaultdict[str, deque[list[Step]]] = defaultdict(deque)
        self.path: str | None = None
        self._lock = threading.Lock()

    def note(self, what: str) -> None:
        self.log(what)
        self.seen.append(what)

    def log(self, what: str) -> None:
        if self.path is not None:
            line = f"{time.time_ns() // 1000} {what}\n".encode()
            file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
            # In one write, so that no kill can mix lines.
            os.write(file, line)
            os.close(file)

    def count_run(self, job: str) -> int:
        with self._lock:
            self.runs[job] += 1
            return self.runs[job] - 1


class Stopped(Exception):  # noqa: N818 - the name that other languages give it
    """The handler has stopped because it was cancelled."""


class Blocking:
    """How a thread waits."""

    def __init__(self, job: Job) -> None:
        self.job = job

    async def sleep(self, seconds: float) -> bool:
        return self.job.wait_cancelled(seconds)

    async def until_cancelled(self) -> None:
        self.job.wait_cancelled()

    async def sleep_always(self) -> None:
        time.sleep(LOOK)


class Awaiting:
    """How a task of an event loop waits."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.ignored = False

    async def sleep(self, seconds: float) -> bool:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            return True
        return False

    async def until_cancelled(self) -> None:
        while not await self.sleep(3600):
            pass

    async def sleep_always(self) -> None:
        try:
            await asyncio.sleep(LOOK)
        except asyncio.CancelledError:
            # The second time it is to be stopped by force.
            if self.ignored:
                raise
            self.ignored = True


def run_here(notes: Notes, job: Job, steps: list[Any]) -> Any:
    """Run the steps on a thread."""
    try:
        run(notes, job, steps, Blocking(job)).send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it awaits something")


async def run(notes: Notes, job: Job, steps: list[Any], waits: Blocking | Awaiting) -> Any:
    number = notes.count_run(job.id)
    notes.note(f"{job.id} start {job.attempt}")
    # Of several lists each is for one run, and the last one for all later runs.
    if steps and isinstance(steps[0], list):
        steps = steps[min(number, len(steps) - 1)]
    with logged_end(notes, job):
        return await run_steps(notes, job, deque(steps), waits)


@contextmanager
def logged_end(notes: Notes, job: Job) -> Iterator[None]:
    try:
        yield
    finally:
        notes.log(f"{job.id} end")


async def told(notes: Notes, job: Job, steps: deque[Step], waits: Blocking | Awaiting) -> None:
    """Go on with the steps that the job is told, whatever happens meanwhile."""
    while not notes.told[job.id]:
        await waits.sleep_always()
    steps.extendleft(reversed(notes.told[job.id].popleft()))


async def run_steps(notes: Notes, job: Job, steps: deque[Step], waits: Blocking | Awaiting) -> Any:
    def stopped() -> Stopped:
        notes.note(f"{job.id} cancelled {job.cancel_reason}")
        return Stopped(job.cancel_reason)

    while steps:
        step = steps.popleft()
        name, value = (step, None) if isinstance(step, str) else next(iter(step.items()))
        match name:
            case "return":
                return value
            case "raise":
                names = [value] if isinstance(value, str) else value
                kind: type[Exception] = Exception
                for one in reversed(names):
                    kind = type(one, (kind,), {})
                raise kind("on purpose")
            case "panic":
                raise SystemExit("on purpose")
            case "retry_after_ms":
                raise RetryAfter(value / 1000, "on purpose")
            case "discard":
                raise Discard("on purpose")
            case "bury":
                raise Bury("on purpose")
            case "snooze_ms":
                raise Snooze(value / 1000)
            case "say":
                notes.note(f"{job.id} {value}")
            case "previous":
                before = json.dumps(job.previous(), ensure_ascii=False, separators=(",", ":"))
                notes.note(f"{job.id} previous {job.previous_id or ''} {before}")
            case "progress":
                job.progress(value)
            case "more_time_ms":
                job.more_time(value / 1000)
            case "meta":
                notes.note(f"{job.id} {value}={job.meta[value]}")
            case "wait":
                while not notes.told[job.id]:
                    if await waits.sleep(LOOK):
                        raise stopped()
                await told(notes, job, steps, waits)
            case "sleep_ms":
                if await waits.sleep(value / 1000):
                    raise stopped()
            case "block_ms":
                time.sleep(value / 1000)
            case "skip_from":
                if job.attempt >= value:
                    steps.popleft()
            case "ignore":
                await told(notes, job, steps, waits)
            case "cancelled":
                await waits.until_cancelled()
                notes.note(f"{job.id} cancelled {job.cancel_reason}")
            case _:
                raise AssertionError(f"unknown step {name}")
    return None


def retry(fields: dict[str, Any] | None) -> Retry | None:
    if fields is None:
        return None
    options = {name: fields[name] for name in ("on", "never") if name in fields}
    options |= {
        name: fields[f"{name}_ms"] / 1000 for name in ("base", "cap") if f"{name}_ms" in fields
    }
    return Retry(fields.get("max", 10), **options)
