"""What happens to jobs is told; what is around the handlers of a process is entered and left."""

import asyncio
import logging
import os
import signal
import threading
import uuid
from contextlib import asynccontextmanager, contextmanager

import pytest
from conftest import eventually
from jobs_support import KINDS, run_until_idle

import leaseq
from leaseq.jobs import AsyncWorker, Bury, Job, JobEvent, Jobs, Retry, Snooze, Worker
from leaseq.testing import memory

kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def jobs():
    return Jobs(queue="tests")


def decide(jobs, is_async=False):
    """A handler that ends in every way."""

    def run(job: Job, how: str = ""):
        if how == "retry" and job.attempt == 1:
            raise OSError("first")
        if how == "bury":
            raise Bury("never")
        if how == "snooze":
            raise Snooze(3600)
        return how

    async def arun(job: Job, how: str = ""):
        await asyncio.sleep(0.01)
        return run(job, how)

    return jobs.job("decide", retry=Retry(2, base=0))(arun if is_async else run)


ENDS = {
    "": ["completed"],
    "retry": ["retried", "completed"],
    "bury": ["dead"],
    "snooze": ["released"],
}


def check(events, refs):
    """Each attempt has started and ended, in this order, as the outcome says."""
    for how, ref in refs.items():
        mine = [event for event in events if event.id == ref.id]
        assert [event.kind for event in mine] == ["started", "ended"] * len(ENDS[how]), how
        assert [event.outcome for event in mine[1::2]] == ENDS[how]
        for event in mine:
            about = (event.name, event.queue, event.max_attempts, event.meta)
            assert about == ("decide", "tests", 2, {"how": how})
            assert event.generation > 0
        for number, event in enumerate(mine[1::2], 1):
            assert event.attempt == number
            assert 0 <= event.duration < 60
        assert all((one.outcome, one.duration, one.error) == (None,) * 3 for one in mine[::2])
    error = {event.outcome: event.error for event in events if event.error}
    assert error["retried"].startswith("OSError: first")
    assert error["dead"].startswith("Bury: never")
    assert set(error) == {"retried", "dead"}


@kinds
@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async"])
def test_every_start_and_end_is_told(kind, url, client, jobs, is_async):
    events = []
    decider = decide(jobs, is_async)
    refs = {how: decider.using(meta={"how": how}).enqueue(client, how) for how in ENDS}
    unfit = jobs.named("decide", queue="tests").enqueue(client, how=3)
    run_until_idle(kind, url, jobs, on_event=events.append)
    check(events, refs)
    assert all(isinstance(event, JobEvent) for event in events)
    # Its handler has not started.
    assert unfit.id not in {event.id for event in events}


@kinds
def test_an_error_of_the_hook_is_logged_and_changes_nothing(kind, url, client, jobs, caplog):
    @jobs.job("a", retain=60)
    def a() -> int:
        return 1

    def on_event(event):
        raise RuntimeError("in the hook")

    ref = a.enqueue(client)
    with caplog.at_level(logging.ERROR, "leaseq.jobs"):
        assert run_until_idle(kind, url, jobs, on_event=on_event).started == 1
    assert ref.result(0) == 1
    assert "in the hook" in caplog.text


def test_the_hook_is_called_on_one_thread_and_may_stop_the_worker(client, jobs):
    @jobs.job("a")
    def a() -> None: ...

    names = set()

    def on_event(event):
        names.add(threading.current_thread().name)
        if event.kind == "ended" and not stopped.is_set():
            stopped.set()
            threading.Thread(target=worker.stop).start()

    stopped = threading.Event()
    worker = Worker(client, jobs, threads=4, on_event=on_event)
    for _ in range(20):
        a.enqueue(client)
    assert worker.run().reason == "drained"
    assert names == {"leaseq-events"}


def test_a_hook_that_would_have_to_be_awaited_is_refused(jobs):
    async def on_event(event): ...

    with memory() as client, pytest.raises(TypeError, match="plain function"):
        Worker(client, jobs, on_event=on_event)


def test_a_job_that_is_lost_or_given_back_is_told_so(client, jobs):
    begun, events = threading.Event(), []

    @jobs.job("a")
    def a(job: Job) -> None:
        begun.set()
        job.wait_cancelled()
        job.raise_if_cancelled()

    ref = a.enqueue(client)
    with Worker(client, jobs, on_event=events.append):
        begun.wait(30)
        assert ref.cancel()
        eventually(lambda: len(events) == 2)
        begun.clear()
        a.enqueue(client)
        begun.wait(30)
    # At the end of the block the grace period begins, and the handler waits for longer.
    assert [event.outcome for event in events] == [None, "cancelled", None, "released"]


MODULE = """
import asyncio, contextlib, os, signal
from leaseq.jobs import Bury, Cron, Job, Jobs, Retry, Snooze

jobs = Jobs(queue="tests")
pool = apool = None

def note(text):
    with open({notes!r}, "a") as file:
        file.write(f"{{text}} {{os.getpid()}}\\n")

@jobs.around_process
@contextlib.contextmanager
def open_pool():
    global pool
    note("open")
    pool = "pool"
    try:
        yield
    finally:
        note("close")

@jobs.around_process
@contextlib.asynccontextmanager
async def open_apool():
    global apool
    loop = asyncio.get_running_loop()
    async with {group}:
        apool = loop
        note("aopen")
        yield
        assert asyncio.get_running_loop() is loop
        note("aclose")

@jobs.job("sync", retain=60)
def sync() -> list:
    return [pool, apool is not None, os.getpid()]

@jobs.job("async", retain=60)
async def asynchronous() -> list:
    return [pool, apool is asyncio.get_running_loop(), os.getpid()]

@jobs.job("decide", retry=Retry(2, base=0))
def decide(job: Job, how: str = ""):
    if how == "retry" and job.attempt == 1:
        raise OSError("first")
    if how == "bury":
        raise Bury("never")
    if how == "snooze":
        raise Snooze(3600)
    return how
"""
GROUP = "asyncio.TaskGroup()" if hasattr(asyncio, "TaskGroup") else "contextlib.AsyncExitStack()"


@pytest.fixture
def app(tmp_path, monkeypatch):
    """A module that children can import, and what it has noted."""
    name = f"app_{uuid.uuid4().hex}"
    notes = tmp_path / "notes"
    (tmp_path / f"{name}.py").write_text(MODULE.format(notes=str(notes), group=GROUP))
    monkeypatch.syspath_prepend(str(tmp_path))
    return name, lambda: [line.split() for line in notes.read_text().splitlines()]


names = Jobs(queue="tests")
forms = pytest.mark.parametrize("form", ["process", "job", "fork"])


@pytest.fixture
def sqlite_url(tmp_path):
    """What children do is the same on each engine."""
    return f"sqlite:{tmp_path / 'queue.db'}?synchronous=normal"


@forms
def test_what_happens_in_children_is_told(sqlite_url, app, form):
    events = []
    with leaseq.connect(sqlite_url) as client:
        decider = names.named("decide")
        refs = {
            how: decider.using(meta={"how": how}, max_attempts=2).enqueue(client, how=how)
            for how in ENDS
        }
        worker = Worker(
            client, f"{app[0]}:jobs", isolation=form, processes=2, on_event=events.append
        )
        worker.run_until_idle()
    check(events, refs)


@forms
def test_each_child_enters_and_leaves_once(sqlite_url, app, form):
    with leaseq.connect(sqlite_url) as client:
        refs = [
            names.named(name).using(retain=60).enqueue(client) for name in ("sync", "async") * 3
        ]
        Worker(client, f"{app[0]}:jobs", isolation=form, processes=1).run_until_idle()
        results = [ref.result(0) for ref in refs]
    assert [result[:2] for result in results] == [["pool", True]] * 6
    by_process = {}
    for word, pid in app[1]():
        by_process.setdefault(int(pid), []).append(word)
    ran = {result[2] for result in results}
    assert len(ran) == (1 if form == "process" else 6)
    assert ran <= set(by_process)
    # A child that was started for a job that did not come has entered and left, too.
    assert all(words == ["open", "aopen", "aclose", "close"] for words in by_process.values())


@kinds
def test_a_worker_enters_before_the_first_handler_and_leaves_after_the_last(kind, url, client, app):
    refs = [names.named(name).using(retain=60).enqueue(client) for name in ("sync", "async") * 3]
    run_until_idle(kind, url, f"{app[0]}:jobs")
    assert [ref.result(0)[:2] for ref in refs] == [["pool", True]] * 6
    assert [word for word, _ in app[1]()] == ["open", "aopen", "aclose", "close"]


@kinds
@pytest.mark.parametrize("where", ["blocking", "async"])
def test_what_cannot_be_entered_ends_the_start(kind, url, client, jobs, where):
    left = []

    @jobs.around_process
    @contextmanager
    def first():
        try:
            yield
        finally:
            left.append("first")

    @contextmanager
    def blocking():
        raise OSError("no database")
        yield

    @asynccontextmanager
    async def asynchronous():
        raise OSError("no database")
        yield

    jobs.around_process(blocking if where == "blocking" else asynchronous)

    @jobs.job("a", retain=60)
    def a() -> None: ...

    ref = a.enqueue(client)
    with pytest.raises(OSError, match="no database"):
        run_until_idle(kind, url, jobs)
    assert left == ["first"]
    # It is not lost, nor has it used an attempt. What was being leased at the end is given back in
    # the background.
    eventually(lambda: ref.info().state == "ready")
    info = ref.info()
    assert (info.failures, info.expiries) == (0, 0)


@pytest.mark.parametrize("form", ["process", "job"])
def test_a_child_that_cannot_enter_says_why(sqlite_url, app, form, tmp_path):
    (tmp_path / "notes").mkdir()  # which cannot be opened to write
    with leaseq.connect(sqlite_url) as client:
        names.named("sync").enqueue(client)
        worker = Worker(client, f"{app[0]}:jobs", isolation=form, processes=1)
        with pytest.raises(leaseq.InvalidError, match="IsADirectoryError"):
            worker.run_until_idle()


def test_what_is_no_context_manager_is_refused(client, jobs):
    @jobs.job("a")
    def a() -> None: ...

    jobs.around_process(lambda: "a pool")
    with pytest.raises(TypeError, match=r"a pool.*contextmanager"):
        Worker(client, jobs).run_until_idle()


def test_a_worker_in_the_background_leaves_at_its_end(client, jobs):
    seen = []

    @jobs.around_process
    @contextmanager
    def around():
        seen.append("enter")
        yield
        seen.append("leave")

    @jobs.job("a")
    def a() -> None: ...

    worker = Worker(client, jobs)
    for _ in range(2):
        with worker:
            assert seen[-1] == "enter"
        assert seen[-1] == "leave"
    assert len(seen) == 4


def test_handlers_that_do_not_end_keep_what_they_use(client, jobs):
    seen, begun, go = [], threading.Event(), threading.Event()

    @jobs.around_process
    @contextmanager
    def around():
        try:
            yield
        finally:
            seen.append("left")

    @jobs.job("a")
    def a() -> None:
        begun.set()
        go.wait()

    a.enqueue(client)
    worker = Worker(client, jobs)
    worker.start()
    begun.wait(30)
    assert worker.stop(grace=0).running == 1
    assert seen == []
    go.set()


def test_asyncio_enters_and_leaves_in_one_task(url, jobs):
    tasks = []

    @jobs.around_process
    @asynccontextmanager
    async def around():
        tasks.append(asyncio.current_task())
        yield
        tasks.append(asyncio.current_task())

    @jobs.job("a", retain=60)
    async def a() -> int:
        return 1

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            async with AsyncWorker(client, jobs):
                ref = await a.aenqueue(client)
                assert await ref.result(30) == 1
            assert len(tasks) == 2

    asyncio.run(main())
    assert tasks[0] is tasks[1]


def test_schedules_without_an_owner_are_an_error_in_children_too(sqlite_url, app, tmp_path):
    with open(tmp_path / f"{app[0]}.py", "a") as file:
        file.write('jobs.schedule("nightly", decide.new("x"), Cron("0 4 * * *"))\n')
    with leaseq.connect(sqlite_url) as client:
        for form in ("process", "fork"):
            worker = Worker(client, f"{app[0]}:jobs", isolation=form, processes=1)
            with pytest.raises(leaseq.InvalidError, match="schedule 'nightly' has no owner"):
                worker.run_until_idle()
        options = {"deployment": ("tests", 1), "processes": 1}
        Worker(client, f"{app[0]}:jobs", **options).run_until_idle()
        assert [one.name for one in client.queue("tests").schedules()] == ["nightly"]


def test_a_signal_while_a_worker_enters_ends_it(client, jobs):
    left = []

    @jobs.around_process
    @contextmanager
    def around():
        os.kill(os.getpid(), signal.SIGTERM)
        yield
        left.append(True)

    @jobs.job("a")
    def a() -> None: ...

    assert Worker(client, jobs).run().reason == "drained"
    assert left == [True]


def test_the_last_end_is_told_however_soon_the_worker_has_ended_after_it(jobs):
    """The answer of the queue, and with it the end of the worker, may come before the thread of
    the handler goes on: of many rounds that happens in some.
    """
    begun = threading.Event()

    @jobs.job("a")
    def a(job: Job) -> None:
        begun.set()
        job.wait_cancelled()
        raise Snooze(3600)

    with memory() as client:
        for number in range(200):
            begun.clear()
            events = []
            a.enqueue(client)
            with Worker(client, jobs, threads=1, grace=0, on_event=events.append):
                assert begun.wait(30)
            assert [event.outcome for event in events] == [None, "released"], number
