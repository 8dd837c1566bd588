"""Signals, and the end of the process."""

import signal
import time

import pytest

import leaseq

WAITS = """
    import leaseq, threading
    queue = leaseq.connect().queue("q")
    print("waits")
    try:
        queue.lease(30)
    except KeyboardInterrupt:
        print("interrupted")
"""


def counted(url):
    with leaseq.connect(url) as client:
        counts = client.queue("q").counts()
        return counts.ready, counts.leased


def test_ctrl_c_ends_a_wait_within_100_ms(url, program):
    def interrupted():
        started = program(WAITS, url)
        started.says("waits")
        time.sleep(0.2)  # it may not wait yet; then it is interrupted before
        begun = time.monotonic()
        started.signal(signal.SIGINT)
        started.says("interrupted")
        took = time.monotonic() - begun
        started.ends()
        return took

    # Time for a busy machine to run both processes, on top. It may stop them for longer at times.
    assert any(interrupted() < 0.1 + 0.2 for _ in range(5))
    assert counted(url) == (0, 0)


def test_ctrl_c_at_any_moment_leaves_no_lease(url, program):
    code = """
        import leaseq, os, signal, threading
        client = leaseq.connect()
        queue = client.queue("q")
        other = leaseq.connect().queue("q")
        for round in range(60):
            def interrupt():
                other.add_item("x")
                os.kill(os.getpid(), signal.SIGINT)
            lease = None
            thread = threading.Thread(target=interrupt)
            try:
                thread.start()
                lease = queue.lease(30)
                thread.join()
                while True: pass
            except KeyboardInterrupt:
                pass
            thread.join()
            if lease is not None:
                queue.release(lease)
            while queue.processing(): pass
            assert queue.queue_len() == round + 1
        print("well")
    """
    out, _ = program(code, url).ends(within=60)
    assert out == "well\n"


def test_what_was_given_back_has_arrived_when_the_process_ends(url, program):
    code = """
        import leaseq, threading
        queue = leaseq.connect().queue("q")
        print("waits")
        leases = queue.lease_many(10, 30)
        print("leased")
        queue.lease(30)
    """
    for _ in range(5):
        started = program(code, url)
        started.says("waits")
        with leaseq.connect(url) as client:
            client.queue("q").add_items(["x"] * 10)
        started.signal(signal.SIGINT)
        started.ends(code=-signal.SIGINT)
        with leaseq.connect(url) as client:
            counts = client.queue("q").counts()
            # Leased or not when the signal came, nothing was used.
            assert (counts.ready, counts.leased) == (10, 0)
            client.queue("q").purge("ready")


def test_handlers_run_while_a_call_waits_and_may_make_calls(url, program):
    code = """
        import leaseq, os, signal
        client = leaseq.connect()
        queue = client.queue("q")
        def handler(*_):
            queue.add_item("from the handler")
        signal.signal(signal.SIGUSR1, handler)
        print("waits")
        print(queue.lease(30).data)
    """
    started = program(code, url)
    started.says("waits")
    started.signal(signal.SIGUSR1)
    started.says("b'from the handler'")
    started.ends()


def test_a_handler_may_need_what_the_call_that_it_interrupts_has_begun(start_redis, program):
    server = start_redis()
    code = """
        import leaseq, signal
        client = leaseq.connect()
        queue = client.queue("q")
        def handler(*_):
            queue.add_item("from the handler")
        signal.signal(signal.SIGALRM, handler)
        print("connected")
        input()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        print(queue.lease(30).data)
    """
    started = program(code, server.url)
    started.says("connected")
    # The signal comes while the first call on the queue still looks at it.
    server.command("CLIENT", "PAUSE", "500")
    started.process.stdin.write("\n")
    started.process.stdin.flush()
    started.says("b'from the handler'")
    started.ends()


def test_a_handler_may_fork(url, program):
    code = """
        import leaseq, os, signal
        client = leaseq.connect()
        queue = client.queue("q")
        def handler(*_):
            if os.fork() == 0:
                return
            os.wait()
            queue.add_item("from the parent")
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            print(queue.lease(30).data)
        except leaseq.InvalidError:
            print("in the child")
            os._exit(0)
    """
    started = program(code, url)
    started.says("in the child")
    started.says("b'from the parent'")
    started.ends()


def test_sigterm_as_exit(url, program):
    code = """
        import leaseq, signal, sys
        queue = leaseq.connect().queue("q")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
        print("waits")
        queue.lease(30)
    """
    started = program(code, url)
    started.says("waits")
    started.signal(signal.SIGTERM)
    started.ends(code=3)


def test_asyncio_is_interrupted(url, program):
    code = """
        import asyncio, leaseq
        async def wake():
            # A loop that is about to sleep does not hear a signal until something else wakes it.
            while True: await asyncio.sleep(0.05)
        async def main():
            client = await leaseq.asyncio.connect()
            waker = asyncio.create_task(wake())
            print("waits")
            await client.queue("q").lease(30)
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("interrupted")
    """
    started = program(code, url)
    started.says("waits")
    started.signal(signal.SIGINT)
    started.says("interrupted")
    started.ends()


@pytest.mark.parametrize("daemons", [1, 20])
def test_a_process_ends_while_daemon_threads_wait(url, program, daemons):
    code = f"""
        import leaseq, threading, time
        queue = leaseq.connect().queue("q")
        def wait():
            started.release()
            queue.lease(30)
        started = threading.Semaphore(0)
        for _ in range({daemons}):
            threading.Thread(target=wait, daemon=True).start()
        for _ in range({daemons}):
            started.acquire()
        time.sleep(0.05)
    """
    begun = time.monotonic()
    out, err = program(code, url).ends()
    assert (out, err) == ("", "")
    assert time.monotonic() - begun < 20


def test_a_process_ends_with_everything_open(url, program):
    code = """
        import leaseq
        client = leaseq.connect()
        queue = client.queue("q")
        queue.add_items(["x", "y"])
        lease = queue.lease(0.5, keep_alive=True)
        iterator = queue.leases(30)
        held = next(iterator)
    """
    out, err = program(code, url).ends()
    assert (out, err) == ("", "")


def test_a_process_ends_in_time_without_its_server(start_redis, program):
    server = start_redis()
    code = """
        import leaseq
        client = leaseq.connect()
        queue = client.queue("q")
        queue.add_item("x")
        lease = queue.lease(30, keep_alive=True)
        print("ready")
        input()
    """
    started = program(code, server.url)
    started.says("ready")
    server.stop()
    begun = time.monotonic()
    started.process.stdin.write("\n")
    started.process.stdin.flush()
    started.ends()
    assert time.monotonic() - begun < 10
