"""Schedules that are declared beside handlers."""

import asyncio
import subprocess
import sys

import pytest
from jobs_support import KINDS, run_until_idle

import leaseq
from leaseq import InvalidError
from leaseq.jobs import AsyncWorker, Cron, Every, Job, Jobs, Worker
from leaseq.testing import Clock, memory


@pytest.fixture
def jobs():
    made = Jobs(queue="work")

    @made.job("report", schedule=Cron("0 4 * * *", zone="Europe/Berlin", missed=3, overlap=True))
    def report(job: Job, city: str = "all") -> None: ...

    made.schedule("berlin", report.new("berlin"), Every(600, grace=5))
    made.schedule("berlin", report.using(queue="more").new("berlin"), Every(600))
    return made


def run_all(worker):
    """Run what is there and what is due; a tick may come behind the last look."""
    while worker.run_until_idle().started == 0:
        pass


def stored(url, queue="work"):
    with leaseq.connect(url) as client:
        return {one.name: one for one in client.queue(queue).schedules()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_stores_what_its_jobs_declare(kind, jobs, url):
    # An iterator can be read only once: the second reader must not take it for no schedules.
    run_until_idle(kind, url, iter([jobs]), deployment=("app", 7))
    found = stored(url)
    assert sorted(found) == ["berlin", "report"]
    report, berlin = found["report"], found["berlin"]
    assert (report.cron, report.zone) == ("0 4 * * *", "Europe/Berlin")
    assert (report.missed, report.overlap) == (3, True)
    assert (report.owner, report.revision) == ("app", 7)
    assert (berlin.every, berlin.grace, berlin.missed) == (600.0, 5.0, "one")
    assert b'"berlin"' in berlin.data
    assert list(stored(url, "more")) == ["berlin"]

    fewer = Jobs(queue="work")

    @fewer.job("report")
    def report_without_schedule() -> None: ...

    run_until_idle(kind, url, fewer, deployment=("app", 6))
    assert sorted(stored(url)) == ["berlin", "report"]  # an older deployment
    run_until_idle(kind, url, fewer)
    assert sorted(stored(url)) == ["berlin", "report"]  # of no deployment
    run_until_idle(kind, url, fewer, deployment=("app", 8))
    assert stored(url) == {}


def test_each_time_adds_one_job_with_its_arguments():
    jobs, ran = Jobs(), []

    @jobs.job("report", schedule=Every(60))
    def report(job: Job, city: str = "all") -> None:
        ran.append((job.id.split("@")[0], city))

    jobs.schedule("berlin", report.new("berlin"), Every(3600))
    clock = Clock()
    with memory(clock) as client:
        worker = Worker(client, jobs, deployment=("app", 1))
        worker.run_until_idle()
        assert ran == []
        for _ in range(2):
            clock.advance(61)
            run_all(worker)
        assert ran == [("report", "all")] * 2
        clock.advance(3600)
        run_all(worker)
        while len(ran) < 4:
            run_all(worker)
        assert sorted(ran[2:]) == [("berlin", "berlin"), ("report", "all")]


def test_what_is_wrong_is_an_error_where_it_is_written(jobs, url):
    with pytest.raises(InvalidError, match="'report' has no owner: give the worker deployment="):
        run_until_idle("threads", url, jobs)
    with pytest.raises(InvalidError, match="'report' of queue work is declared twice"):
        jobs.schedule("report", jobs.named("report").new(), Every(1))
    with pytest.raises(TypeError, match=r"job needs has a schedule.*use Jobs.schedule"):

        @jobs.job("needs", schedule=Every(1))
        def needs(argument: int) -> None: ...

    for rule in (Cron("61 * * * *"), Cron("0 4 * * *", zone="Nowhere"), Every(0.01)):
        one = Jobs()

        @one.job("a", schedule=rule)
        def a() -> None: ...

        with pytest.raises(InvalidError):
            run_until_idle("threads", url, one, deployment=("app", 1))
    for deployment in [("", 1), ("app", -1)]:
        with pytest.raises(InvalidError):
            run_until_idle("threads", url, jobs, deployment=deployment)

    async def run():
        async with await leaseq.asyncio.connect(url) as client:
            await AsyncWorker(client, jobs).run_until_idle()

    with pytest.raises(InvalidError, match="has no owner"):
        asyncio.run(run())


@pytest.mark.parametrize("where", ["--threads=1", "--processes=1"])
def test_from_the_shell(where, tmp_path):
    (tmp_path / "tasks.py").write_text(
        "from leaseq.jobs import Every, Jobs\n"
        "jobs = Jobs()\n"
        "@jobs.job('a', schedule=Every(3600))\n"
        "def a() -> None: ...\n"
    )
    url = f"sqlite:{tmp_path}/jobs.db"
    command = [sys.executable, "-m", "leaseq.jobs", "tasks:jobs", "--url", url, "--burst", where]
    # Children import the jobs, so their queues are named.
    command += ["--queue", "default"]
    ran = subprocess.run([*command, "--deployment", "app:3"], cwd=tmp_path, timeout=60)
    assert ran.returncode == 3
    assert stored(url, "default")["a"].revision == 3
    wrong = subprocess.run(
        [*command, "--deployment", "app"], cwd=tmp_path, timeout=60, capture_output=True, text=True
    )
    assert wrong.returncode == 2
    assert "'app' is not PROGRAM:REVISION" in wrong.stderr
