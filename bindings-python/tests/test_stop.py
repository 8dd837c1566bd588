"""Cancelled items: how holders learn of it, and how their work stops."""

import asyncio
import sys
import threading

import pytest

import leaseq
from leaseq import ItemCancelledError, State
from leaseq._stop import StopIfCancelled

LATE = 30
counts_cancellations = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="a task does not count its cancellations"
)


@pytest.fixture
def queue():
    with leaseq.connect("memory:") as client:
        yield client.queue("jobs")


def run(body):
    """Run it with a queue, a lease of an item and a list of what happens."""

    async def main():
        async with await leaseq.asyncio.connect("memory:") as client:
            queue = client.queue("jobs")
            await queue.add_item(leaseq.Item("data", id="a", retain=60))
            lease = await queue.lease(60)
            await asyncio.wait_for(body(queue, lease), LATE)

    asyncio.run(main())


def test_a_thread_waits_for_it(queue):
    queue.add_items([leaseq.Item("data", id=name) for name in "ab"])
    a, b = queue.lease_many(2, 60)
    assert not a.cancelled.is_set()
    assert a.cancelled.wait(0) is False
    told = []
    thread = threading.Thread(target=lambda: told.append(a.cancelled.wait(LATE)))
    thread.start()
    assert queue.cancel("a") is True
    thread.join()
    assert told == [True]
    assert a.cancelled.is_set()
    assert not b.cancelled.is_set()
    assert queue.get("a").cancel_requested
    assert not queue.get("b").cancel_requested
    assert queue.fail(a, "stopped") is State.CANCELLED
    assert queue.get("a") is None
    assert queue.complete(b)
    assert b.cancelled.wait() is False, "it cannot happen any more"
    assert queue.counts().totals.cancelled == 1


def test_a_bad_timeout(queue):
    queue.add_item("x")
    lease = queue.lease(60)
    for bad in (-1, float("nan"), "soon"):
        with pytest.raises((leaseq.InvalidError, TypeError)):
            lease.cancelled.wait(bad)


def test_generations_and_batches(queue):
    queue.add_items([leaseq.Item("data", id=name) for name in "abc"])
    seen = queue.get("a").generation
    assert queue.cancel("a", if_generation=queue.get("b").generation) is False
    assert queue.cancel("a", if_generation=seen) is True
    assert queue.cancel_many(["a", "b", b"c", "d"]) == [False, True, True, False]
    with pytest.raises(leaseq.InvalidError):
        queue.cancel("")


def test_a_task_waits_for_it():
    async def body(queue, lease):
        waiting = asyncio.create_task(lease.cancelled.wait())
        abandoned = asyncio.create_task(lease.cancelled.wait())
        await asyncio.sleep(0)
        abandoned.cancel()
        assert await queue.cancel("a")
        assert await waiting is True
        assert lease.cancelled.is_set()
        with pytest.raises(asyncio.CancelledError):
            await abandoned
        assert await queue.complete(lease)

    run(body)


@counts_cancellations
def test_the_block_stops_and_the_item_ends_as_cancelled():
    async def body(queue, lease):
        task = asyncio.current_task()
        with pytest.raises(ItemCancelledError, match="'a'"):
            async with lease, lease.stop_if_cancelled():
                assert await queue.cancel("a")
                await asyncio.sleep(LATE * 2)
        assert task.cancelling() == 0
        info = await queue.get("a")
        assert (info.state, info.failures) == (State.CANCELLED, 0)
        # The task goes on.
        await asyncio.sleep(0)

    run(body)


def test_a_block_that_was_left_stops_nothing():
    async def body(queue, lease):
        async with lease.stop_if_cancelled():
            pass
        assert await queue.cancel("a")
        assert await lease.cancelled.wait() is True
        for _ in range(10):
            await asyncio.sleep(0)
        assert await queue.complete(lease)
        with pytest.raises(RuntimeError):
            block = lease.stop_if_cancelled()
            async with block:
                pass
            async with block:
                pass

    run(body)


class Wait:
    """A wait for the notice that the test ends."""

    def __init__(self):
        self.told = asyncio.get_running_loop().create_future()
        self.abandoned = False

    def __call__(self):
        return self.told, self

    def abandon(self):
        self.abandoned = True


def test_a_notice_that_comes_while_the_block_is_left_stops_nothing():
    async def body(_, lease):
        wait = Wait()
        async with StopIfCancelled(lease, wait):
            # Its callback runs in the next turn of the loop.
            wait.told.set_result(True)
        assert wait.abandoned
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    run(body)


@pytest.mark.parametrize("turns", [0, 1])
def test_a_cancel_from_outside_is_never_swallowed(turns):
    async def body(_, lease):
        wait = Wait()

        async def work():
            async with StopIfCancelled(lease, wait):
                await asyncio.sleep(LATE * 2)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        wait.told.set_result(True)
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    run(body)


@counts_cancellations
def test_a_cancel_from_outside_that_comes_after_the_stop():
    async def body(_, lease):
        wait, order = Wait(), []

        async def work():
            async with StopIfCancelled(lease, wait):
                try:
                    await asyncio.sleep(LATE * 2)
                except asyncio.CancelledError:
                    order.append("stopped")
                    asyncio.current_task().cancel()
                    raise

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        wait.told.set_result(True)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert order == ["stopped"]

    run(body)


@counts_cancellations
def test_one_that_was_cancelled_before_is_stopped_all_the_same():
    async def body(_, lease):
        async def work():
            wait = Wait()
            try:
                await asyncio.sleep(LATE * 2)
            except asyncio.CancelledError:
                # It cleans up, and does not take the cancellation back.
                with pytest.raises(ItemCancelledError):
                    async with StopIfCancelled(lease, wait):
                        wait.told.set_result(True)
                        await asyncio.sleep(LATE * 2)
                assert asyncio.current_task().cancelling() == 1
                raise

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(body)


@counts_cancellations
def test_a_completion_inside_is_not_stopped():
    async def body(queue, lease):
        async with lease.stop_if_cancelled():
            assert await queue.cancel("a")
            assert await queue.complete(lease) is True
            assert await lease.cancelled.wait() is False
            await asyncio.sleep(0)
        assert (await queue.get("a")).state is State.COMPLETED

    run(body)


def test_another_error_goes_on():
    async def body(queue, lease):
        with pytest.raises(KeyError):
            async with lease.stop_if_cancelled():
                raise KeyError
        assert await queue.complete(lease)

    run(body)


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="for Python 3.10")
def test_without_counts_the_cancellation_goes_on():
    async def body(queue, lease):
        async def work():
            async with lease.stop_if_cancelled():
                assert await queue.cancel("a")
                await asyncio.sleep(LATE * 2)

        task = asyncio.create_task(work())
        with pytest.raises(asyncio.CancelledError):
            await task

    run(body)


def test_a_client_that_closes_ends_a_wait():
    async def main():
        client = await leaseq.asyncio.connect("memory:")
        queue = client.queue("jobs")
        await queue.add_item("x")
        lease = await queue.lease(60)
        waiting = asyncio.create_task(lease.cancelled.wait())
        await asyncio.sleep(0)
        await client.close()
        assert await asyncio.wait_for(waiting, LATE) is False

    asyncio.run(main())
