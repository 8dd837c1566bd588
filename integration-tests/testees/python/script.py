"""The handler of the scenarios: it does what the arguments of its job say."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from typing import Any, Protocol

from leaseq.jobs import Bury, Discard, Job, Retry, RetryAfter, Snooze

Step = dict[str, Any] | str
LOOK = 0.01


class RunNotes(Protocol):
    """What one run of a job notes, and what it is told."""

    def count_run(self) -> int: ...
    def start(self, attempt: int, meta: dict[str, str]) -> None: ...
    def note(self, what: str) -> None: ...
    def take(self) -> list[Any] | None: ...
    def end(self) -> None: ...
    def other(self, job: Job, step: str, value: Any) -> None: ...


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


def run_here(notes: RunNotes, job: Job, steps: list[Any]) -> Any:
    """Run the steps on a thread."""
    try:
        run(notes, job, steps, Blocking(job)).send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it awaits something")


async def run(notes: RunNotes, job: Job, steps: list[Any], waits: Blocking | Awaiting) -> Any:
    # Of several lists each is for one run, and the last one for all later runs.
    if steps and isinstance(steps[0], list):
        steps = steps[min(notes.count_run(), len(steps) - 1)]
    notes.start(job.attempt, job.meta)
    try:
        return await run_steps(notes, job, deque(steps), waits)
    finally:
        notes.end()


async def told(notes: RunNotes, steps: deque[Step], waits: Blocking | Awaiting) -> None:
    """Go on with the steps that the job is told, whatever happens meanwhile."""
    while (more := notes.take()) is None:
        await waits.sleep_always()
    steps.extendleft(reversed(more))


async def run_steps(
    notes: RunNotes, job: Job, steps: deque[Step], waits: Blocking | Awaiting
) -> Any:
    def stopped() -> Stopped:
        notes.note(f"cancelled {job.cancel_reason}")
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
                notes.note(f"{value}")
            case "previous":
                before = json.dumps(job.previous(), ensure_ascii=False, separators=(",", ":"))
                notes.note(f"previous {job.previous_id or ''} {before}")
            case "progress":
                job.progress(value)
            case "more_time_ms":
                job.more_time(value / 1000)
            case "meta":
                notes.note(f"{value}={job.meta[value]}")
            case "wait":
                while (more := notes.take()) is None:
                    if await waits.sleep(LOOK):
                        raise stopped()
                steps.extendleft(reversed(more))
            case "sleep_ms":
                if await waits.sleep(value / 1000):
                    raise stopped()
            case "block_ms":
                time.sleep(value / 1000)
            case "skip_from":
                if job.attempt >= value:
                    steps.popleft()
            case "ignore":
                await told(notes, steps, waits)
            case "cancelled":
                await waits.until_cancelled()
                notes.note(f"cancelled {job.cancel_reason}")
            case _:
                notes.other(job, name, value)
    return None


def retry(fields: dict[str, Any] | None) -> Retry | None:
    if fields is None:
        return None
    options = {name: fields[name] for name in ("on", "never") if name in fields}
    options |= {
        name: fields[f"{name}_ms"] / 1000 for name in ("base", "cap") if f"{name}_ms" in fields
    }
    return Retry(fields.get("max", 10), **options)
