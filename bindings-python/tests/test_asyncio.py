"""The asyncio face: the same operations, cancellation, and the ends of loops."""

import asyncio
import contextlib
import gc
import random
import sys
import threading
import warnings
from datetime import timedelta

import pytest
from conftest import PATIENCE, eventually

import leaseq
from leaseq import Item, State
from leaseq._only_asyncio import _bridges
from leaseq._only_asyncio import bridge as loop_bridge


def ready(url):
    """How many items are ready, and leased, seen by another client."""
    with leaseq.connect(url) as client:
        counts = client.queue("q").counts()
        return counts.ready, counts.leased


def test_calls_are_executed_in_the_order_in_which_they_are_made(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            for number in range(300):
                id = str(number)
                added, lease, removed = await asyncio.gather(
                    queue.add_item(Item("x", id=id)), queue.lease(30, wait=0), queue.remove(id)
                )
                assert (added, lease and lease.id, removed) == (True, id, True), number
                await queue.add_item(Item("x", id=id))
                lease = await queue.lease(30, wait=0)
                again = await asyncio.gather(
                    queue.complete(lease), queue.add_item(Item("x", id=id)), queue.remove(id)
                )
                assert again == [True] * 3, number

    run(main())


def test_every_operation(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url, timeout=5) as client:
            queue = client.queue("q")
            assert repr(queue) == "<leaseq.asyncio.Queue 'q'>"
            assert await queue.add_item(Item("data", id="a", max_attempts=3))
            assert not await queue.add_item(Item("data", id="a"))
            assert await queue.add_items(["b", "c", "d"]) == [True] * 3
            assert await client.queues() == ["q"]
            lease = await queue.lease(30)
            assert repr(lease) == "<leaseq.asyncio.Lease of 'a' in queue 'q', attempt 1>"
            assert (lease.data, lease.attempt) == (b"data", 1)
            assert await queue.extend(lease, 60) == lease.deadline
            assert await queue.fail(lease, "bad") is State.READY
            leases = await queue.lease_many(2, timedelta(seconds=30))
            assert [lease.data for lease in leases] == [b"b", b"c"]
            assert None not in await queue.extend_many(leases, 60)
            assert await queue.release_many(leases) == [True, True]
            assert await queue.release_many(leases) == [False, False]
            assert await queue.queue_len() == 4
            leases = await queue.lease_many(2, 30)
            assert await queue.processing() == 2
            assert await queue.complete(leases[0]) is True
            assert await queue.complete(leases[0]) is False
            assert await queue.complete_many(leases, strict=True) == [False, True]
            lease = await queue.lease(30, wait=0)
            assert await queue.release(lease, delay=3600) is None
            assert await queue.fail_many([lease], "x") == [None]
            assert (await queue.counts()).delayed == 1
            assert (await queue.get("a")).failures == 1
            assert [i.id for i in (await queue.list("ready")).items] == ["a"]
            assert await queue.remove(lease.id)
            assert await queue.remove_many(["x"]) == [False]
            assert await queue.requeue("a") == [False]
            await queue.pause()
            assert await queue.lease(30, 0) is None
            await queue.resume()
            assert (await queue.light_clean()).expired == 0
            assert (await queue.check()).is_sound
            assert (await queue.deep_clean()).is_sound
            assert await queue.purge("ready") == 1
            assert await queue.lease_many(5, 30, 0) == []
            async with client.queue("q") as other:
                pass
            with pytest.raises(leaseq.ClosedError):
                await other.add_item("x")
        with pytest.raises(leaseq.ClosedError):
            await queue.add_item("x")

    run(main())


def test_blocks(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_items([Item("x", id="1"), Item("x", id="2"), Item("x", id="3")])
            async for lease in queue.leases(30, wait=0):
                async with lease as same:
                    assert same is lease
                break
            assert await queue.get("1") is None
            with pytest.raises(ZeroDivisionError):
                async with await queue.lease(30):
                    1 / 0  # noqa: B018
            assert (await queue.get("2")).last_error == "ZeroDivisionError: division by zero"
            with pytest.raises(asyncio.CancelledError):
                async with await queue.lease(30):
                    raise asyncio.CancelledError
            info = await queue.get("3")
            assert (info.state, info.failures) == (State.READY, 0)
            with pytest.raises(leaseq.InvalidError, match="lease of"):
                await queue.lease(-1)

    run(main())


def test_many_tasks_at_once(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")

            async def work():
                for _ in range(10):
                    assert await queue.add_item("x")
                    lease = await queue.lease(30)
                    assert await queue.complete(lease)

            await asyncio.gather(*(work() for _ in range(100)))
            assert (await queue.counts()).totals.completed == 1_000

    run(main())


def test_answers_that_arrive_together_wake_the_loop_once(redis_url):
    async def main():
        async with await leaseq.asyncio.connect(redis_url) as client:
            queue = client.queue("q")
            await queue.add_item("x")
            loop = asyncio.get_running_loop()
            bridge = loop_bridge()
            wakes = 0

            def drain():
                nonlocal wakes
                wakes += 1
                bridge.drain()

            loop.add_reader(bridge.fileno(), drain)
            await asyncio.gather(*(queue.add_item("x") for _ in range(1_000)))
            assert wakes < 300
            loop.add_reader(bridge.fileno(), bridge.drain)

    asyncio.run(main())


async def all_are_ready(queue, count):
    """Wait for it: what a call had won when it was given up is given back in the background."""
    until = asyncio.get_running_loop().time() + PATIENCE
    while await queue.queue_len() < count:
        assert asyncio.get_running_loop().time() < until, await queue.counts()
        await asyncio.sleep(0.001)
    assert await queue.processing() == 0


def test_a_cancelled_wait_strands_nothing(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            tasks = [asyncio.create_task(queue.lease(30)) for _ in range(10)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await queue.add_items(["x"] * 5)
            await all_are_ready(queue, 5)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.queue("other").lease(30), 0.01)

    run(main())


@pytest.mark.parametrize("many", [False, True])
def test_a_wait_cancelled_at_any_moment_strands_nothing(url, run, many):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            held = 0
            for _ in range(300):
                call = queue.lease_many(3, 30) if many else queue.lease(30)
                task = asyncio.create_task(call)
                if chance.random() < 0.5:
                    await asyncio.sleep(0)
                await queue.add_item("x")
                for _ in range(chance.randrange(40)):
                    await asyncio.sleep(0)
                if chance.random() < 0.3:
                    await asyncio.sleep(chance.random() * 0.002)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    leases = await task
                    held += await give_back(queue, leases)
        return held

    async def give_back(queue, leases):
        leases = leases if isinstance(leases, list) else [leases]
        await queue.release_many(leases)
        return len(leases)

    run(main())
    eventually(lambda: ready(url) == (300, 0), "everything is ready again")


def test_a_task_cancelled_with_its_answer_gives_it_back(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_item("x")
            loop = asyncio.get_running_loop()
            bridge = loop_bridge()
            task = asyncio.create_task(queue.lease(30))

            def drain():
                # The future is resolved, and its task does not run before it is cancelled.
                bridge.drain()
                task.cancel()

            loop.remove_reader(bridge.fileno())
            loop.add_reader(bridge.fileno(), drain)
            with pytest.raises(asyncio.CancelledError):
                await task
            loop.add_reader(bridge.fileno(), bridge.drain)

    run(main())
    assert ready(url) == (1, 0)


def test_a_client_closed_with_an_answer_on_its_way_gives_it_back(url):
    """The answer has come, but was not handed out, when the task is cancelled and all closes."""

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            bridge = loop_bridge()
            await queue.queue_len()
            task = asyncio.create_task(queue.lease(30))
            for _ in range(2):  # turns of the loop: the task makes its call, and the call is sent
                await asyncio.sleep(0)
            with leaseq.connect(url) as other:
                other.queue("q").add_item("x")
                # Nothing is handed out meanwhile: this thread does not return to its loop.
                eventually(lambda: other.queue("q").processing() == 1, "it is leased")
            task.cancel()
        assert bridge.fileno() >= 0

    for _ in range(5):
        asyncio.run(main())
        assert ready(url) == (1, 0)
        with leaseq.connect(url) as other:
            other.queue("q").purge("ready")


def test_a_loop_closed_with_waits_leaves_nothing(url, recwarn):
    client = None

    async def begin():
        nonlocal client
        client = await leaseq.asyncio.connect(url)
        queue = client.queue("q")
        tasks = [asyncio.ensure_future(queue.lease(30)) for _ in range(3)]
        await asyncio.sleep(0.01)
        return tasks

    loop = asyncio.new_event_loop()
    tasks = loop.run_until_complete(begin())
    loop.close()
    # They still wait; what comes for them goes back.
    with leaseq.connect(url) as other:
        other.queue("q").add_items(["x"] * 3)
    eventually(lambda: ready(url) == (3, 0), "everything is ready again")
    for task in tasks:
        task._log_destroy_pending = False
    del tasks, task
    gc.collect()
    assert ready(url) == (3, 0)
    asyncio.run(client.close())
    assert [str(warning.message) for warning in recwarn if "leaseq" in str(warning.message)] == []


def test_one_client_serves_one_loop_after_the_other(url):
    async def connect():
        return await leaseq.asyncio.connect(url)

    client = asyncio.run(connect())

    async def use():
        assert await client.queue("q").add_item("x")
        assert await client.queue("q").lease(30)

    for _ in range(5):
        asyncio.run(use())
    threads = [threading.Thread(target=lambda: asyncio.run(use())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(client.close())
    gc.collect()
    assert _bridges == {}


def test_a_call_without_a_loop_is_an_error(url):
    call = leaseq.asyncio.connect(url)
    with pytest.raises(RuntimeError, match="no running event loop"):
        call.send(None)


def test_leases_of_both_faces_are_alike(url):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            await client.queue("q").add_item("x")
            return await client.queue("q").lease(30)

    lease = asyncio.run(main())
    with leaseq.connect(url) as client:
        assert client.queue("q").complete(lease, strict=True)


def test_a_wait_that_is_collected_gives_back(redis_url):
    """A task destroyed while it waits, as frameworks do that drop their loops."""

    async def main():
        async with await leaseq.asyncio.connect(redis_url) as client:
            queue = client.queue("q")
            coroutine = queue.lease(30)
            future = coroutine.send(None)
            coroutine.close()
            del future
            await queue.add_item("x")
            await all_are_ready(queue, 1)

    asyncio.run(main())


def test_nothing_is_said_when_a_program_ends_in_the_middle(url, program):
    code = """
        import asyncio, leaseq
        async def main():
            client = await leaseq.asyncio.connect()
            asyncio.create_task(client.queue("q").lease(30))
            await asyncio.sleep(0.05)
        asyncio.run(main())
    """
    out, err = program(code, url).ends()
    assert (out, err) == ("", "")


def test_python_knows_what_is_awaited():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        leaseq.asyncio.connect("memory:")
        gc.collect()
    assert "never awaited" in str(caught[0].message)
    assert sys.modules["leaseq.asyncio"] is leaseq.asyncio
