"""Handlers in child processes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import uuid

import pytest
from conftest import PATIENCE, eventually

import leaseq
from leaseq.jobs import JobCancelledError, JobFailedError, Jobs, Worker

APP = '''
import asyncio, contextlib, ctypes, os, signal, subprocess, sys, threading, time
from dataclasses import dataclass
from leaseq.jobs import Bury, Discard, Job, Jobs, Retry, RetryAfter, Snooze, current_job

jobs = Jobs(queue="tests")
count = 0

@jobs.around_handler
@contextlib.contextmanager
def around(job: Job):
    global seen
    seen = f"around {job.name}"
    yield

def register(function, name=None, **options):
    options = {"retry": Retry(1), **options}
    return jobs.job(name or function.__name__, retain=60, **options)(function)

@dataclass
class Point:
    x: int
    y: float = 0.5

@register
def about(job: Job, point: Point, text: str = "☃") -> dict:
    global count
    count += 1
    assert current_job() is job and isinstance(point, Point)
    return {"seen": seen, "id": ascii(job.id), "meta": job.meta, "attempt": job.attempt,
            "max": job.max_attempts, "queue": job.queue, "point": point, "text": text,
            "remaining": 0 < job.remaining <= 3600, "stdin": sys.stdin.read(), "count": count}

async def about_async(job: Job, point: Point, text: str = "☃") -> dict:
    await asyncio.sleep(0)
    return about.function(job, point, text)
register(about_async)

@register
def decide(how: str):
    if how == "discard": raise Discard
    if how == "bury": return Bury("never")
    if how == "later": raise RetryAfter(60, "busy")
    if how == "snooze": raise Snooze(60)

class Unprintable(Exception):
    def __str__(self): raise RuntimeError
    def __reduce__(self): raise RuntimeError

class Local(ValueError):
    def __init__(self, a, b): super().__init__(a)

@register
def fail(how: str):
    if how == "unprintable": raise Unprintable
    if how == "unpicklable": raise Local("text", object())
    if how == "recursion": fail.function(how)
    if how == "memory": return bytearray(1 << 62)
    if how == "exit": sys.exit(3)
    if how == "_exit": os._exit(9)
    if how == "_exit_0": os._exit(0)
    if how == "abort": ctypes.CDLL(None).abort()
    if how == "segfault": ctypes.string_at(0)
    if how == "fork":
        # The child returns from the handler, too.
        pid = os.fork()
        if pid: os.waitpid(pid, 0)
        return pid > 0
    if how == "result": return object()
    if how == "nan": return float("nan")
    if how == "thread": threading.Thread(target=time.sleep, args=(600,)).start()
    if how == "closed": os.closerange(0, 64); return 1

@register
def allocate(job: Job):
    kept = []
    while len(kept) < 30 and not job.wait_cancelled(0.05):
        kept.append(b"x" * (20 << 20))
    job.wait_cancelled(10)

def hold(job: Job):
    """Hold the lock of the interpreter, in C."""
    job.progress("begun")
    ctypes.PyDLL(None).sleep(5)
    return "done"
register(hold)

register(hold, "hold_too_long", timeout=0.2)

@register
def wait(job: Job):
    job.progress("begun")
    assert job.wait_cancelled(60)
    job.raise_if_cancelled()

@register
async def await_(job: Job):
    job.progress("begun")
    await asyncio.sleep(60)

@register
def pause(job: Job):
    job.progress("begun")
    time.sleep(1)
    child = subprocess.Popen(["sleep", "60"])
    child.terminate()
    forked = os.fork()
    if forked == 0:
        time.sleep(60)
    os.kill(forked, signal.SIGTERM)
    return [child.wait(), os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])]

@register
def ignore(job: Job):
    job.progress("begun")
    time.sleep(60)

def more(job: Job):
    job.more_time(30)
    time.sleep(0.6)
    return "in time"
register(more, "more", timeout=0.3)

def retried(job: Job) -> list[str]:
    if job.attempt == 1: raise OSError("first")
    return [job.last_error.splitlines()[0], str(job.attempt)]
register(retried, retry=Retry(2, base=0))
'''
names = Jobs(queue="tests")
FORMS = ["process", "job", "fork"]


def new(name):
    return names.named(name).using(retain=60)


@pytest.fixture
def app(tmp_path, monkeypatch):
    """A module of its own, which children can import."""
    name = f"app_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(APP)
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"{name}:jobs"


def run(client, app, form="process", processes=1, **options):
    return Worker(client, app, isolation=form, processes=processes, **options).run_until_idle()


@pytest.fixture
def url(tmp_path):
    """What children do is the same on each engine."""
    return f"sqlite:{tmp_path / 'queue.db'}?synchronous=normal"


forms = pytest.mark.parametrize("form", FORMS)


@forms
def test_handlers_get_what_they_get_elsewhere(client, app, form):
    refs = [
        new(name).using(meta={"k": "v"}).enqueue(client, point={"x": n})
        for n in range(2)
        for name in ("about", "about_async")
    ]
    exit = run(client, app, form)
    assert (exit.started, exit.status) == (4, 0)
    counts = []
    for number, ref in enumerate(refs):
        result = ref.result(0)
        counts.append(result.pop("count"))
        assert result == {
            "seen": f"around {ref.name}",
            "id": ascii(ref.id),
            "meta": {"k": "v"},
            "attempt": 1,
            "max": 1,
            "queue": "tests",
            "point": {"x": number // 2, "y": 0.5},
            "text": "☃",
            "remaining": True,
            "stdin": "",
        }
    assert counts == ([1, 2, 3, 4] if form == "process" else [1] * 4)


@forms
def test_errors_and_decisions_are_those_of_other_workers(client, app, form):
    ends = {
        how: new("decide").enqueue(client, how=how)
        for how in ("discard", "bury", "later", "snooze")
    }
    retried = new("retried").enqueue(client)
    unfit = new("about").enqueue(client, point=3)
    odd = names.named("nowhere").enqueue(client)
    run(client, app, form, processes=2)
    assert ends["discard"].wait(0).kind == "completed"
    with pytest.raises(JobFailedError, match="Bury: never"):
        ends["bury"].result(0)
    for how, failures in (("later", 0), ("snooze", 0)):
        info = ends[how].info()
        assert info.state == ("dead" if how == "later" else "delayed"), how
        assert failures == 0
    assert retried.result(0) == ["OSError: first", "2"]
    for ref in (unfit, odd):
        assert ref.info().releases.reason == "unhandled"


ERRORS = {
    "unprintable": "Unprintable: its message cannot be shown",
    "unpicklable": "Local: text",
    "recursion": "RecursionError",
    "memory": "MemoryError",
    "exit": "SystemExit: 3",
    "_exit": "ChildDied: the child ended with status 9",
    "_exit_0": "ChildDied: the child ended with status 0 before its answer",
    "abort": "ChildDied: the child was killed by signal 6",
    "segfault": "ChildDied: the child was killed by signal 11",
    "result": "InvalidResult: the result",
    "nan": "InvalidResult: the result",
    "closed": "ChildDied",
}


@forms
def test_whatever_a_handler_does_ends_only_its_job(client, app, form):
    refs = {how: new("fail").enqueue(client, how=how) for how in ERRORS}
    fork = new("fail").enqueue(client, how="fork")
    thread = new("fail").enqueue(client, how="thread")
    last = new("about").enqueue(client, point={"x": 1})
    assert run(client, app, form, processes=2).started == len(ERRORS) + 3
    for how, error in ERRORS.items():
        info = refs[how].info()
        assert info.state == "dead", how
        assert error.split(" by ")[0] in info.last_error, how
    assert fork.result(0) is True
    assert thread.wait(0).completed
    assert last.result(0)["id"] == ascii(last.id)


def test_a_child_over_its_limit_is_killed(client, app):
    ref = new("allocate").enqueue(client)
    run(client, app, memory_limit=300 << 20)
    assert ref.info().last_error.startswith("OutOfMemory: the child used")


@forms
def test_what_does_not_end_is_cancelled_and_then_killed(client, app, form):
    """Also what holds the lock of the interpreter."""
    refs = [new(name).enqueue(client) for name in ("hold_too_long", "more")]
    run(client, app, form, processes=2, kill_after=0.3, lease=1)
    assert refs[0].info().last_error.startswith("Timeout: the handler ran for more than 200ms")
    assert refs[1].result(0) == "in time"


def test_a_lease_is_kept_while_a_handler_holds_the_interpreter(client, app):
    ref = new("hold").enqueue(client)
    run(client, app, lease=0.5)
    assert ref.result(0) == "done"


@forms
def test_cancelled_jobs_end(client, app, form):
    refs = [new(name).enqueue(client) for name in ("wait", "await_", "ignore")]
    with Worker(client, app, isolation=form, processes=3, kill_after=0.5, lease=1):
        for ref in refs:
            eventually(lambda ref=ref: (info := ref.info()) and info.progress == b"begun")
            assert ref.cancel()
        for ref in refs:
            with pytest.raises(JobCancelledError):
                ref.result(PATIENCE)


@forms
def test_a_worker_that_ends_gives_its_jobs_back(client, app, form):
    refs = [new(name).enqueue(client) for name in ("wait", "await_", "ignore")]
    worker = Worker(client, app, isolation=form, processes=3)
    with worker:
        for ref in refs:
            eventually(lambda ref=ref: (info := ref.info()) and info.progress == b"begun")
        worker.stop(grace=0)
    for ref in refs:
        info = ref.info()
        assert (info.failures, info.releases.reason) == (0, "shutdown")


def processes_below(pid):
    """Return the processes that this one has started, and those that they have."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    children = [int(child) for child in found.stdout.split()]
    return [*children, *(below for child in children for below in processes_below(child))]


@forms
def test_a_signal_for_all_processes_of_a_service_ends_no_job(client, app, form):
    ref = new("pause").enqueue(client)
    # The servers of the tests.
    others = processes_below(os.getpid())
    with Worker(client, app, isolation=form, processes=1) as worker:
        eventually(lambda: (info := ref.info()) and info.progress == b"begun")
        for number in (signal.SIGTERM, signal.SIGINT):
            for pid in set(processes_below(os.getpid())) - set(others):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        worker.stop(grace=PATIENCE)
    # The processes that the handler has started and forked.
    assert ref.result(0) == [-signal.SIGTERM, -signal.SIGTERM]
    info = ref.info()
    assert (info.failures, info.expiries, info.state) == (0, 0, "completed")


@forms
def test_a_killed_worker_takes_its_children_along(url, client, app, form, program, tmp_path):
    code = f"""
    import sys, leaseq
    from leaseq.jobs import Worker
    sys.path.insert(0, {str(tmp_path)!r})
    with leaseq.connect() as client:
        Worker(client, {app!r}, isolation={form!r}, processes=2, lease=1).run()
    """
    ref = new("ignore").using(max_attempts=2).enqueue(client)
    worker = program(code, url)
    eventually(lambda: (info := ref.info()) and info.progress == b"begun")
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(worker.process.pid)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert children
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.ends(-signal.SIGKILL)
    for child in children:
        eventually(lambda child=child: not alive(int(child)), f"the end of {child}")
    eventually(lambda: ref.info().state == "ready" or client.queue("tests").light_clean())


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_children_import_what_the_program_can_import(client, app, tmp_path):
    """By an object, too, if it is found in a module."""
    program = f"""
    import sys
    sys.path.insert(0, {str(tmp_path)!r})
    import leaseq, {app.partition(":")[0]} as app
    from leaseq.jobs import Jobs, Worker
    jobs = Jobs()
    jobs.job("a")(lambda: 1)
    with leaseq.connect("memory:") as client:
        ref = app.about.enqueue(client, app.Point(1))
        Worker(client, [app.jobs], processes=1).run_until_idle()
        print(ref.result(0)["text"] == chr(9731))
        for mine in (jobs, Jobs()):
            try:
                Worker(client, mine, processes=1)
            except leaseq.InvalidError as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    lines = done.stdout.splitlines()
    assert lines[:1] == ["True"], done.stderr
    assert [line[:39] for line in lines[1:]] == ["child processes import the jobs, so the"] * 2


def test_mistakes_are_named(client, app, tmp_path):
    (tmp_path / "threaded_app.py").write_text(
        "import threading, time\nfrom leaseq.jobs import Jobs\njobs = Jobs()\n"
        "jobs.job('a')(lambda: 1)\n"
        "threading.Thread(target=time.sleep, args=(60,), name='mine', daemon=True).start()\n"
    )
    (tmp_path / "broken_app.py").write_text("import nowhere_to_be_found")
    for jobs, options, error in [
        ("threaded_app", {"isolation": "fork"}, r"has started 1 threads \(mine\), so it cannot be"),
        ("broken_app", {}, "No module named .*nowhere_to_be_found"),
        ("nothing:jobs", {}, "there is no module .*nothing"),
        (app, {"start_timeout": 0.001}, "it was not ready after 1ms"),
        (app, {"threads": 3}, "either threads or child processes"),
        (app, {"middleware": [print]}, "does not reach its child processes: use the decorator"),
        (app, {"isolation": "job", "max_jobs_per_child": 2}, "a child runs one job"),
        (app, {"isolation": "cell"}, "isolation 'cell' is not one of thread, process, job, fork"),
        (app, {"isolation": "thread"}, "processes is for isolation in processes"),
        (app, {"memory_limit": 0}, "a memory_limit of 0 bytes"),
    ]:
        with pytest.raises(leaseq.InvalidError, match=error):
            Worker(client, jobs, processes=1, **options).run_until_idle()
    with pytest.raises(TypeError, match="a worker has no option 'thread'"):
        Worker(client, app, thread=3)


def test_children_are_renewed(client, app):
    refs = [new("about").enqueue(client, point={"x": n}) for n in range(6)]
    run(client, app, max_jobs_per_child=2)
    assert [ref.result(0)["count"] for ref in refs] == [1, 2] * 3
    refs = [new("about").enqueue(client, point={"x": n}) for n in range(3)]
    run(client, app, max_memory_per_child=1 << 20)
    assert [ref.result(0)["count"] for ref in refs] == [1] * 3


def test_children_have_their_own_ids_and_bytes(client, app):
    """An id that is no text, and a result of a mebibyte."""
    ref = new("about").using(id=b"\xff\x00").enqueue(client, point={"x": 1}, text="x" * (1 << 20))
    run(client, app)
    result = json.loads(ref.wait(0).result)
    assert (result["id"], len(result["text"])) == (ascii(ref.id), 1 << 20)
