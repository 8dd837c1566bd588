"""`python -m leaseq.jobs`."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from conftest import PATIENCE, eventually

import leaseq
from leaseq.jobs import Jobs

APP = """
import os, time
from leaseq.jobs import Job, Jobs

jobs = Jobs(queue="one")
others = Jobs(queue="two")

@jobs.job("pid", retain=60)
def pid() -> list[int]:
    return [os.getpid(), os.getppid()]

@others.job("slow", retain=60)
async def slow(job: Job) -> str:
    import asyncio
    job.progress("begun")
    await asyncio.sleep(0.3)
    return "VERSION"

@jobs.job("until", retain=60)
def until(job: Job) -> None:
    job.progress("begun")
    job.wait_cancelled(60)
    job.raise_if_cancelled()
"""
names = Jobs(queue="one")
PID, UNTIL = names.named("pid").using(retain=60), names.named("until")
SLOW = names.named("slow", queue="two").using(retain=60)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


class Command:
    """The command in a process of its own, in a session of its own."""

    def __init__(self, folder, url, *arguments):
        self.log = folder / "log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "leaseq.jobs", *arguments],
                cwd=folder,
                env={**os.environ, "LEASEQ_URL": url},
                stderr=log,
                stdout=log,
                start_new_session=True,
            )

    def ends(self, status=0):
        try:
            assert self.process.wait(PATIENCE) == status, self.log.read_text()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        return self.log.read_text()


@pytest.fixture
def command(folder):
    started = []

    def start(url, *arguments):
        started.append(Command(folder, url, *arguments))
        return started[-1]

    yield start
    for each in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(each.process.pid, signal.SIGKILL)
        each.process.wait()


WAYS = {
    "threads": ["--threads", "2"],
    "asyncio": ["--concurrency", "20"],
    "processes": ["--processes", "1"],
    "job": ["--isolation", "job", "--processes", "1"],
    "fork": ["--isolation", "fork", "--processes", "1", "--memory-limit", "500"],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_burst_runs_what_there_is(url, client, command, way):
    pids, slow = [PID.enqueue(client) for _ in range(2)], SLOW.enqueue(client)
    # With options that each of them knows.
    common = [
        "--lease",
        "5",
        "--prefetch",
        "2",
        "--grace",
        "1",
        "--stagger",
        "0.01",
        "--throttle",
        "memory=100:99",
    ]
    burst = command(url, "app", "--burst", *WAYS[way], *common, "--name", "it")
    log = burst.ends()
    assert "Ctrl-C ends it" in log
    for ref in (*pids, slow):
        assert f"{ref.name} {ref.id!r}: completed after " in log
    assert slow.result(0) == "VERSION"
    first, second = (ref.result(0) for ref in pids)
    is_child = way in ("processes", "job", "fork")
    assert (first[0] == burst.process.pid) is not is_child
    assert (first[0] == second[0]) is (way not in ("job", "fork"))
    command(url, "app", "--burst", *WAYS[way]).ends(3)


def test_queues_and_jobs_can_be_chosen(url, client, command):
    for _ in range(3):
        PID.enqueue(client)
    slow = SLOW.enqueue(client)
    chosen = command(url, "app:jobs", "app:others", "--burst", "-q", "one=3", "-t", "1")
    before = chosen.ends()
    assert client.queue("one").queue_len() == 0
    assert slow.info().state == "ready"
    options = ["--burst", "--strict", "-q", "t*", "-q", "one", "--log-level", "warning"]
    assert command(url, "app:others", *options).ends() == before
    assert slow.result(0) == "VERSION"


@pytest.mark.parametrize("way", WAYS)
def test_signals_end_it(url, client, command, way):
    ref = UNTIL.enqueue(client)
    worker = command(url, "app", *WAYS[way])
    eventually(lambda: (info := ref.info()) and info.progress == b"begun")
    os.kill(worker.process.pid, signal.SIGINT)
    os.kill(worker.process.pid, signal.SIGTERM)
    worker.ends()
    info = ref.info()
    assert (info.failures, info.releases.reason) == (0, "shutdown")


def test_a_changed_file_starts_a_new_worker(redis_url, folder, command):
    with leaseq.connect(redis_url) as client:
        worker = command(redis_url, "app", "--reload")
        assert SLOW.enqueue(client).result(PATIENCE) == "VERSION"
        # What cannot be loaded ends the worker, and the next change starts one.
        (folder / "app.py").write_text("is not Python")
        eventually(lambda: "waiting for files to change" in worker.log.read_text())
        (folder / "app.py").write_text(APP.replace("VERSION", "another one"))
        assert SLOW.enqueue(client).result(PATIENCE) == "another one"
        os.kill(worker.process.pid, signal.SIGTERM)
        assert "SyntaxError" in worker.ends()


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        ([], 2, "the following arguments are required: MODULE:NAME"),
        (
            ["nothing"],
            2,
            "there is no module 'nothing' in the current folder or among the packages",
        ),
        (["app:jo"], 2, "module 'app' has no Jobs with the name 'jo'; it has jobs, others"),
        (["app.py"], 2, "'app.py' is the path of a file; give the name of its module"),
        (["json"], 2, "module 'json' has no Jobs"),
        (["broken"], 1, "No module named 'missing'"),
        (["app", "--queue", "a=x"], 2, "'a=x' is not a name, or NAME=WEIGHT with a whole number"),
        (["app", "--queue", "a=0"], 2, "the weight of a 0 is not between 1 and 1000"),
        (["app", "--grace", "long"], 2, "'long' is not a number of seconds"),
        (["app", "--threads", "0"], 2, "number of slots 0 is not between 1 and 1000"),
        (["app", "--threads", "1", "--processes", "1"], 2, "either threads or child processes"),
        (["app", "--concurrency", "1", "--processes", "1"], 2, "--concurrency is for one event"),
        (["app", "--memory-limit", "1"], 2, "memory_limit is for isolation in processes"),
        (["app", "--memory-limit", "x"], 2, "'x' is not a whole number of MiB, at least 1"),
        (["app", "--throttle", "disk=1:2"], 2, "is not memory, swap or gpu, and =HIGH:LOW"),
        (["app", "--throttle", "memory=1:2"], 2, "marks 1:2 of the memory are not two"),
        (["app", "--processes", "1", "--isolation", "thread"], 2, "processes is for isolation in"),
        (["nothing", "--processes", "1"], 2, "there is no module 'nothing'"),
        (["app", "--url", "nix://"], 2, "unknown url scheme"),
        (["app", "--url", "redis://:secret@127.0.0.1:1/"], 1, "127.0.0.1:1"),
    ],
)
def test_mistakes_are_named(folder, command, arguments, status, error):
    (folder / "broken.py").write_text("import missing")
    said = command("memory:", *arguments).ends(status)
    assert error in said
    assert "secret" not in said
    assert ("Traceback" in said) == (arguments[0:1] == ["broken"])


@pytest.mark.parametrize("way", WAYS)
def test_without_a_url_it_says_where_that_comes_from(command, way):
    said = command("", "app", *WAYS[way]).ends(2)
    assert said == (
        "python -m leaseq.jobs: error: no url: give --url, or set LEASEQ_URL or REDIS_URL\n"
    )


def test_what_a_child_has_said_comes_out_before_the_command_ends(folder, command):
    for _ in range(5):
        said = command("memory:", "nothing", "--processes", "1").ends(2)
        assert "\nthere is no module 'nothing' in the current folder" in said


def test_the_help_names_every_option_and_fits_a_terminal(folder):
    done = subprocess.run(
        [sys.executable, "-m", "leaseq.jobs", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert "python -m leaseq.jobs app:jobs --url sqlite:jobs.db" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 96
