"""`Lease.completed` says what has become of an item, also after an error."""

import asyncio
import signal
import threading

import pytest
from conftest import eventually

import leaseq
from leaseq import Item


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
