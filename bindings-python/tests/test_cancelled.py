"""No lease is left whose caller was cancelled, whenever that was."""

import asyncio
import contextlib
import os
import random

import pytest
from conftest import eventually
from loops import all_are_ready, ready

import leaseq
from leaseq._only_asyncio import bridge as loop_bridge

# More rounds find rare defects.
ROUNDS = int(os.environ.get("LEASEQ_CANCEL_ROUNDS", "100"))
# Seconds within which the items of a cancelled call are ready again.
SOON = 3.0


async def one_round(queue, chance):
    """Cancel calls at random moments while items are added; return the leases that callers got."""
    calls = [
        queue.lease(60, wait=chance.choice([None, 0, 0.001, 0.01]))
        if chance.random() < 0.4
        else queue.lease_many(chance.randrange(1, 9), 60, wait=chance.choice([None, 0.001, 0.01]))
        for _ in range(chance.randrange(1, 12))
    ]
    tasks = []
    for call in calls:
        tasks.append(asyncio.create_task(call))
        await moment(chance)
        if chance.random() < 0.5:
            await queue.add_items(["x"] * chance.randrange(1, 6))
    for task in chance.sample(tasks, len(tasks)):
        await moment(chance)
        task.cancel()
    leases = []
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, leaseq.asyncio.Lease):
            leases.append(result)
        elif isinstance(result, list):
            leases += result
        else:
            assert result is None or isinstance(result, asyncio.CancelledError), result
    return leases


async def moment(chance):
    match chance.randrange(4):
        case 0:
            await asyncio.sleep(chance.random() * 0.003)
        case 1:
            for _ in range(chance.randrange(20)):
                await asyncio.sleep(0)


async def only_these_are_left(queue, leases):
    """Wait until nothing else is leased."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SOON
    while (processing := await queue.processing()) != len(leases):
        assert loop.time() < until, f"{processing} are leased, callers have {len(leases)}"
        await asyncio.sleep(0.001)


def test_no_lease_of_a_cancelled_call_is_left(url, run):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            for _ in range(ROUNDS):
                leases = await one_round(queue, chance)
                await only_these_are_left(queue, leases)
                await queue.complete_many(leases)
                # Few items, so that calls wait.
                if chance.random() < 0.5:
                    await queue.purge("ready")

    run(main())


def state(queue):
    counts = queue.counts()
    return counts.ready, counts.leased, counts.totals.completed


def test_a_cancelled_wait_leaves_no_lease(url, run):
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
def test_a_wait_cancelled_at_any_moment_leaves_no_lease(url, run, many):
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
    """The reply has arrived but was not delivered when the task is cancelled and all is closed."""

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
                # No reply is delivered meanwhile: this thread does not return to its loop.
                eventually(lambda: other.queue("q").processing() == 1, "it is leased")
            task.cancel()
        assert bridge.fileno() >= 0

    for _ in range(5):
        asyncio.run(main())
        assert ready(url) == (1, 0)
        with leaseq.connect(url) as other:
            other.queue("q").purge("ready")


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


def test_a_wait_that_is_cancelled_after_its_handle_was_closed_is_cancelled(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            bridge = loop_bridge()
            loop = asyncio.get_running_loop()
            await queue.add_item("x")
            task = asyncio.create_task(queue.lease(30))

            def drain():
                # The reply has arrived, and its task does not run before it is cancelled.
                bridge.drain()
                task.cancel()

            loop.remove_reader(bridge.fileno())
            loop.add_reader(bridge.fileno(), drain)
            await asyncio.sleep(0)
            await queue.close()
            with pytest.raises(asyncio.CancelledError):
                await task
            loop.add_reader(bridge.fileno(), bridge.drain)

    run(main())
    with leaseq.connect(url) as client:
        assert client.queue("q").queue_len() == 1


def test_a_cancelled_task_has_completed_and_leases_nothing(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_item("x")
            lease = await queue.lease(30)
            task = asyncio.create_task(queue.complete_and_lease([lease], 1, 30))
            while not lease.settled:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await queue.add_item("y")
            assert (await queue.counts()).totals.completed == 1

    run(main())
    with leaseq.connect(url) as client:
        eventually(lambda: state(client.queue("q")) == (1, 0, 1), "nothing stays leased")


def test_a_task_cancelled_with_its_answer_gives_the_new_lease_back(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_items(["x", "y"])
            lease = await queue.lease(30)
            loop = asyncio.get_running_loop()
            bridge = loop_bridge()
            task = asyncio.create_task(queue.complete_and_lease([lease], 1, 30))

            def drain():
                # The future is resolved, and its task does not run before it is cancelled.
                bridge.drain()
                task.cancel()

            loop.add_reader(bridge.fileno(), drain)
            with pytest.raises(asyncio.CancelledError):
                await task
            loop.add_reader(bridge.fileno(), bridge.drain)

    run(main())
    with leaseq.connect(url) as client:
        eventually(lambda: state(client.queue("q")) == (1, 0, 1), "the answer was lost")
