"""Forked processes: they go on by themselves, and the parent is unharmed."""

import asyncio
import multiprocessing
import os
import signal
import threading
import time

import pytest

import leaseq
from leaseq import Item

# Python 3.12 and later warn of every fork of a process with threads; that is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def in_child(work):
    """Runs `work` in a forked child; it must come to its end, and be true."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(30)  # what hangs is killed
            code = 0 if work() else 2
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert status == 0, os.waitstatus_to_exitcode(status)


def cycle(queue):
    assert queue.add_item("x")
    lease = queue.lease(30, 10)
    return queue.complete(lease)


def test_a_child_goes_on_with_what_it_inherited(client, queue):
    assert cycle(queue)
    in_child(lambda: cycle(queue))
    assert cycle(queue)
    in_child(lambda: cycle(client.queue("new")) and client.queues() == ["new", "tests"])
    assert queue.counts().totals.completed == 3


def test_a_child_connects_anew(url, queue):
    assert cycle(queue)

    def work():
        with leaseq.connect(url) as client:
            return cycle(client.queue("tests"))

    in_child(work)
    assert cycle(queue)


def test_ids_that_are_made_up_are_not_those_of_the_parent(queue):
    """Random bytes are fetched for many ids at once: a child has a copy of those that are left."""
    assert queue.add_item("x")
    in_child(lambda: all(queue.add_items(["x"] * 50)))
    assert all(queue.add_items(["x"] * 50))
    # Without the time at which they were made.
    assert len({item.id[14:] for item in queue.list("ready", limit=200).items}) == 101


def test_a_child_of_a_child(queue):
    def child():
        in_child(lambda: cycle(queue))
        return cycle(queue)

    in_child(child)
    assert cycle(queue)


def test_forks_while_other_threads_are_inside(queue):
    ended, cycles, errors = threading.Event(), [0] * 8, []

    def work(place):
        try:
            while not ended.is_set():
                assert cycle(queue)
                cycles[place] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(25):
        in_child(lambda: cycle(queue))
    ended.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert queue.counts().totals.completed == sum(cycles) + 25


def test_a_fork_while_another_thread_waits(queue):
    got = []
    waiting = threading.Thread(target=lambda: got.append(queue.lease(30)))
    waiting.start()
    for _ in range(5):
        in_child(lambda: queue.lease(30, 0) is None)
    queue.add_item("x")
    waiting.join(30)
    assert got[0].data == b"x"


def test_leases_of_the_parent_stay_the_parents(queue):
    queue.add_item(Item("data", id="a"))
    lease = queue.lease(30, keep_alive=True)

    def work():
        with lease:
            pass  # does nothing
        try:
            with lease:
                raise OSError
        except OSError:
            pass
        calls = (
            lambda: queue.complete(lease),
            lambda: queue.extend(lease, 30),
            lambda: queue.set_progress(lease, "x"),
            lambda: queue.release(lease),
            lambda: queue.fail(lease),
            lambda: queue.complete_many([lease]),
            lambda: lease.lost,
            lambda: lease.completed,
        )
        for call in calls:
            try:
                call()
            except leaseq.InvalidError as error:
                assert f"belongs to process {os.getppid()}" in str(error)
            else:
                return False
        assert (lease.id, lease.data, lease.attempt) == ("a", b"data", 1)
        return queue.get("a").state == "leased"

    in_child(work)
    assert queue.processing() == 1
    assert queue.complete(lease, strict=True)


def test_a_child_that_drops_everything_harms_nobody(url):
    client = leaseq.connect(url)
    queue = client.queue("q")
    queue.add_items(["x", "y"])
    lease = queue.lease(30)
    held = [client, queue, lease]

    def work():
        import gc

        nonlocal client, queue, lease
        client = queue = lease = None
        held.clear()
        gc.collect()
        return True

    in_child(work)
    assert queue.complete(lease, strict=True)
    in_child(lambda: client.close() is None)
    assert queue.queue_len() == 1
    client.close()


def test_a_memory_queue_does_not_follow():
    with leaseq.connect("memory:") as client:
        queue = client.queue("q")
        queue.add_item("x")

        def work():
            try:
                queue.add_item("y")
            except leaseq.InvalidError:
                return cycle(leaseq.connect("memory:").queue("q"))

        in_child(work)
        assert queue.queue_len() == 1


def test_asyncio_in_a_child(url):
    async def once(queue):
        assert await queue.add_item("x")
        async with await queue.lease(30):
            return True

    async def parent():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            waiting = asyncio.create_task(client.queue("other").lease(30))
            assert await once(queue)
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    signal.alarm(30)
                    asyncio._set_running_loop(None)
                    asyncio.events.set_event_loop(None)
                    code = 0 if asyncio.new_event_loop().run_until_complete(once(queue)) else 2
                finally:
                    os._exit(code)
            _, status = await asyncio.to_thread(os.waitpid, pid, 0)
            assert status == 0
            assert await once(queue)
            await client.queue("other").add_item("x")
            assert (await waiting).data == b"x"

    asyncio.run(parent())


WORKERS = """
import multiprocessing, os, sys
import leaseq

def work(name, inherited=None):
    # A handle cannot be pickled: only a forked process can have it.
    client = inherited or leaseq.connect()
    queue = client.queue(name)
    for lease in queue.leases(30, wait=0):
        with lease:
            pass

def main(method):
    context = multiprocessing.get_context(method)
    client = leaseq.connect()
    queue = client.queue("q")
    queue.add_items(str(n) for n in range(200))
    args = ("q", client) if method == "fork" else ("q",)
    children = [context.Process(target=work, args=args) for _ in range(4)]
    for child in children: child.start()
    for child in children: child.join()
    assert [child.exitcode for child in children] == [0] * 4, [c.exitcode for c in children]
    assert queue.counts().totals.completed == 200
    with context.Pool(2) as pool:
        queue.add_items(str(n) for n in range(50))
        pool.map(work, ["q"] * 4)
    assert queue.counts().totals.completed == 250
    print("well")

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.environ["METHOD"])
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing(url, program, monkeypatch, method):
    monkeypatch.setenv("METHOD", method)
    out, _ = program(WORKERS, url).ends(within=90)
    assert out == "well\n"


def test_a_server_that_forks_before(url, program):
    """A master opens the client; its workers, forked later, use it until the master ends them."""
    code = """
        import os, signal, sys
        import leaseq
        client = leaseq.connect()
        queue = client.queue("q")
        queue.add_item("warm")
        queue.complete(queue.lease(30))
        workers = []
        # Theirs from the first moment on.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                for lease in queue.leases(30):
                    with lease: pass
            workers.append(pid)
        queue.add_items(["x"] * 100)
        while queue.counts().totals.completed < 101: pass
        for pid in workers: os.kill(pid, signal.SIGTERM)
        print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers])
    """
    started = time.monotonic()
    out, err = program(code, url).ends(within=60)
    assert out == "[0, 0, 0]\n", err
    assert time.monotonic() - started < 60


def test_a_child_interrupted_while_it_waits_leaves_nothing_leased(url, program):
    """Processes of multiprocessing end without atexit."""
    code = """
        import multiprocessing, os, signal
        import leaseq
        def work(queue):
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            begun.set()
            queue.lease(30)
        context = multiprocessing.get_context("fork")
        begun = context.Event()
        client = leaseq.connect()
        queue = client.queue("q")
        queue.queue_len()
        child = context.Process(target=work, args=(queue,))
        child.start()
        begun.wait()
        os.kill(child.pid, signal.SIGTERM)
        child.join(20)
        assert child.exitcode == 1, child.exitcode
        queue.add_item("x")
        counts = queue.counts()
        print(counts.ready, counts.leased)
    """
    out, _ = program(code, url).ends()
    assert out == "1 0\n"
    assert multiprocessing.active_children() == []
