"""A lease that was never used goes back when its handle is dropped: an interrupt may drop it."""

import asyncio
import contextlib
import gc
import threading

import pytest
from conftest import eventually
from loops import all_are_ready
from test_fork import in_child

import leaseq

# One interrupt for each round, at a moment that the loop does not know; then all is ready again.
INTERRUPTED = """
    import os, random, subprocess, sys, time
    import leaseq

    SENDER = '''if True:
        import os, random, signal, sys, time
        chance = random.Random(int(sys.argv[2]))
        for line in sys.stdin:
            until = time.perf_counter() + chance.random() * 0.002
            while time.perf_counter() < until: pass
            os.kill(int(sys.argv[1]), signal.SIGINT)
    '''
    seed = random.randrange(2**32)
    print(f"seed {{seed}}")
    arguments = [sys.executable, "-c", SENDER, str(os.getpid()), str(seed)]
    sender = subprocess.Popen(arguments, stdin=subprocess.PIPE)
    queue = leaseq.connect().queue("q")
    queue.add_items(["x"] * 10)

    def loop():
{loop}

    def all_ready():
        until = time.monotonic() + 10
        while queue.queue_len() < 10 and time.monotonic() < until: pass
        return queue.queue_len() == 10

    for round in range({rounds}):
        try:
            sender.stdin.write(b"go\\n")
            sender.stdin.flush()
            loop()
        except KeyboardInterrupt:
            pass
        if not all_ready():
            print(f"round {{round}} has left {{queue.processing()}} leases")
            break
    else:
        print("no lease is left")
    sender.stdin.close()
    sender.wait()
"""

LOOPS = {
    "lease": """
        while True:
            lease = queue.lease(3600)
            queue.release(lease)
    """,
    "lease_many": """
        while True:
            leases = queue.lease_many(3, 3600)
            queue.release_many(leases)
    """,
    "leases": """
        for lease in queue.leases(3600):
            queue.release(lease)
    """,
    "with": """
        while True:
            with queue.lease(3600) as lease:
                queue.release(lease)
    """,
    "with, used": """
        while True:
            try:
                with queue.lease(3600) as lease:
                    lease.data / 1
            except TypeError:
                pass
    """,
}


def dedent_into(text, spaces=8):
    lines = [line[8:] for line in text.strip("\n").splitlines() if line.strip()]
    return "\n".join(" " * spaces + line for line in lines)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_interrupt_at_any_moment_of_a_busy_loop_leaves_no_lease(loop, program):
    code = INTERRUPTED.format(loop=dedent_into(LOOPS[loop]), rounds=300)
    out, _ = program(code, "memory:").ends(within=240)
    assert out.endswith("no lease is left\n"), out


def in_place(queue):
    counts = queue.counts()
    return counts.ready, counts.leased


def given_back(queue, ready=4):
    eventually(lambda: in_place(queue) == (ready, 0), "all are ready")


def test_what_is_dropped_unused_goes_back(filled):
    filled.lease(3600)
    given_back(filled)
    filled.lease_many(3, 3600)
    given_back(filled)
    filled.lease(3600, keep_alive=True)
    given_back(filled)
    lease = filled.lease(30)
    assert (lease.attempt, lease.failures, lease.expiries) == (1, 0, 0)


def test_each_of_several_goes_back_by_itself(filled):
    last = filled.lease_many(3, 3600)[-1]
    eventually(lambda: in_place(filled) == (3, 1), "two are ready again")
    assert filled.complete(last, strict=True)


def test_what_is_collected_goes_back(filled):
    cycle = [filled.lease(3600)]
    cycle.append(cycle)
    thread = threading.Thread(target=filled.lease, args=[3600])
    thread.start()
    thread.join()
    eventually(lambda: in_place(filled) == (3, 1), "that of the thread is ready again")
    del cycle
    gc.collect()
    given_back(filled)


USES = {
    "read": lambda queue, lease: lease.data,
    "name": lambda queue, lease: lease.queue,
    "lost": lambda queue, lease: lease.lost,
    "completed": lambda queue, lease: lease.completed,
    "json": lambda queue, lease: lease.json(),
    "shown": lambda queue, lease: repr(lease),
    "extended": lambda queue, lease: queue.extend(lease, 7200),
    "among many": lambda queue, lease: queue.extend_many([lease], 7200),
}


@pytest.mark.parametrize("use", USES)
def test_a_lease_that_was_used_is_dropped_without_going_back(filled, use):
    USES[use](filled, filled.lease(3600))
    filled.lease(3600)  # what is dropped later has gone back
    eventually(lambda: in_place(filled) == (3, 1), "the other one is ready again")


def test_going_on_in_a_loop_uses_the_lease(filled):
    assert sum(1 for _ in filled.leases(3600, wait=0)) == 4
    assert in_place(filled) == (0, 4)


def test_leaving_a_loop_before_the_lease_is_used_gives_it_back(filled):
    def first():
        for _ in filled.leases(3600):
            return

    first()
    given_back(filled)


def test_leases_that_come_with_lost_answers_go_back(filled):
    lease = filled.lease(3600)
    filled.complete_and_lease([lease], 2, 3600)
    assert lease.settled
    given_back(filled, ready=3)


def test_results_that_no_task_takes_go_back(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_items(["x"] * 4)

            async def fails():
                raise ZeroDivisionError

            with contextlib.suppress(ZeroDivisionError):
                await asyncio.gather(queue.lease(3600), queue.lease_many(2, 3600), fails())
            await queue.lease(3600)
            await all_are_ready(queue, 4)

    run(main())


def test_a_child_never_gives_back_what_is_its_parents(filled):
    lease = filled.lease(3600)
    leases = [lease]
    del lease

    def child():
        assert filled.queue_len() == 3  # connects
        leases.clear()
        gc.collect()
        filled.lease(3600)  # its own
        eventually(lambda: in_place(filled) == (3, 1), "that is ready again")
        return True

    in_child(child)
    assert in_place(filled) == (3, 1)
    assert filled.complete(leases.pop(), strict=True)


def test_a_handle_that_outlives_its_client_does_nothing(url):
    client = leaseq.connect(url)
    queue = client.queue("q")
    queue.add_item("x")
    lease = queue.lease(3600)
    client.close()
    del lease
    with leaseq.connect(url) as client:
        assert in_place(client.queue("q")) == (0, 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_an_interrupt_of_the_block_of_a_client_gives_back(url, error):
    def blocking():
        with leaseq.connect(url) as client:
            client.queue("q").add_item("x")
            lease = client.queue("q").lease(3600)
            raise error
        return lease

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            await client.queue("q").add_item("x")
            lease = await client.queue("q").lease(3600)
            raise error
        return lease

    for call in (blocking, lambda: asyncio.run(main())):
        with pytest.raises(error) as caught:
            call()
        assert caught.tb, "its frames have the lease"
        with leaseq.connect(url) as client:
            assert in_place(client.queue("q")) == (1, 0)
            client.queue("q").purge("ready")


@pytest.mark.parametrize("end", ["raise KeyboardInterrupt", "pass", "client.close(); del lease"])
def test_the_end_of_the_process_gives_back(url, program, end):
    code = f"""
        import leaseq, sys
        sys.excepthook = lambda *_: None
        client = leaseq.connect()
        queue = client.queue("q")
        queue.add_items(["x"] * 3)
        lease, used = queue.lease(3600), queue.lease(3600).data
        {end}
    """
    out, err = program(code, url).ends(code=-2 if "Interrupt" in end else 0)
    assert (out, err) == ("", "")
    with leaseq.connect(url) as client:
        assert in_place(client.queue("q")) == ((1, 2) if "close" in end else (2, 1))


def test_the_end_of_the_process_waits_for_queues_whose_client_nobody_has(url, program):
    code = """
        import leaseq
        queue = leaseq.connect().queue("q")
        queue.add_items(["x"] * 100)
        leases = queue.lease_many(100, 3600)
    """
    program(code, url).ends()
    with leaseq.connect(url) as client:
        assert in_place(client.queue("q")) == (100, 0)
