"""Jobs and workers of the testees in Python."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

import values
from leaseq.jobs import (
    Job,
    JobCancelledError,
    JobFailedError,
    JobGoneError,
    JobNotRetainedError,
    JobRemovedError,
    Jobs,
    NewJob,
)
from noted import Notes
from script import Awaiting, RunNotes, retry, run, run_here

Request = values.Request
ENDS = ("then", "on_failure", "on_end")
TIMES = ("timeout", "delay", "retain", "unique_for", "expires_in")


def new_job(request: Request) -> NewJob[Any]:
    """Return the job of a request, with its options and those that follow it."""
    options: dict[str, Any] = {
        name: request[name] for name in ("meta", "replace", "successor") if name in request
    }
    options |= {name: bytes.fromhex(request[name]) for name in ("id", "unique") if name in request}
    options |= {name: request[f"{name}_ms"] / 1000 for name in TIMES if f"{name}_ms" in request}
    options |= {name: request[name] for name in ("priority", "max_attempts") if name in request}
    if "due_at_ms" in request:
        since = timedelta(milliseconds=request["due_at_ms"])
        options["due_at"] = datetime(1970, 1, 1, tzinfo=timezone.utc) + since
    options["retry"] = retry(request.get("retry"))
    kind = Jobs().named(request["job"], queue=request["queue"]).using(**options)
    args = request["args"]
    job = kind.new(*args) if isinstance(args, list) else kind.new(**args)
    then, failure, end = (following(request, name) for name in ENDS)
    return job.then(*then).on_failure(*failure).on_end(*end)


def following(request: Request, name: str) -> list[NewJob[Any]]:
    """Return the jobs of a list in a request, in its queue unless they name another one."""
    return [new_job({"queue": request["queue"], **one}) for one in request.get(name, ())]


def group_of(request: Request) -> tuple[tuple[bytes, list[NewJob[Any]]], dict[str, Any]]:
    """Return the arguments of a call that adds a group of jobs."""
    members = following(request, "jobs")
    ends = {name: following(request, name) for name in ENDS}
    return (bytes.fromhex(request["id"]), members), ends


def key(request: Request) -> tuple[str, str]:
    """Return the client and the name of a worker."""
    return request["client"], request.get("worker", "worker")


def ended(error: BaseException | None, value: Any = None) -> Any:
    """Return how a job has ended, as `result` says it."""
    match error:
        case None:
            return {"value": value}
        case JobFailedError():
            return {"failed": str(error)}
        case JobCancelledError():
            return "cancelled"
        case JobRemovedError():
            return "removed"
        case JobNotRetainedError():
            return "not_retained"
        case JobGoneError():
            return "gone"
        case TimeoutError():
            return None
    raise error


def jobs_of(request: Request, notes_of: Callable[[str], RunNotes]) -> Jobs:
    """Return the handlers of a worker; `notes_of` returns the notes of a run, by its job."""
    jobs = Jobs(queue=request["queue"])

    def register(name: str, options: dict[str, Any]) -> None:
        timeout = options["timeout_ms"] / 1000 if "timeout_ms" in options else None
        decorate = jobs.job(name, timeout=timeout, retry=retry(options.get("retry")))
        if options.get("thread"):

            def blocking(job: Job, steps: list[Any]) -> Any:
                return run_here(notes_of(job.id), job, steps)

            decorate(blocking)
        else:

            async def awaiting(job: Job, steps: list[Any]) -> Any:
                return await run(notes_of(job.id), job, steps, Awaiting(job))

            decorate(awaiting)

    for name, options in (request.get("jobs") or {"work": {}}).items():
        register(name, options)
    return jobs


def options_of(request: Request, notes: Notes) -> dict[str, Any]:
    """Return the options of a worker of any kind."""
    queues = request.get("queues") or [{"name": request["queue"]}]
    weights = {queue["name"]: queue.get("weight", 1) for queue in queues}
    names = [queue["name"] for queue in queues]
    # A dict names none twice.
    options: dict[str, Any] = {"queues": weights if len(weights) == len(names) else names}
    options |= {
        name: request[f"{name}_ms"] / 1000
        for name in ("lease", "kill_after", "grace")
        if f"{name}_ms" in request
    }
    options |= {
        name: request[name] for name in ("prefetch", "max_jobs", "burst") if name in request
    }
    if request.get("strict"):
        options["strict_order"] = True
    options["middleware"] = [around(name, notes) for name in request.get("middleware", ())]
    return options


def around(name: str, notes: Notes) -> Any:
    @contextmanager
    def noted(job: Job) -> Any:
        notes.note(f"{job.id} {name} before")
        try:
            yield
        finally:
            notes.note(f"{job.id} {name} after")

    def middleware(job: Job) -> AbstractContextManager[object]:
        return noted(job)

    return middleware
