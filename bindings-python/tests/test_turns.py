"""From one item to the next in one round trip: `complete_and_lease`, and loops that complete."""

import asyncio
import contextlib

import pytest
from conftest import eventually

import leaseq
import leaseq.asyncio
from leaseq import Item


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
