"""The asyncio interface: the same operations, and the ends of loops."""

import asyncio
import gc
import sys
import threading
import warnings
from datetime import timedelta

import pytest
from conftest import eventually
from loops import ready

import leaseq
from leaseq import Item, State
from leaseq._only_asyncio import _bridges
from leaseq._only_asyncio import bridge as loop_bridge


def test_calls_are_executed_in_the_order_in_which_they_are_made(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            for number in range(100):
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
            assert await queue.set_progress(lease, "half") is None
            assert (await queue.get("a")).progress == b"half"
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
            assert await queue.bury("x", error="no") == [False]
            assert await queue.revise("x", "new") is False
            assert await queue.revise_many([leaseq.Revision("x", "new")]) == [False]
            pairs = [("a", leaseq.FollowUp("dead", "next")), ("x", leaseq.FollowUp("dead", "next"))]
            assert await queue.attach(*pairs[0]) is True
            assert await queue.attach_many(pairs) == [True, False]
            group = await queue.create_group("g")
            assert await queue.seal_group(group, 2) is True
            assert (await queue.group("g")).places == 2
            assert await queue.group_places(group, 1) == ["open"]
            assert await queue.group_outcome("g", 0.001) is None
            assert await queue.cancel_group(group) is True
            assert await queue.remove_group(group) is True
            assert await queue.cancel_group(group) is False
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
    # They still wait; what is leased for them goes back.
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


def test_leases_of_both_interfaces_are_alike(url):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            await client.queue("q").add_item("x")
            return await client.queue("q").lease(30)

    lease = asyncio.run(main())
    with leaseq.connect(url) as client:
        assert client.queue("q").complete(lease, strict=True)


def test_a_program_that_ends_in_the_middle_prints_nothing(url, program):
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


def test_a_call_that_is_never_awaited_warns():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        leaseq.asyncio.connect("memory:")
        gc.collect()
    assert "never awaited" in str(caught[0].message)
    assert sys.modules["leaseq.asyncio"] is leaseq.asyncio
