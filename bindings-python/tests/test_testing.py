"""What `leaseq.testing` offers to tests of programs."""

import asyncio
import contextlib
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import pytest

import leaseq
from leaseq.jobs import (
    AsyncWorker,
    Discard,
    Job,
    JobFailedError,
    Jobs,
    Retry,
    current_job,
)
from leaseq.testing import (
    Clock,
    amemory,
    inline,
    memory,
    run_until_idle,
)


@dataclass
class Mail:
    to: str
    at: datetime


@pytest.fixture
def jobs():
    return Jobs(queue="mail")


def test_the_clock_decides_what_is_due(leaseq_client, leaseq_clock, jobs):
    runs = []

    @jobs.job("a", retry=Retry(3, base=3600), retain=60)
    def a(job: Job) -> int:
        runs.append(job.attempt)
        if job.attempt < 3:
            raise OSError
        return job.attempt

    ref = a.using(delay=timedelta(days=1)).enqueue(leaseq_client)
    assert run_until_idle(leaseq_client, jobs) == 0
    leaseq_clock.advance(86_399.999)
    assert run_until_idle(leaseq_client, jobs) == 0
    leaseq_clock.advance(0.001)
    assert run_until_idle(leaseq_client, jobs) == 1
    for _ in range(2):
        assert ref.info().state == "delayed"
        leaseq_clock.advance(timedelta(hours=2))
        run_until_idle(leaseq_client, jobs)
    assert runs == [1, 2, 3]
    assert ref.result(0) == 3
    leaseq_clock.advance(61)
    assert ref.info() is None


@pytest.mark.parametrize("time", [-1, timedelta(days=-1), float("nan"), float("inf"), 1e10])
def test_a_clock_is_never_set_back(time: object):
    clock = Clock()
    before = clock.now()
    with pytest.raises(leaseq.InvalidError, match="by 0 s to a century, not by"):
        clock.advance(time)
    assert clock.now() == before


def test_a_clock_can_start_anywhere_and_stands_still():
    start = datetime(2030, 2, 28, 23, 59, tzinfo=timezone.utc)
    clock = Clock(start)
    with memory(clock) as client:
        queue = client.queue("q")
        queue.put_schedule("daily", leaseq.Item("x"), cron="0 0 * * *")
        assert queue.lease(30, wait=0) is None
        clock.advance(60)
        assert clock.now() == start + timedelta(minutes=1)
        lease = queue.lease(30, wait=5)  # whoever waits sees to schedules
        assert lease.data == b"x"
        clock.advance(31)
        # The lease has expired.
        assert queue.lease(30, wait=0).attempt == 2


def test_servers_have_their_own_clock(redis_url):
    native = Clock()._native
    with pytest.raises(leaseq.InvalidError, match="a clock for a server, which has its own"):
        leaseq._leaseq.connect(None, redis_url, clock=native)


def test_asyncio_has_the_same(jobs):
    @jobs.job("a", retain=60)
    async def a() -> str:
        return "done"

    async def main():
        clock = Clock()
        async with await amemory(clock) as client:
            ref = await a.using(delay=60).aenqueue(client)
            worker = AsyncWorker(client, jobs)
            assert (await worker.run_until_idle()).started == 0
            clock.advance(60)
            assert (await worker.run_until_idle()).started == 1
            return await ref.result(0)

    assert asyncio.run(main()) == "done"


def test_inline_jobs_run_where_they_are_enqueued_and_go_through_json(jobs, leaseq_client):
    seen = []

    @jobs.around_handler
    @contextlib.contextmanager
    def around(job: Job):
        seen.append("enter")
        yield
        seen.append("leave")

    @jobs.job("a")
    def a(job: Job, mail: Mail, more: tuple[int, ...] = ()) -> Mail:
        assert current_job() is job
        assert isinstance(mail, Mail)
        job.progress("on its way")
        seen.append((job.name, job.queue, job.meta, more))
        return mail

    mail = Mail("ada", datetime(2026, 1, 1, tzinfo=timezone.utc))
    with inline(jobs):
        ref = a.using(meta={"k": "v"}, delay=60).enqueue(leaseq_client, mail, more=(1, 2))
        assert ref.result(0) == mail
        assert ref.wait().result == b'{"to":"ada","at":"2026-01-01T00:00:00+00:00"}'
        with pytest.raises(leaseq.InvalidError, match="NaN is not a number"):
            jobs.named("b").enqueue(leaseq_client, x=float("nan"))
        with pytest.raises(LookupError, match="job b has no handler here"):
            jobs.named("b").enqueue(leaseq_client, x=1)
        with pytest.raises(TypeError, match="job a: mail"):
            a.enqueue(leaseq_client, "ada")
    assert seen == ["enter", ("a", "mail", {"k": "v"}, (1, 2)), "leave"]
    assert current_job() is None
    assert leaseq_client.queues() == []
    # Afterwards, there is a queue again.
    assert a.enqueue(leaseq_client, mail).info().state == "ready"


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async"])
def test_errors_of_inline_jobs_reach_the_caller_or_the_reference(jobs, leaseq_client, is_async):
    def run(why: str) -> int:
        if why == "discard":
            raise Discard
        if why:
            raise ValueError(why)
        return 1

    async def arun(why: str) -> int:
        await asyncio.sleep(0)
        return run(why)

    a = jobs.job("a")(arun if is_async else run)

    async def inside_a_loop():
        # Also from code that does not await.
        assert a.enqueue(leaseq_client, "").result() == 1
        return await (await a.aenqueue(leaseq_client, "")).result()

    with inline(jobs):
        with pytest.raises(ValueError, match="boom"):
            a.enqueue(leaseq_client, "boom")
        assert a.enqueue(leaseq_client, "").result() == 1
        assert asyncio.run(inside_a_loop()) == 1
        assert a.enqueue(leaseq_client, "discard").wait().completed
    with inline(jobs, raise_errors=False):
        ref = a.enqueue(leaseq_client, "boom")
    with pytest.raises(JobFailedError, match=r"ValueError: boom\n(.*\n)*.*in run"):
        ref.result()


def test_it_works_without_pytest(tmp_path):
    (tmp_path / "pytest.py").write_text("raise ImportError")
    code = "from leaseq.testing import memory; print(memory().queue('q').add_item('x'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
