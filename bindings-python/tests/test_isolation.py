"""The mistake of one task or thread disturbs no other."""

import asyncio
import contextlib
import threading

import pytest
from conftest import eventually

import leaseq
from leaseq import Item, _leaseq


def test_what_one_task_does_wrong_fails_no_other(url, run):
    """Calls that are made together travel in one request."""

    async def main():
        async with await leaseq.asyncio.connect(url, max_data=100) as client:
            queue, other = client.queue("q"), client.queue("other")
            await queue.add_items(Item("x", id=f"{n}") for n in range(30))
            leases = await queue.lease_many(30, 30)
            await other.add_item("x")
            wrong = await other.lease(30)

            async def cancelled(call):
                task = asyncio.create_task(call)
                await asyncio.sleep(0)
                task.cancel()
                return await task

            def settle(n):
                if n % 3 == 0:
                    return queue.complete(wrong)
                if n % 3 == 1:
                    return cancelled(queue.complete(leases[n]))
                return queue.complete(leases[n])

            def add(n):
                item = "x" * 101 if n % 3 == 0 else f"{n}"
                return cancelled(queue.add_item(item)) if n % 3 == 1 else queue.add_item(item)

            for call in (settle, add):
                answers = await asyncio.gather(*map(call, range(30)), return_exceptions=True)
                for n, answer in enumerate(answers):
                    wanted = [leaseq.InvalidError, asyncio.CancelledError, bool][n % 3]
                    assert type(answer) is wanted, (n, answer)
                    assert answer if wanted is bool else True

            counts = await queue.counts()
            # A call that is cancelled may have been executed.
            assert 10 <= counts.totals.completed <= 20
            assert 40 <= counts.totals.added <= 50
            assert await other.complete(wrong, strict=True)

    run(main())


def test_an_answer_that_cannot_be_delivered_keeps_no_other_back(client):
    """As when Ctrl-C comes in the code of the event loop."""

    class Future:
        result = None

        def done(self):
            return False

        def set_result(self, result):
            if not interrupted:
                interrupted.append(self)
                raise KeyboardInterrupt
            self.result = result

    class Loop:
        create_future = Future

        def call_soon(self, callback):
            pass

    interrupted = []
    bridge = _leaseq.LoopBridge(Loop())
    queue = client.queue("q")
    futures = [queue._native.add_item(bridge, "x") for _ in range(5)]
    bridge.flush()
    eventually(lambda: queue.queue_len() == 5, "all are added")
    with pytest.raises(KeyboardInterrupt):
        while True:
            bridge.drain()
    left = [future for future in futures if future not in interrupted]

    def delivered():
        with contextlib.suppress(BlockingIOError):
            bridge.drain()
        return all(future.result is True for future in left)

    eventually(delivered, "the others are delivered")


def test_threads_that_do_wrong_disturb_no_other(client, queue):
    """Also with a lease that several settle, and handles that are closed meanwhile."""
    ended = threading.Event()
    done, errors = [], []
    queue.add_item("shared")
    shared = queue.lease(30)
    assert shared.data == b"shared"

    def wrong():
        while not ended.is_set():
            with contextlib.suppress(leaseq.LeaseqError, TypeError):
                queue.complete_many([shared, None])
            with contextlib.suppress(leaseq.LeaseqError):
                client.queue("other").complete(shared)
            with contextlib.suppress(leaseq.LeaseqError), client.queue("q") as handle:
                handle.close()
                handle.add_item("x")

    def work():
        try:
            for _ in range(100):
                assert queue.add_item("x")
                lease = queue.lease(30, 10)
                assert queue.complete(lease, strict=True)
                done.append(lease.id)
        except BaseException as error:
            errors.append(error)

    wrongs = [threading.Thread(target=wrong) for _ in range(3)]
    works = [threading.Thread(target=work) for _ in range(3)]
    for thread in (*wrongs, *works):
        thread.start()
    for thread in works:
        thread.join()
    ended.set()
    for thread in wrongs:
        thread.join()
    assert errors == []
    assert len(done) == len(set(done)) == 300
    assert queue.complete(shared, strict=True)
