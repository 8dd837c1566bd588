"""Jobs are added with names and arguments, and referred to."""

import asyncio
import functools
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import pytest

import leaseq
from leaseq.jobs import (
    Job,
    JobCancelledError,
    JobFailedError,
    JobGoneError,
    JobRemovedError,
    Jobs,
    Retry,
    Worker,
)


@dataclass
class Row:
    n: int


@pytest.fixture
def jobs():
    return Jobs(queue="mail")


@pytest.fixture
def memory():
    with leaseq.connect("memory:") as client:
        yield client


def data(client, ref):
    return json.loads(client.queue(ref.queue).get(ref.id).data)


def test_a_job_is_its_name_and_its_named_arguments(jobs, memory):
    @jobs.job("mail.send", timeout=30)
    def send(job: Job, to: str, order: int = 1) -> None: ...

    ref = send.enqueue(memory, "ada", order=2)
    assert ref.added
    assert ref.queue == "mail"
    assert data(memory, ref) == {"v": 1, "job": "mail.send", "args": {"to": "ada", "order": 2}}
    # A default is that of the handler that runs.
    assert data(memory, send.enqueue(memory, to="ada"))["args"] == {"to": "ada"}


def test_importing_jobs_connects_to_nothing_and_starts_no_thread():
    code = "import threading, leaseq.jobs; jobs = leaseq.jobs.Jobs(); jobs.job('a')(lambda: None)"
    code += "; print(threading.active_count())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_options_are_those_of_the_job_changed_by_those_of_the_call(jobs, memory):
    @jobs.job("a", retain=60, key=lambda n: f"tenant-{n}", unique="fixed", priority=3)
    def a(n: int) -> None: ...

    changed = a.using(queue="other", delay=5, unique=b"x", meta={"trace": "1"})
    changed = changed.using(meta={"by": "me"}, timeout=timedelta(seconds=2), retry=Retry(3))
    ref = changed.enqueue(memory, 7)
    info = ref.info()
    assert (ref.queue, info.state, info.priority) == ("other", "delayed", 3)
    assert (info.retain, info.key, info.unique) == (60.0, "tenant-7", "x")
    assert data(memory, ref) == {
        "v": 1,
        "job": "a",
        "args": {"n": 7},
        "meta": {"by": "me", "trace": "1"},
        "timeout": 2000,
        "retry": {"max": 3, "base": 1000, "cap": 600000, "on": [], "never": []},
    }
    assert a.enqueue(memory, 1).info().state == "ready"
    # The key is taken.
    again = a.enqueue(memory, 1)
    assert not again.added
    due = datetime.now(timezone.utc) + timedelta(hours=1)
    assert changed.using(due_at=due, unique="y").enqueue(memory, 1).info().state == "delayed"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (float("nan"), "job a: NaN is not a number"),
        ([{"x": float("inf")}], "inf is not a number"),
        (2**53 + 1, "integer 9007199254740993 is beyond 2^53"),
        (-(10**30), "beyond 2^53"),
        ({1: 2}, "a key is a <class 'int'>, not a str"),
        ("\ud800", "surrogates not allowed"),
        (datetime(2026, 1, 1), "has no time zone"),
        (object(), "builtins.object cannot be written as JSON"),
        (1j, "builtins.complex cannot be written as JSON"),
    ],
)
def test_values_that_other_languages_read_differently_are_refused(jobs, memory, value, error):
    @jobs.job("a")
    def a(x: object) -> None: ...

    with pytest.raises(leaseq.InvalidError, match=error.replace("^", r"\^")):
        a.enqueue(memory, value)
    assert memory.queues() == []


def test_deep_and_circular_values_are_refused(jobs, memory):
    @jobs.job("a")
    def a(x: object) -> None: ...

    circle = []
    circle.append(circle)
    deep = 1
    for _ in range(64):
        deep = [deep]
    for value in (circle, deep, {"a": circle}):
        with pytest.raises(leaseq.InvalidError, match="nested more than 64 deep"):
            a.enqueue(memory, value)
    assert a.enqueue(memory, deep[0]).added


def test_wrong_calls_are_type_errors(jobs, memory):
    @jobs.job("a")
    def a(job: Job, n: int) -> None: ...

    for args, kwargs in (((), {}), ((1, 2), {}), ((1,), {"m": 2}), ((), {"job": 1, "n": 1})):
        with pytest.raises(TypeError, match="job a: "):
            a.enqueue(memory, *args, **kwargs)
    with pytest.raises(TypeError, match="has no name in the job"):

        @jobs.job("b")
        def b(*numbers: int) -> None: ...

    with pytest.raises(TypeError, match="has no name"):

        @jobs.job("c")
        def c(n: int, /) -> None: ...


def test_arguments_must_fit_their_annotations(jobs, memory):
    @jobs.job("a")
    def a(to: str, at: datetime | None = None, rows: Sequence[Row] = (), **more: int) -> None: ...

    for kwargs, error in (
        ({"to": 1}, "to: a str is needed, not int"),
        ({"to": None}, "to: a str is needed, not null"),
        ({"to": "ada", "at": "tomorrow"}, r"at: datetime.datetime \| None is needed, not str"),
        ({"to": "ada", "rows": [Row(1), Row("2")]}, "rows: n: an int is needed, not str"),
    ):
        with pytest.raises(TypeError, match=f"job a: {error}"):
            a.enqueue(memory, **kwargs)
        with pytest.raises(TypeError, match=f"job a: {error}"):
            a.new(**kwargs)
    assert memory.queues() == []
    # What a worker reads as the annotation says.
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    ref = a.enqueue(memory, "ada", now, rows=(Row(1), {"n": 2}), other=3)
    assert data(memory, ref)["args"] == {
        "to": "ada",
        "at": "2026-01-01T00:00:00+00:00",
        "rows": [{"n": 1}, {"n": 2}],
        "other": 3,
    }
    # A producer elsewhere knows no annotations.
    assert jobs.named("a").enqueue(memory, to=1).added


def test_names_are_checked_and_unique(jobs):
    jobs.job("a")(lambda: None)
    with pytest.raises(leaseq.InvalidError, match="job a has two handlers"):
        jobs.job("a")(lambda: None)
    for name in ("", "x" * 129):
        with pytest.raises(leaseq.InvalidError, match="not between 1 and 128"):
            jobs.job(name)(lambda: None)
    with pytest.raises(leaseq.InvalidError, match="is no text"):
        jobs.job("a\udc80")(lambda: None)
    with pytest.raises(TypeError, match=r"a job has a name, as in @jobs\.job"):

        @jobs.job
        def nameless() -> None: ...


def test_what_cannot_be_called_to_its_end_is_no_handler(jobs):
    def generator():
        yield

    async def asynchronous():
        yield

    for function, why in (
        (generator, "yield"),
        (asynchronous, "yield"),
        (functools.partial(generator), "yield"),
        (Jobs, "a class"),
        ("f", "no function"),
    ):
        with pytest.raises(TypeError, match=why):
            jobs.job("a")(function)
    assert list(jobs) == []


@dataclass
class Point:
    x: int


class Handler:
    def __call__(self, job: Job, point: Point) -> Point:
        return Point(point.x + 1)


class AsyncHandler:
    async def __call__(self, job: Job, point: Point) -> Point:
        await asyncio.sleep(0)
        return Handler()(job, point)

    async def method(self, point: Point) -> Point:
        return Point(point.x + 1)


def test_whatever_can_be_called_is_a_handler(jobs, memory):
    """With its annotations, wherever they are written."""
    function = functools.partial(Handler.__call__, None)
    asynchronous = functools.partial(AsyncHandler.method, None)
    handlers = (Handler(), AsyncHandler(), function, asynchronous, AsyncHandler().method)
    kinds = [jobs.job(f"a{n}", retain=60)(handler) for n, handler in enumerate(handlers)]
    refs = [kind.enqueue(memory, point=Point(1)) for kind in kinds]
    assert Worker(memory, jobs).run_until_idle().started == len(handlers)
    assert [ref.result(0) for ref in refs] == [Point(2)] * len(handlers)


def test_a_coroutine_that_a_decorator_hides_fails_and_says_why(jobs, memory):
    async def written() -> None: ...

    hidden = jobs.job("a", retry=Retry(1))(functools.wraps(written)(lambda: written()))
    ref = hidden.enqueue(memory)
    Worker(memory, jobs).run_until_idle()
    assert "the handler has returned a coroutine" in ref.info().last_error


def test_a_job_whose_handler_is_elsewhere_takes_any_named_arguments(jobs, memory):
    pdf = jobs.named("pdf.render", queue="pdf")
    ref = pdf.enqueue(memory, id=7)
    assert ref.queue == "pdf"
    assert data(memory, ref) == {"v": 1, "job": "pdf.render", "args": {"id": 7}}
    with pytest.raises(TypeError, match="its arguments have names"):
        pdf.enqueue(memory, 7)


def test_many_jobs_are_added_together_or_not_at_all(jobs, memory):
    @jobs.job("a")
    def a(n: object) -> None: ...

    pdf = jobs.named("pdf", queue="pdf")
    refs = jobs.enqueue_many(memory, [a.new(0), pdf.new(id=1), *(a.new(n) for n in range(2, 1200))])
    assert len({ref.id for ref in refs}) == 1200
    assert data(memory, refs[1])["job"] == "pdf"
    assert [data(memory, refs[n])["args"] for n in (0, 1199)] == [{"n": 0}, {"n": 1199}]
    with pytest.raises(leaseq.InvalidError):
        jobs.enqueue_many(memory, [a.new(1), pdf.new(id=1), a.new(float("nan"))])
    assert memory.queue("mail").queue_len() == 1199


def test_what_is_wrong_with_a_job_is_told_when_it_is_declared():
    jobs = Jobs(queue="q")
    for timeout in (-1, 0, 0.0009, 30 * 86_400 + 1, float("nan")):
        with pytest.raises(leaseq.InvalidError, match=r"job a: .* not between 1 ms and 30 days"):
            jobs.job("a", timeout=timeout)
    with pytest.raises(TypeError, match="job a: retry is a Retry, not str"):
        jobs.job("a", retry="x")  # type: ignore[arg-type]

    @jobs.job("a")
    def a() -> None: ...

    with pytest.raises(leaseq.InvalidError, match="job a: a timeout of 0 seconds"):
        a.using(timeout=0)
    with pytest.raises(TypeError, match="job a: retry is a Retry, not int"):
        a.using(retry=5)  # type: ignore[arg-type]
    with leaseq.connect("memory:") as client:
        with pytest.raises(TypeError, match="middleware is called, and 5 is no function"):
            Worker(client, jobs, middleware=[5])  # type: ignore[list-item]
        with pytest.raises(TypeError, match="on_event is called, and 5 is no function"):
            Worker(client, jobs, on_event=5)  # type: ignore[arg-type]


def test_a_client_of_the_other_kind_is_refused_before_anything_is_added():
    jobs = Jobs(queue="q")

    @jobs.job("a")
    def a(n: int) -> None: ...

    async def main() -> None:
        async with await leaseq.asyncio.connect("memory:") as client:
            for call in (
                lambda: a.enqueue(client, 1),  # type: ignore[arg-type]
                lambda: jobs.enqueue_many(client, [a.new(1)]),  # type: ignore[arg-type]
                lambda: jobs.enqueue_group(client, "g", [a.new(1)]),  # type: ignore[arg-type]
                lambda: a.ref(client, "id"),  # type: ignore[arg-type]
            ):
                with pytest.raises(TypeError, match="call aenqueue"):
                    call()
            assert (await client.queue("q").counts()).totals.added == 0
        with leaseq.connect("memory:") as blocking:
            for start in (
                lambda: a.aenqueue(blocking, 1),  # type: ignore[arg-type]
                lambda: jobs.aenqueue_many(blocking, [a.new(1)]),  # type: ignore[arg-type]
                lambda: jobs.aenqueue_group(blocking, "g", [a.new(1)]),  # type: ignore[arg-type]
            ):
                with pytest.raises(TypeError, match="call enqueue"):
                    await start()
            with pytest.raises(TypeError, match="call enqueue"):
                a.aref(blocking, "id")  # type: ignore[arg-type]
            assert blocking.queue("q").counts().totals.added == 0
            with pytest.raises(leaseq.InvalidError, match='queue name ""'):
                a.using(queue="").enqueue(blocking, 1)

    asyncio.run(main())


def test_functions_around_enqueue_change_the_meta_of_jobs(jobs, memory):
    steps = []

    @jobs.around_enqueue
    @contextmanager
    def outer(new):
        steps.append("outer")
        for job in new:
            job.meta["by"] = "outer"
        yield
        steps.append("added")

    @jobs.around_enqueue
    @contextmanager
    def inner(new):
        steps.append("inner")
        new[0].meta["by"] += " and inner"
        yield

    @jobs.job("a")
    def a() -> None: ...

    assert data(memory, a.enqueue(memory))["meta"] == {"by": "outer and inner"}
    assert steps == ["outer", "inner", "added"]


def test_a_reference_says_how_a_job_has_ended(jobs, memory):
    @jobs.job("a", retain=60)
    def a(n: int) -> int: ...

    queue = memory.queue("mail")

    def ended(end):
        ref = a.enqueue(memory, 1)
        end(ref)
        return ref

    completed = ended(lambda ref: queue.complete(queue.lease(30), result="5"))
    assert completed.result() == 5
    assert a.ref(memory, completed.id).result() == 5
    other = ended(lambda ref: queue.complete(queue.lease(30), result='"5"'))
    with pytest.raises(TypeError, match="has another result: an int is needed, not str"):
        other.result()
    dead = ended(lambda ref: queue.fail(queue.lease(30), "Bad: luck", dead=True))
    with pytest.raises(JobFailedError, match="Bad: luck"):
        dead.result()
    with pytest.raises(JobCancelledError):
        ended(lambda ref: ref.cancel()).result()
    removed = a.enqueue(memory, 1)
    with pytest.raises(TimeoutError, match="has not ended within 0 s"):
        removed.result(0)
    queue.remove(removed.id)
    with pytest.raises((JobRemovedError, JobGoneError)):
        removed.result()
    kept = a.using(retain=0).enqueue(memory, 1)
    queue.complete(queue.lease(30), result="5")
    with pytest.raises(JobGoneError):
        kept.result()


def test_the_same_for_asyncio(jobs, url):
    @jobs.job("a", retain=60)
    async def a(n: int) -> int: ...

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("mail")
            ref = await a.using(priority=1).aenqueue(client, n=1)
            assert (await ref.info()).priority == 1
            with pytest.raises(TimeoutError):
                await ref.result(0)
            await queue.complete(await queue.lease(30), result="5")
            assert await ref.result() == 5
            assert await a.aref(client, ref.id).result(5) == 5
            refs = await jobs.aenqueue_many(client, [a.new(1), a.new(2)])
            assert await refs[0].cancel()
            with pytest.raises(JobCancelledError):
                await refs[0].result()
            assert (await refs[1].info()).state == "ready"

    asyncio.run(main())


def test_retry_rules_are_checked():
    assert Retry(5, on=(OSError, "RateLimited"), never=ValueError).on == ("OSError", "RateLimited")
    assert Retry(never=ValueError).never == ("ValueError",)
    assert Retry(base=timedelta(minutes=1)).base == 60
    for wrong in (0, 65_536):
        with pytest.raises(leaseq.InvalidError):
            Retry(wrong)
    with pytest.raises(TypeError):
        Retry(1.5)
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(leaseq.InvalidError):
            Retry(base=wrong)


def test_the_progress_of_a_job_is_shown_while_somebody_waits(jobs, memory, capfd):
    @jobs.job("a", retain=60)
    def a(job: Job) -> int:
        job.progress("half\x1b[2Jway")
        while not shown:
            job.wait_cancelled(0.01)
        return 5

    shown = []
    ref = a.enqueue(memory)
    with pytest.raises(TimeoutError):
        ref.wait(0.01, progress=True)
    with Worker(memory, jobs, threads=1):
        waiting = threading.Thread(target=lambda: results.append(ref.result(30, progress=True)))
        results = []
        waiting.start()
        said = ""
        while "half" not in said:
            said += capfd.readouterr().err
        shown.append(True)
        waiting.join()
    assert results == [5]
    assert "a: ready\n" in said
    assert "a: half?[2Jway\n" in said
