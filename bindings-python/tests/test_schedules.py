"""Schedules: rules that add items at certain times."""

import asyncio
import pickle
from datetime import datetime, timedelta, timezone

import pytest

import leaseq
import leaseq.asyncio
from leaseq import PutSchedule, Schedule

FRIDAY = datetime(2027, 1, 15, 12, tzinfo=timezone.utc)


@pytest.fixture
def queue():
    with leaseq.connect("memory:") as client:
        yield client.queue("schedules")


def test_a_schedule_is_put_and_shown(queue):
    item = leaseq.Item("data", priority=3)
    how = {"cron": "0 9 * * mon-fri", "zone": "Europe/Berlin", "owner": "app", "missed": 5}
    put = queue.put_schedule("report", item, revision=7, grace=timedelta(seconds=5), **how)
    assert put is PutSchedule.ADDED
    assert put == "added" == str(put)
    [info] = queue.schedules()
    assert (info.name, info.data, info.cron, info.zone) == (
        "report",
        b"data",
        "0 9 * * mon-fri",
        "Europe/Berlin",
    )
    assert (info.every, info.owner, info.revision, info.missed) == (None, "app", 7, 5)
    assert (info.grace, info.overlap, info.paused, info.last_id) == (5, False, False, None)
    assert (info.priority, info.delay, info.max_attempts, info.retain) == (3, 0, None, None)
    assert (info.unique, info.unique_for, info.expires_in) == (None, None, None)
    assert (info.replace, info.successor) == (False, False)
    assert (info.key, info.key_bytes, info.unique_bytes) == (None, None, None)
    [without] = queue.schedules(data=False)
    assert (without.data, without.priority) == (b"", 3)
    assert info.next == leaseq.schedule_times(cron=info.cron, zone=info.zone, count=1)[0]
    assert pickle.loads(pickle.dumps(info)) == info
    how["missed"] = "skip"
    assert queue.put_schedule("report", item, revision=7, **how) is PutSchedule.UPDATED
    assert queue.put_schedule("report", item, revision=7, **how) is PutSchedule.UNCHANGED
    assert queue.put_schedule("report", item, revision=6, **how) is PutSchedule.OUTDATED
    assert queue.schedules()[0].missed == "skip"
    assert queue.pause_schedule("report", by="ada", reason="twice")
    info = queue.schedules(data=False)[0]
    assert (info.data, info.paused_by, info.pause_reason) == (b"", "ada", "twice")
    assert info.paused_at is not None


def test_a_schedule_shows_the_options_of_its_items(queue):
    item = leaseq.Item(
        "data",
        delay=1,
        max_attempts=2,
        retain=timedelta(seconds=3),
        unique=b"\xff",
        unique_for=4,
        replace=True,
        successor=True,
        key="customer",
        expires_in=5,
    )
    queue.put_schedule("all", item, every=60)
    [info] = queue.schedules()
    assert (info.delay, info.max_attempts, info.retain, info.unique_for) == (1.0, 2, 3.0, 4.0)
    assert (info.replace, info.successor) == (True, True)
    assert (info.key, info.key_bytes) == ("customer", b"customer")
    assert (info.unique_bytes, info.expires_in) == (b"\xff", 5.0)


def test_an_interval_adds_items_to_a_call_that_waits(queue):
    queue.put_schedule("tick", "x", every=0.1)
    info = queue.schedules()[0]
    assert (info.cron, info.zone, info.every, info.missed) == (None, None, 0.1, "one")
    lease = queue.lease(30, wait=10)
    assert lease.id.startswith("tick@")
    assert queue.complete(lease)
    assert queue.schedules()[0].last_id.startswith("tick@")


def test_what_operators_do(queue):
    queue.put_schedule("s", leaseq.Item("x", priority=4), every=3600)
    assert queue.pause_schedule("s")
    info = queue.schedules()[0]
    assert info.paused
    assert info.next is None
    assert queue.run_now("s")
    assert queue.lease(30, wait=0).priority == 4
    assert queue.resume_schedule("s")
    assert queue.schedules()[0].next is not None
    assert queue.remove_schedule("s")
    for change in (
        queue.remove_schedule,
        queue.pause_schedule,
        queue.resume_schedule,
        queue.run_now,
    ):
        assert change("s") is False
    assert queue.schedules() == []


def test_an_owner_declares_its_schedules(queue):
    queue.put_schedule("operator", "x", every=60)
    both = [Schedule(name, "x", every=60) for name in "ab"]
    assert queue.sync_schedules("app", 1, both).added == ["a", "b"]
    done = queue.sync_schedules("app", 2, (each for each in both[1:]))
    assert (done.removed, done.updated) == (["a"], ["b"])
    assert queue.sync_schedules("app", 2, both[1:]).unchanged == ["b"]
    assert queue.sync_schedules("app", 1, both).outdated == ["a", "b"]
    assert [info.name for info in queue.schedules()] == ["b", "operator"]


def test_wrong_values_are_refused(queue):
    for wrong, says in [
        ({}, "either cron or every"),
        ({"cron": "* * * * *", "every": 60}, "either cron or every"),
        ({"every": 60, "zone": "UTC"}, "no zone"),
        ({"every": 0.05}, "100 ms"),
        ({"every": -1}, "not a time"),
        ({"cron": "* * *"}, "fields"),
        ({"cron": "* * * * *", "zone": "Nowhere"}, "Nowhere"),
        ({"every": 60, "missed": "two"}, "missed"),
        ({"every": 60, "missed": 0}, "1 and 1000"),
        ({"every": 60, "missed": 1001}, "1 and 1000"),
        ({"every": 60, "revision": 2**53 + 1}, "2^53"),
        ({"every": 60, "grace": timedelta(days=367)}, "grace"),
    ]:
        with pytest.raises(leaseq.InvalidError) as error:
            queue.put_schedule("s", "x", **wrong)
        assert says in str(error.value)
    for wrong in ({"every": "60"}, {"cron": 5}, {"every": 60, "missed": True}):
        with pytest.raises(TypeError):
            queue.put_schedule("s", "x", **wrong)
    with pytest.raises(TypeError):
        queue.sync_schedules("app", 1, ["s"])
    with pytest.raises(leaseq.InvalidError):
        queue.sync_schedules("", 1, [])
    assert queue.schedules() == []


def test_the_next_times_of_a_rule():
    cron = {"cron": "0 9 * * mon-fri", "zone": "Europe/Berlin"}
    monday = datetime(2027, 1, 18, 8, tzinfo=timezone.utc)
    assert leaseq.schedule_times(**cron, after=FRIDAY, count=2) == [
        monday,
        monday + timedelta(days=1),
    ]
    minute = timedelta(minutes=1)
    assert leaseq.schedule_times(every=minute, after=FRIDAY, count=1) == [FRIDAY + minute]
    assert len(leaseq.schedule_times(every=60)) == 10
    with pytest.raises(leaseq.InvalidError, match="1000"):
        leaseq.schedule_times(every=60, count=1001)
    with pytest.raises(leaseq.InvalidError, match="time zone"):
        leaseq.schedule_times(every=60, after=datetime(2027, 1, 1))


def test_schedules_of_asyncio():
    async def main():
        async with await leaseq.asyncio.connect("memory:") as client:
            queue = client.queue("schedules")
            done = await queue.sync_schedules("app", 1, [Schedule("s", "x", every=3600)])
            assert done.added == ["s"]
            assert await queue.put_schedule("t", "y", every=0.1) is PutSchedule.ADDED
            assert [info.name for info in await queue.schedules()] == ["s", "t"]
            assert (await queue.lease(30, wait=10)).data == b"y"
            assert await queue.pause_schedule("s")
            assert await queue.run_now("s")
            assert await queue.resume_schedule("s")
            assert await queue.remove_schedule("s")

    asyncio.run(main())
