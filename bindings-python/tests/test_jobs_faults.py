"""What ends a worker, and what must not."""

import signal
import threading
import time

import pytest
from conftest import eventually

import leaseq
from leaseq.jobs import Job, JobFailedError, Jobs, Retry, Worker

PATIENCE = 30

HEAD = r"""
import asyncio, atexit, ctypes, os, signal, sys, threading, time
import leaseq, leaseq.asyncio
from leaseq.jobs import AsyncWorker, Job, Jobs, Retry, Worker

jobs = Jobs(queue="tests")

def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()

@jobs.job("sleep", retain=60)
def sleep(job: Job, time: float) -> str:
    say("started")
    stopped = job.wait_cancelled(time)
    job.raise_if_cancelled()
    return "slept"

@jobs.job("asleep", retain=60)
async def asleep(time: float) -> str:
    say("started")
    await asyncio.sleep(time)
    return "slept"

@jobs.job("hang")
def hang() -> None:
    say("started")
    time.sleep(3600)

@jobs.job("stubborn")
async def stubborn() -> None:
    say("started")
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

@jobs.job("signal_here")
def signal_here() -> None:
    time.sleep(0.3)  # so that an event loop sleeps; if it does not yet, it hears this anyway
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

@jobs.job("exit")
def exit() -> None:
    os._exit(7)

@jobs.job("fork", retain=60)
def fork() -> int:
    child = os.fork()
    if child == 0:
        return 0  # where the child must not get
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

@jobs.job("hold", retain=60)
def hold(ms: int) -> str:
    say("started")
    ctypes.PyDLL(None).usleep(ms * 1000)  # with the GIL
    return "held"

@jobs.job("noop")
def noop() -> None: ...

def linger():
    say("leaving")
    sys.stdin.readline()

def prepare(options):
    if options.pop("linger", False):
        atexit.register(linger)
    if options.pop("ignores", False):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

def run_threads(**options):
    prepare(options)
    process = options.pop("process", False)
    with leaseq.connect() as client:
        worker = Worker(client, jobs, threads=4, **options)
        say(f"{worker.run_process() if process else worker.run()}")

def run_asyncio(**options):
    prepare(options)
    process = options.pop("process", False)

    async def main():
        async with await leaseq.asyncio.connect() as client:
            worker = AsyncWorker(client, jobs, concurrency=4, **options)
            say(f"{await worker.run_process() if process else await worker.run()}")

    asyncio.run(main())

def run_uvloop(**options):
    import uvloop

    uvloop.install()
    run_asyncio(**options)
"""
# The names of the jobs of the programs.
elsewhere = Jobs(queue="tests")


def enqueue(client, name, **args):
    return elsewhere.named(name).using(retain=60).enqueue(client, **args)


@pytest.fixture
def worker(program, url):
    """Starts a worker in a process of its own: `worker("threads", lease=1)`."""
    return lambda kind, **options: program(f"{HEAD}\nrun_{kind}(**{options})", url)


kinds = pytest.mark.parametrize("kind", ["threads", "asyncio", "uvloop"])


@kinds
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_handlers_end(client, worker, kind, number):
    running = worker(kind)
    refs = [enqueue(client, name, time=0.5) for name in ("sleep", "asleep")]
    running.says("started")
    running.says("started")
    running.signal(number)
    out, err = running.ends()
    assert out == "Exit(reason='drained', started=2, running=0, status=0)\n"
    assert [ref.result(0) for ref in refs] == ["slept", "slept"]
    assert "Traceback" not in err


@kinds
def test_a_signal_that_does_not_interrupt_the_main_thread_is_heard(client, worker, kind):
    """As one that comes just before the event loop sleeps."""
    running = worker(kind)
    enqueue(client, "signal_here")
    out, _ = running.ends()
    assert out == "Exit(reason='drained', started=1, running=0, status=0)\n"


@kinds
def test_a_second_signal_skips_the_grace_period(client, worker, kind):
    running = worker(kind)
    refs = [enqueue(client, name, time=3600) for name in ("sleep", "asleep")]
    running.says("started")
    running.says("started")
    running.signal(signal.SIGTERM)
    # Signals of one kind that arrive together are one.
    time.sleep(0.1)
    running.signal(signal.SIGINT)
    out, _ = running.ends(within=10)
    assert out == "Exit(reason='drained', started=2, running=0, status=0)\n"
    infos = [ref.info() for ref in refs]
    assert [(info.state, info.failures, info.releases.reason) for info in infos] == [
        ("ready", 0, "shutdown")
    ] * 2


@kinds
def test_a_storm_of_signals_ends_it_at_once_and_the_leases_expire(client, worker, kind):
    # The rest of the storm meets what the program did with signals before the worker ran.
    running = worker(kind, lease=0.5, ignores=True)
    ref = enqueue(client, "sleep", time=3600)
    hung = enqueue(client, "hang")
    running.says("started")
    running.says("started")
    for _ in range(50):
        running.signal(signal.SIGTERM)
        time.sleep(0.01)
    said = running.line()
    assert said.startswith("Exit(reason='aborted', started=2, ")
    assert said.endswith("status=1)")
    queue = client.queue("tests")
    leases = [queue.lease(30, wait=PATIENCE) for _ in range(2)]
    assert {lease.id for lease in leases} == {ref.id, hung.id}


def test_a_process_that_is_only_a_worker_ends_with_a_handler_that_hangs(client, worker):
    running = worker("threads", process=True, grace=0.1)
    ref = enqueue(client, "hang")
    running.says("started")
    running.signal(signal.SIGTERM)
    began = time.monotonic()
    running.ends()
    assert time.monotonic() - began < 15
    info = ref.info()
    assert (info.state, info.failures, info.releases.reason) == ("delayed", 0, "shutdown")


@kinds
def test_a_signal_after_the_end_does_not_change_how_the_process_ends(worker, kind):
    running = worker(kind, process=True, linger=True, burst=True)
    running.says("leaving")
    for number in (signal.SIGTERM, signal.SIGINT):
        running.signal(number)
    running.process.stdin.write("\n")
    running.ends(code=3)


@pytest.mark.parametrize("name", ["hang", "stubborn"])
def test_a_worker_that_shares_its_process_leaves_such_a_job_leased(client, worker, name):
    running = worker("threads", grace=0.1)
    ref = enqueue(client, name)
    running.says("started")
    running.signal(signal.SIGTERM)
    out, _ = running.ends(within=20)
    assert out == "Exit(reason='drained', started=1, running=1, status=0)\n"
    assert ref.info().state == "leased"


def test_the_status_of_the_process(client, worker):
    idle = worker("threads", process=True, burst=True)
    idle.ends(code=3)
    enqueue(client, "noop")
    worker("threads", process=True, burst=True).ends(code=0)


@pytest.mark.parametrize("kind", ["threads", "asyncio"])
def test_a_job_that_ends_its_process_dies_of_that(client, worker, kind):
    ref = elsewhere.named("exit").using(retry=Retry(2)).enqueue(client)
    for _ in range(2):
        worker(kind, lease=0.3).ends(code=7)
    running = worker(kind, lease=0.3)
    with pytest.raises(JobFailedError, match="attempts_exhausted: 2 attempts"):
        ref.result(PATIENCE)
    running.signal(signal.SIGTERM)
    running.ends()


@pytest.mark.parametrize("kind", ["threads", "asyncio"])
def test_a_handler_that_holds_the_gil_keeps_its_lease(client, worker, kind):
    running = worker(kind, lease=0.5)
    ref = enqueue(client, "hold", ms=5000)
    running.says("started")
    queue = client.queue("tests")
    # Ten times the lease: nobody else gets it meanwhile.
    assert queue.lease(30, wait=4.5) is None
    assert ref.result(PATIENCE) == "held"
    running.signal(signal.SIGTERM)
    running.ends()
    assert ref.info().expiries == 0


@pytest.mark.parametrize("kind", ["threads", "asyncio"])
def test_a_child_of_a_handler_reports_nothing(client, worker, kind):
    running = worker(kind)
    ref = enqueue(client, "fork")
    assert ref.result(PATIENCE) == 1
    running.signal(signal.SIGTERM)
    out, _ = running.ends()
    assert "started=1, running=0" in out


def test_a_worker_in_the_background_leaves_signals_alone(client, program, url):
    code = f"""{HEAD}
signal.signal(signal.SIGTERM, lambda *_: say("mine"))
with leaseq.connect() as client:
    with Worker(client, jobs):
        os.kill(os.getpid(), signal.SIGTERM)
        say("runs")
        sys.stdin.readline()
"""
    running = program(code, url)
    running.says("mine")
    running.says("runs")
    ref = enqueue(client, "sleep", time=0.2)
    running.says("started")
    running.process.stdin.write("\n")
    running.process.stdin.flush()
    running.ends()
    assert ref.result(0) == "slept"


def test_a_task_that_is_cancelled_ends_its_worker(client, program, url):
    code = f"""{HEAD}
async def main():
    async with await leaseq.asyncio.connect() as client:
        worker = asyncio.create_task(AsyncWorker(client, jobs).run(signals=False))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        worker.cancel()
        await asyncio.wait([worker])
        say(worker.cancelled())

asyncio.run(main())
"""
    running = program(code, url)
    ref = enqueue(client, "asleep", time=3600)
    running.says("started")
    running.process.stdin.write("\n")
    running.process.stdin.flush()
    out, _ = running.ends()
    assert out == "True\n"
    assert ref.info().releases.reason == "shutdown"


def test_a_handler_may_stop_its_worker(client):
    jobs = Jobs(queue="tests")
    workers = []

    @jobs.job("a")
    def a(job: Job):
        threading.Thread(target=workers[0].stop, daemon=True).start()
        assert job.wait_cancelled(0.2) is False

    ref = a.using(retain=60).enqueue(client)
    workers.append(Worker(client, jobs))
    assert workers[0].run().started == 1
    assert ref.wait(0).kind == "completed"


def test_closing_the_client_ends_the_worker(url):
    jobs = Jobs(queue="tests")
    jobs.job("a")(lambda: None)
    client = leaseq.connect(url)
    failed = []

    def run():
        try:
            Worker(client, jobs).run()
        except leaseq.ClosedError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    eventually(lambda: threading.active_count() > 10)
    client.close()
    thread.join(PATIENCE)
    assert failed
