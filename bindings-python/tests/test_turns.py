"""From one item to the next in one round trip: `complete_and_lease`, and loops that complete."""

import asyncio
import contextlib
import signal
import threading

import pytest
from conftest import eventually

import leaseq
import leaseq.asyncio
from leaseq import Item
from leaseq._only_asyncio import bridge as loop_bridge


@pytest.fixture
def filled(queue):
    assert queue.add_items(Item(str(n), id=str(n)) for n in range(4)) == [True] * 4
    return queue


def state(queue):
    counts = queue.counts()
    return counts.ready, counts.leased, counts.totals.completed


def test_a_batch_is_completed_and_the_next_is_leased(filled):
    leases = filled.lease_many(2, 30)
    completed, following = filled.complete_and_lease(leases, 5, 30)
    assert completed == [True, True]
    assert [lease.data for lease in following] == [b"2", b"3"]
    assert all(type(lease) is leaseq.Lease for lease in following)
    assert [lease.settled for lease in (*leases, *following)] == [True, True, False, False]
    assert filled.complete_and_lease(iter([leases[0], following[0]]), 1, 30, 0, strict=True) == (
        [False, True],
        [],
    )
    assert filled.complete_and_lease([], 1, 30, wait=0) == ([], [])
    assert state(filled) == (0, 1, 3)


def test_wrong_arguments_complete_nothing(filled, client):
    lease = filled.lease(30)
    other = client.queue("other")
    for call in (
        lambda: filled.complete_and_lease([lease], 0, 30),
        lambda: filled.complete_and_lease([lease], 1, -1),
        lambda: filled.complete_and_lease([lease], 1, 30, keep_alive_limit=60),
        lambda: other.complete_and_lease([lease], 1, 30),
    ):
        with pytest.raises(leaseq.InvalidError):
            call()
    for wrong in (lease, "lease", [None]):
        with pytest.raises(TypeError):
            filled.complete_and_lease(wrong, 1, 30)
    assert state(filled) == (3, 1, 0)
    assert not lease.settled


def test_the_next_is_kept_alive(filled):
    lease = filled.lease(30)
    _, [following] = filled.complete_and_lease([lease], 1, 3, keep_alive=True)
    before = following.deadline
    eventually(lambda: following.deadline > before, "it is extended")
    assert not following.lost


def test_a_loop_completes_what_its_turns_do_not_settle(filled):
    seen = []
    for lease in filled.leases(30, wait=0, complete=True):
        seen.append(lease.data)
        if lease.id == "1":
            filled.fail(lease, "later", delay=3600)
        if lease.id == "2":
            with lease:
                pass
    assert seen == [b"0", b"1", b"2", b"3"]
    assert state(filled) == (0, 0, 3)
    assert filled.get("1").failures == 1


def test_a_turn_that_does_not_end_completes_nothing(filled):
    for lease in filled.leases(30, complete=True):
        if lease.id == "1":
            break
    assert state(filled) == (3, 0, 1)
    with pytest.raises(ZeroDivisionError):
        for _ in filled.leases(30, complete=True):
            1 / 0  # noqa: B018
    assert state(filled) == (3, 0, 1)
    assert filled.get("1").failures == 0

    def first():
        for lease in filled.leases(30, complete=True):
            return lease
        return None

    assert first().settled
    assert state(filled) == (3, 0, 1)


def test_a_turn_that_settles_is_left_as_it_is(filled):
    for lease in filled.leases(30, complete=True):
        filled.complete(lease)
        break
    assert state(filled) == (3, 0, 1)


def test_without_the_option_nothing_is_completed(filled):
    assert [lease.id for lease in filled.leases(30, wait=0)] == ["0", "1", "2", "3"]
    assert state(filled) == (0, 4, 0)


def test_left_after_the_client_was_closed_a_loop_ends(url):
    client = leaseq.connect(url)
    queue = client.queue("closed")
    queue.add_item("x")
    for _ in queue.leases(30, complete=True):
        client.close()
        break


def test_asyncio(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_items(Item(str(n), id=str(n)) for n in range(6))
            leases = await queue.lease_many(2, 30)
            completed, following = await queue.complete_and_lease(leases, 1, 30)
            assert completed == [True, True]
            assert type(following[0]) is leaseq.asyncio.Lease
            assert await queue.release(following[0]) is None
            async for lease in queue.leases(30, wait=0, complete=True):
                if lease.id == "2":
                    await queue.complete(lease)
                if lease.id == "4":
                    break
            # The loop ends the iterator, some time later.
            while await queue.processing() > 0:
                await asyncio.sleep(0.001)
            async with contextlib.aclosing(queue.leases(30, complete=True)) as loop:
                async for _ in loop:
                    break
            return queue.name

    name = run(main())
    with leaseq.connect(url) as client:
        # Both loops were left at an item, which went back.
        eventually(lambda: state(client.queue(name)) == (2, 0, 4), "nothing stays leased")


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


def test_a_task_cancelled_with_its_answer_gives_back(url, run):
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


@pytest.mark.parametrize("strict", [False, True])
def test_after_an_error_each_lease_says_whether_it_was_completed(url, run, strict):
    with leaseq.connect(url) as other:
        queue = other.queue("q")
        queue.add_items(Item("x", id=name) for name in "abcd")

        def completed(leases):
            # Somebody has removed the second one.
            assert [lease.completed for lease in leases] == [True, False]
            assert [lease.settled for lease in leases] == [True, not strict]
            assert not strict or leases[1].lost

        client = leaseq.connect(url)
        leases = client.queue("q").lease_many(2, 30)
        assert queue.remove(leases[1].id)
        held = queue.lease_many(2, 30)
        assert len(held) == 2

        def close():
            eventually(lambda: leases[0].settled, "it is completed")
            client.close()

        thread = threading.Thread(target=close)
        thread.start()
        with pytest.raises(leaseq.ClosedError):
            client.queue("q").complete_and_lease(leases, 1, 30, strict=strict)
        thread.join()
        completed(leases)

        async def main():
            client = await leaseq.asyncio.connect(url)
            queue.release_many(held)
            leases = await client.queue("q").lease_many(2, 30)
            assert queue.remove(leases[1].id)
            call = client.queue("q").complete_and_lease(leases, 1, 30, strict=strict)
            task = asyncio.create_task(call)
            while not leases[0].settled:
                await asyncio.sleep(0.001)
            await client.close()
            with pytest.raises(leaseq.ClosedError):
                await task
            completed(leases)

        run(main())


def said(leases):
    return [(lease.completed, lease.settled) for lease in leases]


# After completing the first and the third, releasing the second, and removing the last two.
SAID = [(True, True), (False, True), (False, True), (False, False)]


def test_a_lease_says_whether_it_was_completed(filled):
    leases = filled.lease_many(4, 30)
    assert said(leases) == [(False, False)] * 4
    filled.release(leases[1], delay=3600)
    assert filled.remove_many([lease.id for lease in leases[2:]]) == [True, True]
    assert filled.complete_many([leases[0], leases[2]]) == [True, False]
    assert not filled.complete(leases[3], strict=True)
    assert not filled.complete(leases[0])
    assert said(leases) == SAID


def test_a_lease_of_asyncio_says_whether_it_was_completed(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_items(["x"] * 4)
            leases = await queue.lease_many(4, 30)
            assert said(leases) == [(False, False)] * 4
            await queue.release(leases[1], delay=3600)
            assert await queue.remove_many([lease.id for lease in leases[2:]]) == [True, True]
            assert await queue.complete_many([leases[0], leases[2]]) == [True, False]
            assert not await queue.complete(leases[3], strict=True)
            assert said(leases) == SAID

    run(main())


@pytest.mark.parametrize("call", ["complete_many", "complete_and_lease"])
def test_after_an_unknown_outcome_no_lease_says_that_it_was_completed(start_redis, run, call):
    server = start_redis()
    more = (1, 30) if call == "complete_and_lease" else ()

    async def main():
        async with await leaseq.asyncio.connect(server.url, timeout=0.2) as client:
            queue = client.queue("asyncio")
            await queue.add_item("x")
            lease = await queue.lease(30)
            server.process.send_signal(signal.SIGSTOP)
            with pytest.raises(leaseq.UnavailableError) as raised:
                await getattr(queue, call)([lease], *more)
            assert raised.value.outcome_unknown
            assert said([lease]) == [(None, False)]

    with leaseq.connect(server.url, timeout=0.2) as client:
        queue = client.queue("q")
        queue.add_item("x")
        lease = queue.lease(30)
        server.process.send_signal(signal.SIGSTOP)
        with pytest.raises(leaseq.UnavailableError) as raised:
            getattr(queue, call)([lease], *more)
        assert raised.value.outcome_unknown
        assert said([lease]) == [(None, False)]
        server.process.send_signal(signal.SIGCONT)
        eventually(lambda: queue.complete(lease) or not queue.processing(), "it is completed")
    run(main())


def test_when_nothing_was_executed_no_lease_was_completed(url, run):
    async def main():
        client = await leaseq.asyncio.connect(url)
        queue = client.queue("asyncio")
        await queue.add_item("x")
        lease = await queue.lease(30)
        await client.close()
        with pytest.raises(leaseq.ClosedError):
            await queue.complete_and_lease([lease], 1, 30)
        assert said([lease]) == [(False, False)]

    client = leaseq.connect(url)
    queue = client.queue("q")
    queue.add_item("x")
    lease = queue.lease(30)
    client.close()
    with pytest.raises(leaseq.ClosedError):
        queue.complete_and_lease([lease], 1, 30)
    assert said([lease]) == [(False, False)]
    run(main())
