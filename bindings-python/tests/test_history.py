"""How leases ended, and why items were released: what Python gives and gets."""

import contextlib
import dataclasses
import pickle
import sqlite3
from datetime import datetime, timedelta, timezone

import pytest

import leaseq
from leaseq import Ending, EndingKind, Item, Releases, State

REASONS = [
    "no connection",
    "ä€🦀",
    "'; DROP TABLE item; --",
    ':;H2:"F1"',
    "1:2:3:",
    "line\nbreak\0null",
    "\0",
    " ",
    "ä" * 64,
    "x" * 128,
]


def again(queue, lease, reason=""):
    """Release the lease and lease the item again."""
    queue.release(lease, reason=reason)
    return queue.lease(30)


def pasts(queue, lease):
    """What is told of the past of an item: by its lease, by itself, and in a list."""
    return [
        (told.endings, told.releases)
        for told in (lease, queue.get(lease.id), *queue.list("leased").items)
    ]


def is_now(time):
    return abs(datetime.now(timezone.utc) - time) < timedelta(minutes=1)


def test_a_new_item_has_no_past(queue):
    queue.add_item("x")
    assert pasts(queue, queue.lease(30)) == [((), None)] * 3


def test_endings(queue):
    queue.add_item("x")
    assert queue.fail(queue.lease(30), "bad") is State.READY
    queue.lease(0.001).data  # noqa: B018 - a lease that was used is left to expire
    lease = queue.lease(30)
    assert [ending.kind for ending in lease.endings] == ["failed", "expired"]
    assert lease.endings[0].kind is EndingKind.FAILED
    for ending in lease.endings:
        assert type(ending) is Ending
        assert ending.at.tzinfo is timezone.utc
        assert is_now(ending.at)
    assert type(lease.endings) is tuple
    assert pasts(queue, lease) == [(lease.endings, None)] * 3


@pytest.mark.parametrize("reason", REASONS, ids=repr)
def test_reasons_come_back_as_they_were(queue, reason):
    queue.add_item("x")
    lease = again(queue, queue.lease(30), reason)
    first = lease.releases
    assert (type(first), first.reason, first.count) == (Releases, reason, 1)
    assert first.first_at.tzinfo is timezone.utc
    assert is_now(first.first_at)
    assert queue.release_many([lease], reason=reason) == [True]
    lease = queue.lease(30)
    assert pasts(queue, lease) == [((), Releases(reason, 2, first.first_at))] * 3
    assert again(queue, lease).releases is None


@pytest.mark.parametrize(
    ("reason", "error", "message"),
    [
        ("x" * 129, leaseq.InvalidError, "a reason of 129 bytes is over the limit of 128"),
        ("ä" * 65, leaseq.InvalidError, "a reason of 130 bytes is over the limit of 128"),
        ("\ud800", leaseq.InvalidError, "a reason is not UTF-8"),
        ("a\udcff", leaseq.InvalidError, "a reason is not UTF-8"),
        (b"bytes", TypeError, "reason"),
        (None, TypeError, "reason"),
        (5, TypeError, "reason"),
        (ValueError("x"), TypeError, "reason"),
    ],
    ids=repr,
)
def test_reasons_that_are_none(queue, reason, error, message):
    queue.add_item("x")
    lease = again(queue, queue.lease(30), "before")
    for call in (
        lambda: queue.release(lease, reason=reason),
        lambda: queue.release_many([lease], reason=reason),
        lambda: queue.release_many([], reason=reason),
    ):
        with pytest.raises(error, match=message):
            call()
    assert queue.get(lease.id).releases == lease.releases
    assert queue.complete(lease, strict=True)


def test_failing_for_good(queue):
    queue.add_items([Item("x", id=id) for id in "abc"])
    leases = queue.lease_many(3, 30)
    assert queue.fail(leases[0], ValueError("bad"), dead=True) is State.DEAD
    assert queue.fail_many(leases, ["", "b", "c"], dead=True) == [None, State.DEAD, State.DEAD]
    items = [queue.get(id) for id in "abc"]
    assert [item.last_error for item in items] == ["ValueError: bad", "b", "c"]
    assert [len(item.endings) for item in items] == [1, 1, 1]
    assert queue.requeue("a") == [True]
    lease = queue.lease(30)
    assert (lease.attempt, len(lease.endings)) == (1, 1)
    assert queue.fail(lease, delay=0, dead=True) is State.DEAD


def test_what_is_to_be_dead_has_no_delay(queue):
    queue.add_item("x")
    lease = queue.lease(30)
    for delay in (5, 0.001, timedelta(days=400)):
        for call in (
            lambda delay=delay: queue.fail(lease, delay=delay, dead=True),
            lambda delay=delay: queue.fail_many([lease], delay=delay, dead=True),
        ):
            with pytest.raises(leaseq.InvalidError, match="for an item that is to be dead"):
                call()
    for dead in ("yes", 1, None):
        with pytest.raises(TypeError, match="dead"):
            queue.fail(lease, dead=dead)
        with pytest.raises(TypeError, match="dead"):
            queue.fail_many([lease], dead=dead)
    assert queue.get(lease.id).endings == ()
    assert queue.complete(lease, strict=True)


def test_blocks_leave_their_endings(queue):
    queue.add_item(Item("x", id="a"))
    lease = again(queue, queue.lease(30), "no connection")
    assert lease.releases.count == 1
    with pytest.raises(KeyboardInterrupt), lease:
        raise KeyboardInterrupt
    assert queue.get("a").releases is None, "an interrupt gives no reason"
    with pytest.raises(OSError, match="mine"), queue.lease(30):
        raise OSError("mine")
    assert [ending.kind for ending in queue.get("a").endings] == [EndingKind.FAILED]


def test_asyncio(url, run):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            await queue.add_items([Item("x", id=id) for id in "ab"])
            leases = await queue.lease_many(2, 30)
            assert (leases[0].endings, leases[0].releases) == ((), None)
            for reason in ("x" * 129, "\ud800"):
                with pytest.raises(leaseq.InvalidError, match="reason"):
                    await queue.release(leases[0], reason=reason)
                with pytest.raises(leaseq.InvalidError, match="reason"):
                    await queue.release_many(leases, reason=reason)
            await queue.release(leases[0], reason="why:")
            assert await queue.release_many(leases, reason="why:") == [False, True]
            leases = sorted(await queue.lease_many(2, 30), key=lambda lease: lease.id)
            for lease in leases:
                assert (lease.releases.reason, lease.releases.count) == ("why:", 1)
            with pytest.raises(leaseq.InvalidError, match="a delay of 5 s"):
                await queue.fail(leases[0], delay=5, dead=True)
            assert await queue.fail(leases[0], dead=True) is State.DEAD
            assert await queue.fail_many(leases, dead=True) == [None, State.DEAD]
            for info in (await queue.list("dead")).items:
                assert [ending.kind for ending in info.endings] == [EndingKind.FAILED]
                assert info.releases is None
            await queue.requeue("a")
            with pytest.raises(OSError, match="mine"):
                async with await queue.lease(30):
                    raise OSError("mine")
            assert len((await queue.get("a")).endings) == 2

    run(main())


def test_times_that_datetime_cannot_express(tmp_path):
    path = tmp_path / "queue.db"
    with leaseq.connect(f"sqlite:{path}") as client:
        client.queue("q").add_item("x")
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        time = 2**64 - 1
        file.execute("UPDATE item SET history = ?", (f"E{time}F0:3:{time}:why",))
    last, first = (datetime(*day, tzinfo=timezone.utc) for day in ((9999, 12, 31), (1970, 1, 1)))
    endings = (Ending(last, EndingKind.EXPIRED), Ending(first, EndingKind.FAILED))
    with leaseq.connect(f"sqlite:{path}") as client:
        queue = client.queue("q")
        assert pasts(queue, queue.lease(30)) == [(endings, Releases("why", 3, last))] * 3


def test_they_are_values(queue):
    queue.add_item("x")
    queue.fail(queue.lease(30))
    lease = again(queue, queue.lease(30), "why")
    info = queue.get(lease.id)
    for value in (info, info.endings[0], info.releases, EndingKind.EXPIRED):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            copied = pickle.loads(pickle.dumps(value, protocol))
            assert (type(copied), copied) == (type(value), value)
        assert hash(value) == hash(copied)
        assert type(value).__module__ == "leaseq"
    assert info.endings[0] != dataclasses.replace(info.endings[0], kind=EndingKind.EXPIRED)
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.endings[0].kind = EndingKind.EXPIRED
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.releases.count = 5
    assert EndingKind("expired") is EndingKind.EXPIRED
    assert str(EndingKind.FAILED) == "failed"
    assert list(EndingKind) == ["failed", "expired"]
