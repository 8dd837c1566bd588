"""asyncio: calls of one turn of the loop go to the core together, and each keeps its own answer."""

import asyncio
import gc

import pytest
from conftest import eventually
from test_fork import in_child

import leaseq
from leaseq import Item
from leaseq._only_asyncio import bridge as loop_bridge


def requests(server, script="evalsha"):
    """How many scripts the server has executed."""
    for line in server.command("INFO", "commandstats").decode().splitlines():
        if line.startswith(f"cmdstat_{script}:"):
            return int(line.partition("calls=")[2].partition(",")[0])
    return 0


def test_calls_of_one_turn_share_a_request(redis, redis_url):
    async def main():
        async with await leaseq.asyncio.connect(redis_url) as client:
            queue = client.queue("q")
            await queue.add_item("first")
            before = requests(redis)
            assert await asyncio.gather(*(queue.add_item("x") for _ in range(50))) == [True] * 50
            assert requests(redis) - before <= 2

    asyncio.run(main())


def test_each_call_of_a_batch_gets_its_own_answer(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url, max_data=10) as client:
            queue = client.queue("q")
            added = await asyncio.gather(
                *(queue.add_item(Item("x", id=id)) for id in "abacb"),
                queue.add_item("more than ten bytes"),
                queue.add_item(Item("x", id="d")),
                return_exceptions=True,
            )
            assert isinstance(added.pop(5), leaseq.InvalidError)
            assert added == [True, True, False, True, False, True]
            leases = await asyncio.gather(*(queue.lease(30, wait=0) for _ in range(6)))
            assert [lease and lease.id for lease in leases] == ["a", "b", "c", "d", None, None]
            first, *others = leases[:4]
            completed = await asyncio.gather(
                *(queue.complete(lease) for lease in (first, *others, first))
            )
            assert completed == [True, True, True, True, False]

    run(main())


def test_the_last_call_that_replaces_wins(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            items = [Item("a", id="other"), *(Item(data, id="a", replace=True) for data in "123")]
            items += [Item(data, unique="k", replace=True) for data in "456"]
            assert await asyncio.gather(*map(queue.add_item, items)) == [True] * 7
            leases = await queue.lease_many(9, 30)
            assert [lease.data for lease in leases] == [b"a", b"3", b"6"]

    run(main())


def test_a_lease_of_another_queue_spoils_its_own_call_alone(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue, other = client.queue("q"), client.queue("other")
            await asyncio.gather(queue.add_items(["x"] * 2), other.add_item("x"))
            ours, wrong = await queue.lease_many(2, 30), await other.lease(30)
            completed = await asyncio.gather(
                queue.complete(ours[0]),
                queue.complete(wrong),
                client.queue("q").complete(ours[1]),
                return_exceptions=True,
            )
            assert (completed[0], completed[2]) == (True, True)
            assert isinstance(completed[1], leaseq.InvalidError)
            assert await other.complete(wrong)

    run(main())


def test_calls_that_find_nothing_wait_on_by_themselves(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            tasks = [asyncio.create_task(queue.lease(30)) for _ in range(4)]
            patient = asyncio.create_task(queue.lease(30, wait=60))
            impatient = [asyncio.create_task(queue.lease(30, wait=0)) for _ in range(3)]
            hurried = asyncio.create_task(queue.lease(30, wait=0.05))
            assert await asyncio.gather(*impatient, hurried) == [None] * 4
            tasks[1].cancel()
            await queue.add_items(["a", "b", "c", "d"])
            leases = await asyncio.gather(tasks[0], *tasks[2:], patient)
            assert sorted(lease.data for lease in leases) == [b"a", b"b", b"c", b"d"]

    run(main())


def test_calls_with_other_options_do_not_mix(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_items(["x"] * 6)
            short, long, kept = await asyncio.gather(
                asyncio.gather(*(queue.lease(30) for _ in range(2))),
                asyncio.gather(*(queue.lease(300) for _ in range(2))),
                asyncio.gather(*(queue.lease(3, keep_alive=True) for _ in range(2))),
            )
            assert all(lease.remaining < 31 for lease in short)
            assert all(0 <= lease.waited < 20 for lease in short)
            assert all(lease.remaining > 200 for lease in long)
            before = [lease.deadline for lease in kept]
            while [lease.deadline for lease in kept] == before:
                await asyncio.sleep(0.01)
            assert not any(lease.lost for lease in kept)

    run(main())


@pytest.mark.parametrize("many", [False, True])
def test_calls_cancelled_in_the_turn_of_their_batch_lease_nothing(url, run, many):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_items(["x"] * 4)
            tasks = [
                asyncio.create_task(queue.lease_many(1, 30) if many else queue.lease(30))
                for _ in range(4)
            ]
            await asyncio.sleep(0)
            for task in tasks[1:]:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert [isinstance(result, asyncio.CancelledError) for result in results] == [
                False,
                True,
                True,
                True,
            ]
            while await queue.queue_len() < 3:
                await asyncio.sleep(0.001)
            assert await queue.processing() == 1

    run(main())


def test_calls_of_a_loop_that_ends_before_it_sends_them_are_executed(url):
    """They were made; nobody waits for their answers any more."""
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(leaseq.asyncio.connect(url))

    async def begin():
        return client.queue("q")._native.add_item(loop_bridge(), "x")

    future = loop.run_until_complete(begin())
    loop.close()
    del future, loop
    gc.collect()
    with leaseq.connect(url) as other:
        eventually(lambda: other.queue("q").queue_len() == 1, "it is added")
    asyncio.run(client.close())


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_does_not_make_the_calls_of_its_parent(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue, bridge = client.queue("q"), loop_bridge()
            await queue.add_item("x")
            futures = [queue._native.add_item(bridge, "x") for _ in range(3)]

            def child():
                bridge.flush()
                with pytest.raises(leaseq.InvalidError, match="the event loop belongs to process"):
                    queue._native.add_item(bridge, "x")
                return True

            in_child(child)
            assert await asyncio.gather(*futures) == [True] * 3
            assert await queue.queue_len() == 4

    run(main())
