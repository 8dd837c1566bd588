"""Jobs: call a function later, elsewhere, with retries.

>>> import leaseq
>>> from leaseq.jobs import Jobs, Worker
>>> jobs = Jobs(queue="mail")
>>> @jobs.job("mail.welcome", timeout=30)
... def welcome(to: str) -> None:
...     print("welcome,", to)
>>> with leaseq.connect("memory:") as client:  # or sqlite:jobs.db, or redis://127.0.0.1/
...     ref = welcome.enqueue(client, to="ada@example.org")
...     exit = Worker(client, jobs, threads=1).run_until_idle()  # or run()
welcome, ada@example.org

A job may run more than once: its worker may be killed. Handlers must tolerate that.
"""

from __future__ import annotations

from ._around import ProcessMiddleware
from ._async_worker import AsyncWorker
from ._children import Isolation
from ._context import CancelReason, Job, JobFilter, Middleware, current_job
from ._enqueue import EnqueueMiddleware, NewJob
from ._errors import (
    JobCancelledError,
    JobError,
    JobFailedError,
    JobGoneError,
    JobNotRetainedError,
    JobRemovedError,
)
from ._exit import Exit
from ._job_events import JobEvent
from ._job_group import AsyncJobGroupRef, JobGroupRef
from ._job_type import JobType
from ._jobs import Jobs
from ._ref import AsyncJobRef, JobRef
from ._retry import Bury, Discard, Retry, RetryAfter, Snooze
from ._schedules import Cron, Every
from ._settings import Throttle, WorkerOptions
from ._worker import Worker

__all__ = [
    "AsyncJobGroupRef",
    "AsyncJobRef",
    "AsyncWorker",
    "Bury",
    "CancelReason",
    "Cron",
    "Discard",
    "EnqueueMiddleware",
    "Every",
    "Exit",
    "Isolation",
    "Job",
    "JobCancelledError",
    "JobError",
    "JobEvent",
    "JobFailedError",
    "JobFilter",
    "JobGoneError",
    "JobGroupRef",
    "JobNotRetainedError",
    "JobRef",
    "JobRemovedError",
    "JobType",
    "Jobs",
    "Middleware",
    "NewJob",
    "ProcessMiddleware",
    "Retry",
    "RetryAfter",
    "Snooze",
    "Throttle",
    "Worker",
    "WorkerOptions",
    "current_job",
]

for _public in (
    AsyncJobGroupRef,
    AsyncJobRef,
    AsyncWorker,
    Bury,
    Cron,
    Discard,
    Every,
    Exit,
    Job,
    JobCancelledError,
    JobError,
    JobEvent,
    JobFailedError,
    JobFilter,
    JobGoneError,
    JobGroupRef,
    JobNotRetainedError,
    JobRef,
    JobRemovedError,
    JobType,
    Jobs,
    NewJob,
    Retry,
    RetryAfter,
    Snooze,
    Throttle,
    Worker,
    WorkerOptions,
    current_job,
):
    # The module that users import it from, for messages and pickles.
    _public.__module__ = __name__
