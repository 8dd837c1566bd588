"""The command `python -m leaseq.jobs`: a worker for jobs that a module has."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from typing import NoReturn, get_args

from .. import _leaseq, connect
from .. import asyncio as aio
from ..exceptions import InvalidError, LeaseqError
from ._arguments import deployment, mebibytes, queue, seconds_from_text, throttle
from ._async_worker import AsyncWorker
from ._children import Isolation
from ._job_events import JobEvent
from ._jobs import Jobs
from ._load import load
from ._logging import log_to_stderr
from ._reload import reload
from ._settings import Throttle, WorkerOptions, handlers_of
from ._worker import Worker

log = logging.getLogger("leaseq.jobs")

# These outcomes are warnings already.
WARNED = ("retried", "dead", "lost", "uncertain")

USAGE = """\
Run the handlers of jobs: a worker. It goes on until SIGTERM or Ctrl-C: then it starts nothing
more, and handlers have --grace seconds to end. A second signal cancels them, a third ends the
worker at once.
"""
EXAMPLES = """\
examples, for a file app.py with `jobs = Jobs()`:
  python -m leaseq.jobs app:jobs --url sqlite:jobs.db
  python -m leaseq.jobs app:jobs --queue mail=3 --queue bulk     three of mail for one of bulk
  python -m leaseq.jobs app:jobs --processes 4 --memory-limit 500
  python -m leaseq.jobs app:jobs --reload --log-level debug      while you write it
  python -m leaseq.jobs app:jobs --burst                         do what there is, and end

exit status: 0 jobs ran, or it was asked to end; 3 a --burst found nothing to do; 2 wrong usage;
1 anything else.

environment: LEASEQ_URL (or REDIS_URL), and LEASEQ_THROTTLE_MEMORY, _SWAP and _GPU, which are as
--throttle: with 90:80, nothing is leased from 90 % on, until less than 80 % are used.
"""


def parser() -> argparse.ArgumentParser:
    """Return the description of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m leaseq.jobs",
        description=USAGE,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add(
        "jobs",
        metavar="MODULE:NAME",
        nargs="+",
        help="where the jobs are, such as app:jobs; only the name of a module: all Jobs in it",
    )
    where = made.add_argument_group("where the queues are")
    add = where.add_argument
    add("--url", "-u", help="redis://…, sqlite:FILE and others; default: LEASEQ_URL or REDIS_URL")
    add("--namespace", help="the prefix of all keys on Redis; default: leaseq")
    add(
        "--queue",
        "-q",
        action="append",
        type=queue,
        metavar="NAME[=WEIGHT]",
        help="a queue, once or more; * stands for any text; default: the queues of the jobs",
    )
    add("--strict", action="store_true", help="queues in the order of the options, not by weight")
    how = made.add_argument_group("how jobs run")
    add = how.add_argument
    add(
        "--threads",
        "-t",
        type=int,
        metavar="N",
        help="so many jobs at the same time, on threads; "
        "default: 90 %% of the processors, at least 10",
    )
    add(
        "--concurrency",
        "-c",
        type=int,
        metavar="N",
        help="so many jobs at the same time, async def in one event loop and def on threads",
    )
    add(
        "--processes",
        "-p",
        type=int,
        metavar="N",
        help="so many jobs at the same time, each in a child process",
    )
    add(
        "--isolation",
        choices=get_args(Isolation),
        help="process: children are reused; job: each "
        "job has a new one; fork: each is forked from one that has loaded the jobs",
    )
    add("--max-jobs-per-child", type=int, metavar="N", help="replace a child after N jobs")
    add(
        "--max-memory-per-child",
        type=mebibytes,
        metavar="MIB",
        help="replace a child that has more memory after a job",
    )
    add("--memory-limit", type=mebibytes, metavar="MIB", help="kill a child that has more memory")
    when = made.add_argument_group("when and how long (seconds)")
    add = when.add_argument
    add("--burst", action="store_true", help="end when there is nothing more to do")
    add("--max-jobs", type=int, metavar="N", help="end after N jobs")
    add(
        "--grace",
        type=seconds_from_text,
        default=25.0,
        metavar="S",
        help="for handlers at the end; default: 25",
    )
    add(
        "--prefetch",
        type=int,
        metavar="N",
        help="lease N jobs in advance, for many short jobs; default: 0",
    )
    add(
        "--lease",
        type=seconds_from_text,
        metavar="S",
        help="after so long, another worker gets the jobs of one that was killed; default: 30",
    )
    add(
        "--kill-after",
        type=seconds_from_text,
        metavar="S",
        help="so long after its timeout a child is killed; default: 10",
    )
    add("--cooldown", type=seconds_from_text, metavar="S", help="a pause after each job")
    add("--stagger", type=seconds_from_text, metavar="S", help="the least time between two starts")
    add(
        "--throttle",
        action="append",
        type=throttle,
        metavar="WHAT=HIGH:LOW",
        help="lease nothing while memory, swap or gpu is short: memory=90:80",
    )
    about = made.add_argument_group("about this worker")
    add = about.add_argument
    add("--name", help="how it is listed, the same after a restart; default: program and host")
    add(
        "--deployment",
        type=deployment,
        metavar="PROGRAM:REVISION",
        help="whose schedules those of the jobs are; the revision goes up with each deployment",
    )
    add(
        "--log-level",
        default="info",
        choices=["debug", "info", "warning", "error"],
        help="info (default): a line for each job; warning: only what is wrong",
    )
    add(
        "--reload",
        action="store_true",
        help="start anew when a .py file in the current folder changes",
    )
    add("--version", action="version", version=f"leaseq {_leaseq.__version__}")
    return made


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a worker as the command line says, and end the process."""
    arguments = sys.argv[1:] if arguments is None else arguments
    description = parser()
    told = description.parse_args(arguments)
    # `python -m` has it, other ways to start this do not.
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())
    log_to_stderr(told.log_level.upper())
    try:
        if told.reload:
            reload([word for word in arguments if word != "--reload"])
        _work(told)
    except InvalidError as error:
        description.exit(2, f"{description.prog}: error: {error}\n")
    except LeaseqError as error:
        description.exit(1, f"{description.prog}: error: {error}\n")
    except KeyboardInterrupt:
        # Before the worker runs; later it is told to end.
        description.exit(130)


def _work(told: argparse.Namespace) -> NoReturn:
    if not _leaseq.redact_url(told.url):
        raise InvalidError("no url: give --url, or set LEASEQ_URL or REDIS_URL")
    spec, options = ",".join(told.jobs), _options(told)
    in_children = told.processes is not None or told.isolation not in (None, "thread")
    # Children import it themselves.
    jobs = spec if in_children else load(spec)
    if told.concurrency is not None:
        if in_children or told.threads is not None:
            raise InvalidError("--concurrency is for one event loop, without threads and processes")
        asyncio.run(_work_in_loop(told, jobs, options))
    client = connect(told.url, namespace=told.namespace)
    worker = Worker(
        client,
        jobs,
        threads=told.threads,
        processes=told.processes,
        isolation=told.isolation,
        max_jobs_per_child=told.max_jobs_per_child,
        max_memory_per_child=told.max_memory_per_child,
        memory_limit=told.memory_limit,
        **options,
    )
    _greet(told, jobs)
    worker.run_process()


async def _work_in_loop(
    told: argparse.Namespace, jobs: list[Jobs] | str, options: WorkerOptions
) -> NoReturn:
    client = await aio.connect(told.url, namespace=told.namespace)
    worker = AsyncWorker(client, jobs, concurrency=told.concurrency, **options)
    _greet(told, jobs)
    await worker.run_process()


def _greet(told: argparse.Namespace, jobs: list[Jobs] | str) -> None:
    what = jobs if isinstance(jobs, str) else ", ".join(handlers_of(jobs))
    log.info("a worker for %s at %s; Ctrl-C ends it", what, _leaseq.redact_url(told.url))


def _log_event(event: JobEvent) -> None:
    if event.kind == "started":
        log.debug("%s %r starts, attempt %d", event.name, event.id, event.attempt)
    elif event.outcome not in WARNED:
        log.info("%s %r: %s after %.3f s", event.name, event.id, event.outcome, event.duration)


def _options(told: argparse.Namespace) -> WorkerOptions:
    options = WorkerOptions(
        strict_order=told.strict,
        prefetch=told.prefetch,
        lease=told.lease,
        kill_after=told.kill_after,
        grace=told.grace,
        max_jobs=told.max_jobs,
        burst=told.burst,
        cooldown=told.cooldown,
        stagger=told.stagger,
        name=told.name,
        deployment=told.deployment,
    )
    if told.queue:
        options["queues"] = dict(told.queue)
    if log.isEnabledFor(logging.INFO):
        options["on_event"] = _log_event
    if told.throttle:
        options["throttle"] = Throttle(**dict(told.throttle))
    return options
