"""Workers with threads and with asyncio do the same with handlers."""

import asyncio
import contextlib
import logging
import threading
import time
from contextvars import ContextVar

import pytest
from conftest import eventually
from jobs_support import KINDS, run_until_idle

import leaseq
from leaseq.jobs import (
    AsyncWorker,
    Bury,
    Discard,
    Job,
    JobCancelledError,
    JobFailedError,
    JobFilter,
    Jobs,
    Retry,
    RetryAfter,
    Snooze,
    Worker,
    current_job,
)

PATIENCE = 30
pytestmark = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def jobs():
    return Jobs(queue="tests")


def handler(jobs, function, is_async, **options):
    """Register the same handler as `def` or as `async def`."""
    if not is_async:
        return jobs.job("a", **options)(function)

    async def asynchronous(job: Job, n: int = 0):
        await asyncio.sleep(0)
        return function(job, n)

    return jobs.job("a", **options)(asynchronous)


is_async = pytest.mark.parametrize("is_async", [False, True], ids=["def", "async"])


@is_async
def test_handlers_run_and_their_results_are_kept(kind, url, client, jobs, is_async):
    seen = []

    def run(job: Job, n: int = 0):
        assert current_job() is job
        seen.append((job.name, job.queue, job.attempt, job.max_attempts, job.last_error))
        assert 0 < job.remaining <= 30
        assert not job.cancelled
        return {"n": n, "id": job.id, "meta": job.meta}

    a = handler(jobs, run, is_async, retain=60, timeout=30)
    refs = [a.using(meta={"k": "v"}).enqueue(client, n=n) for n in range(20)]
    assert run_until_idle(kind, url, jobs).started == 20
    expected = [{"n": n, "id": ref.id, "meta": {"k": "v"}} for n, ref in enumerate(refs)]
    assert [ref.result(0) for ref in refs] == expected
    assert seen == [("a", "tests", 1, 10, "")] * 20
    assert current_job() is None


class HttpError(OSError):
    pass


@is_async
@pytest.mark.parametrize(
    ("retry", "state"),
    [
        (Retry(2, base=60), "delayed"),
        (Retry(1), "dead"),
        (Retry(5, on=OSError, base=60), "delayed"),
        (Retry(5, on="OSError", base=60), "delayed"),
        (Retry(5, on=ValueError), "dead"),
        (Retry(5, never=HttpError), "dead"),
        (Retry(5, on=OSError, never="HttpError"), "dead"),
    ],
)
def test_exceptions_are_retried_by_their_class_and_superclasses(
    kind, url, client, jobs, is_async, retry, state
):
    def run(job: Job, n: int = 0):
        try:
            {}["key"]
        except KeyError as cause:
            raise HttpError("429 ☃") from cause

    ref = handler(jobs, run, is_async, retry=retry).enqueue(client)
    run_until_idle(kind, url, jobs)
    info = ref.info()
    assert info.state == state or (state == "delayed" and info.failures == 1)
    assert info.last_error.startswith("HttpError: 429 ☃\n")
    assert 'raise HttpError("429 ☃")' in info.last_error
    assert "caused by KeyError: 'key'" in info.last_error
    assert "leaseq/jobs" not in info.last_error


@is_async
@pytest.mark.parametrize("returned", [False, True], ids=["raised", "returned"])
def test_handlers_decide_what_comes_next(kind, url, client, jobs, is_async, returned):
    ends = [Discard("done"), Bury("never"), RetryAfter(60, "later"), Snooze(60)]

    def run(job: Job, n: int = 0):
        if returned:
            return ends[n]
        raise ends[n]

    a = handler(jobs, run, is_async, retain=60, retry=Retry(5, on="Nothing"))
    refs = [a.enqueue(client, n=n) for n in range(4)]
    run_until_idle(kind, url, jobs)
    infos = [ref.info() for ref in refs]
    assert [info.state for info in infos] == ["completed", "dead", "delayed", "delayed"]
    assert [info.failures for info in infos] == [0, 1, 1, 0]
    assert infos[0].result is None
    assert [info.last_error for info in infos[1:]] == ["Bury: never", "RetryAfter: later", ""]
    assert infos[3].releases.reason == "snooze"
    with pytest.raises(JobFailedError, match="Bury: never"):
        refs[1].result(0)


class UnprintableError(Exception):
    def __str__(self):
        raise SystemExit


class UnpicklableError(Exception):
    def __init__(self, lock):
        super().__init__("\ud800")
        self.lock = lock

    def __reduce__(self):
        raise TypeError


def recurse():
    return recurse()


@is_async
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (MemoryError(), "MemoryError"),
        (StopIteration(1), "RuntimeError: coroutine raised StopIteration"),
        (asyncio.CancelledError(), "CancelledError"),
        (UnprintableError(), "UnprintableError: its message cannot be shown"),
        (UnpicklableError(threading.Lock()), "UnpicklableError: ?"),
        (RecursionError("deep"), "RecursionError: deep"),
        (ValueError("x" * 5000), "ValueError: " + "x" * 500 + "…"),
        (None, "RecursionError: maximum recursion depth exceeded"),
        (BaseException, "BaseException"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_no_exception_ends_the_worker(kind, url, client, jobs, is_async, error, text):
    def run(job: Job, n: int = 0):
        if n == 1:
            return "fine"
        if error is None:
            recurse()
        raise error

    if isinstance(error, StopIteration) and not is_async:
        text = "StopIteration: 1"
    a = handler(jobs, run, is_async, retain=60, retry=Retry(1))
    refs = [a.enqueue(client, n=n) for n in (0, 1)]
    assert run_until_idle(kind, url, jobs).status == 0
    assert refs[0].info().last_error.splitlines()[0].startswith(text)
    assert refs[1].result(0) == "fine"


@is_async
def test_a_result_that_json_cannot_express_is_a_failure(kind, url, client, jobs, is_async):
    def run(job: Job, n: int = 0):
        return [object(), float("nan"), 2**60][n]

    a = handler(jobs, run, is_async, retry=Retry(1))
    refs = [a.enqueue(client, n=n) for n in range(3)]
    run_until_idle(kind, url, jobs)
    errors = [ref.info().last_error for ref in refs]
    assert errors[0].startswith("InvalidResult: the result: builtins.object cannot be written")
    assert errors[1].startswith("InvalidResult: the result: NaN is not a number")
    assert errors[2].startswith("InvalidResult: the result: integer 1152921504606846976 is beyond")


def test_arguments_that_do_not_fit_release_the_job(kind, url, client, jobs):
    @jobs.job("a")
    def a(n: int, m: int = 0):
        raise AssertionError("it runs")

    elsewhere = jobs.named("a")
    wrong = {
        "n: an int is needed, not str": {"n": "1"},
        "unknown argument 'x'": {"n": 1, "x": 1},
        "argument 'n' is missing": {"m": 1},
    }
    refs = {error: elsewhere.enqueue(client, **args) for error, args in wrong.items()}
    unknown = jobs.named("unknown").enqueue(client)
    run_until_idle(kind, url, jobs)
    for ref in (*refs.values(), unknown):
        info = ref.info()
        assert (info.state, info.failures, info.releases.reason) == ("delayed", 0, "unhandled")


def test_context_variables_of_one_job_are_not_those_of_another(kind, url, client, jobs):
    number = ContextVar("number", default=0)

    @jobs.job("a", retain=60)
    def a() -> int:
        number.set(number.get() + 1)
        return number.get()

    @jobs.job("b", retain=60)
    async def b() -> int:
        number.set(number.get() + 1)
        await asyncio.sleep(0)
        return number.get()

    refs = [kind.enqueue(client) for kind in (a, b) * 5]
    options = {"threads": 1} if kind == "threads" else {"concurrency": 1}
    run_until_idle(kind, url, jobs, **options)
    assert [ref.result(0) for ref in refs] == [1] * 10


def test_middleware_is_entered_around_handlers(kind, url, client, jobs):
    steps = []

    def layer(name):
        @contextlib.contextmanager
        def around(job: Job):
            steps.append(f"{name} enters {job.name}")
            try:
                yield
            except ValueError:
                steps.append(f"{name} sees an error")
                raise
            steps.append(f"{name} leaves")

        return around

    @jobs.job("a", retry=Retry(1))
    def a():
        steps.append("a")

    @jobs.job("b", retry=Retry(1))
    async def b():
        raise ValueError

    options = {"middleware": [layer("1"), layer("2")]}
    a.enqueue(client)
    run_until_idle(kind, url, jobs, **options)
    assert steps == ["1 enters a", "2 enters a", "a", "2 leaves", "1 leaves"]
    steps.clear()
    b.enqueue(client)
    run_until_idle(kind, url, jobs, **options)
    assert steps == ["1 enters b", "2 enters b", "2 sees an error", "1 sees an error"]


def test_log_records_name_the_job(kind, url, client, jobs, caplog):
    @jobs.job("a")
    def a():
        logging.getLogger("app").warning("from a")

    @jobs.job("b")
    async def b():
        logging.getLogger("app").warning("from b")

    caplog.handler.addFilter(JobFilter())
    ids = {a.enqueue(client).id, b.enqueue(client).id}
    run_until_idle(kind, url, jobs)
    logging.getLogger("app").warning("from outside")
    records = [record for record in caplog.records if record.name == "app"]
    assert {record.job_id for record in records[:2]} == ids
    assert {(r.job, r.getMessage(), r.job_attempt) for r in records} == {
        ("a", "from a", 1),
        ("b", "from b", 1),
        ("-", "from outside", 0),
    }


class Background:
    """A worker that runs in the background, of either kind."""

    def __init__(self, kind, url, jobs, **options):
        self.kind, self.url, self.jobs, self.options = kind, url, jobs, options
        self.thread = threading.Thread(target=self._run)
        self.started = threading.Event()
        self.is_told = False

    def _run(self):
        if self.kind == "threads":
            with leaseq.connect(self.url) as client:
                self.worker = Worker(client, self.jobs, **self.options)
                self.started.set()
                self.exit = self.worker.run()
        else:
            asyncio.run(self._arun())

    async def _arun(self):
        self.loop = asyncio.get_running_loop()
        async with await leaseq.asyncio.connect(self.url) as client:
            self.worker = AsyncWorker(client, self.jobs, **self.options)
            self.started.set()
            self.exit = await self.worker.run()

    def stop(self, grace=None):
        self.is_told = True
        if self.kind == "threads":
            return self.worker.stop(grace)
        return asyncio.run_coroutine_threadsafe(self.worker.stop(grace), self.loop).result(60)

    def __enter__(self):
        self.thread.start()
        assert self.started.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        # One that has been told may end its loop at any time, which would never answer.
        if self.thread.is_alive() and not self.is_told:
            with contextlib.suppress(RuntimeError):
                self.stop(0)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


def test_a_worker_can_be_stopped_while_it_starts(kind, url, client, jobs):
    started = threading.Event()

    @jobs.job("a")
    def a():
        started.set()

    a.enqueue(client)
    slots = "threads" if kind == "threads" else "concurrency"
    with Background(kind, url, jobs, **{slots: 500}) as background:
        assert started.wait(PATIENCE)
        assert background.stop().running == 0


def test_a_cancelled_job_ends_as_cancelled(kind, url, client, jobs):
    started = threading.Semaphore(0)

    @jobs.job("a", retain=60)
    def a(job: Job):
        started.release()
        assert job.wait_cancelled(PATIENCE)
        assert job.cancel_reason == "user"
        job.raise_if_cancelled()

    @jobs.job("b", retain=60)
    async def b(job: Job):
        started.release()
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            assert job.cancel_reason == "user"

    @jobs.job("c", retain=60)
    async def c():
        started.release()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(PATIENCE)
        return "done nevertheless"

    refs = [one.enqueue(client) for one in (a, b, c)]
    with Background(kind, url, jobs, lease=1):
        for _ in refs:
            assert started.acquire(timeout=PATIENCE)
        assert all(ref.cancel() for ref in refs)
        for ref in refs[:2]:
            with pytest.raises(JobCancelledError):
                ref.result(PATIENCE)
        assert refs[2].wait(PATIENCE).kind in ("completed", "cancelled")


@is_async
def test_timeouts_cancel_and_can_be_prolonged(kind, url, client, jobs, is_async):
    def run(job: Job, n: int = 0):
        if n == 1:
            job.more_time(PATIENCE)
            assert not job.wait_cancelled(0.5)
            return "in time"
        assert job.wait_cancelled(PATIENCE)
        job.raise_if_cancelled()
        return None

    if is_async:

        @jobs.job("a", timeout=0.3, retain=60, retry=Retry(1))
        async def a(job: Job, n: int = 0):
            if n == 1:
                job.more_time(PATIENCE)
                await asyncio.sleep(0.5)
                return "in time"
            return await asyncio.sleep(PATIENCE)
    else:
        a = jobs.job("a", timeout=0.3, retain=60, retry=Retry(1))(run)
    refs = [a.enqueue(client, n=n) for n in (0, 1)]
    run_until_idle(kind, url, jobs)
    assert refs[0].info().last_error.startswith("Timeout: the handler ran for more than 300ms")
    assert refs[1].result(0) == "in time"


def test_progress_is_seen_from_outside(kind, url, client, jobs):
    go = threading.Event()

    @jobs.job("a")
    def a(job: Job):
        for n in range(100):
            job.progress(f"{n} of 99")
        with pytest.raises(leaseq.InvalidError, match="progress of 1025 bytes"):
            job.progress("x" * 1025)
        assert go.wait(PATIENCE)

    ref = a.enqueue(client)
    with Background(kind, url, jobs):
        eventually(lambda: ref.info().progress == b"99 of 99")
        go.set()
        ref.wait(PATIENCE)


def test_stopping_lets_handlers_end_and_then_cancels_them(kind, url, client, jobs):
    started = threading.Semaphore(0)

    @jobs.job("a", retain=60)
    def a(job: Job, grace: bool):
        started.release()
        job.wait_cancelled(0.3 if grace else PATIENCE)
        job.raise_if_cancelled()
        return "done"

    @jobs.job("b", retain=60)
    async def b(grace: bool):
        started.release()
        await asyncio.sleep(0.3 if grace else PATIENCE)
        return "done"

    refs = [one.enqueue(client, grace=True) for one in (a, b)]
    with Background(kind, url, jobs) as background:
        assert started.acquire(timeout=PATIENCE)
        assert started.acquire(timeout=PATIENCE)
        assert background.stop().reason == "drained"
    assert [ref.result(0) for ref in refs] == ["done", "done"]
    refs = [one.enqueue(client, grace=False) for one in (a, b)]
    with Background(kind, url, jobs) as background:
        assert started.acquire(timeout=PATIENCE)
        assert started.acquire(timeout=PATIENCE)
        began = time.monotonic()
        assert background.stop(grace=0).running == 0
        assert time.monotonic() - began < 3
    for ref in refs:
        info = ref.info()
        assert (info.state, info.failures, info.releases.reason) == ("ready", 0, "shutdown")


def test_a_worker_says_what_is_wrong_with_its_options(kind, url, jobs):
    jobs.job("a")(lambda: None)
    slots = "threads" if kind == "threads" else "concurrency"
    for options, error in [
        ({slots: 0}, "number of slots 0 is not between 1 and 1000"),
        ({"prefetch": 1000}, "prefetch"),
        ({"queues": {"x": 0}}, "the weight of x 0 is not between 1 and 1000"),
        ({"queues": {"x/y": 1}}, "x/y"),
        ({"queues": []}, "number of queues 0"),
        ({"lease": 0.01}, "lease in ms 10 is not between 100"),
        ({"max_jobs": 0}, "max_jobs 0"),
        ({"grace": -1}, "a grace period of -1 seconds"),
    ]:
        with pytest.raises(leaseq.InvalidError, match=error):
            run_until_idle(kind, url, jobs, **options)
    with pytest.raises(leaseq.InvalidError, match="a worker without a handler"):
        run_until_idle(kind, url, Jobs(), queues=["x"])
    with pytest.raises(TypeError, match="not a str"):
        run_until_idle(kind, url, jobs, queues="mail")
    other = Jobs()
    other.job("a")(lambda: None)
    with pytest.raises(leaseq.InvalidError, match="job a has two handlers"):
        run_until_idle(kind, url, [jobs, other])


def test_queues_and_the_number_of_jobs(kind, url, client):
    first, second = Jobs(queue="one"), Jobs(queue="two")
    first.job("a")(lambda: None)
    second.job("b")(lambda: None)
    for each in (*first, *second):
        for _ in range(3):
            each.enqueue(client)
    assert run_until_idle(kind, url, [first, second], queues=["two"], max_jobs=2).started == 2
    assert client.queue("two").queue_len() == 1
    assert run_until_idle(kind, url, [first, second], queues={"one": 2}).started == 3
    idle = run_until_idle(kind, url, first)
    assert (idle.reason, idle.started, idle.status) == ("idle", 0, 3)
    assert run_until_idle(kind, url, [first, second]).started == 1
