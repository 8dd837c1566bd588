"""The time at which an added item is due."""

import pickle
from datetime import datetime, timedelta, timezone

import pytest

import leaseq

LATER = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(hours=1)


def test_an_item_is_due_at_its_time(queue):
    east = LATER.astimezone(timezone(timedelta(hours=5, minutes=30)))
    past = datetime(1900, 1, 1, tzinfo=timezone.utc)
    assert queue.add_items(
        [
            leaseq.Item("x", id="utc", due_at=LATER),
            leaseq.Item("x", id="east", due_at=east),
            leaseq.Item.json(1, id="past", due_at=past),
        ]
    ) == [True, True, True]
    for name in ("utc", "east"):
        info = queue.get(name)
        assert info is not None
        assert (info.state, info.at) == (leaseq.State.DELAYED, LATER)
    info = queue.get("past")
    assert info is not None
    assert info.state is leaseq.State.READY


def test_the_time_is_kept_by_copies():
    item = leaseq.Item("x", id="a", due_at=LATER)
    assert item.due_at == LATER
    assert pickle.loads(pickle.dumps(item)) == item
    assert f"due_at={item.due_at!r}" in repr(item)
    assert leaseq.Item("x", id="a").due_at is None
    assert leaseq.Item("x", id="a") != item


def test_what_is_no_time_is_refused(queue):
    with pytest.raises(leaseq.InvalidError, match="has no time zone"):
        leaseq.Item("x", due_at=datetime(2030, 1, 1))
    for wrong in (1_800_000_000, "2030-01-01", timedelta(seconds=1)):
        with pytest.raises(TypeError, match="due_at is a datetime"):
            leaseq.Item("x", due_at=wrong)
    far = leaseq.Item("x", id="far", due_at=datetime(9999, 12, 31, tzinfo=timezone.utc))
    both = leaseq.Item("x", id="both", due_at=LATER, delay=1)
    for item, message in ((far, "366 days"), (both, "a delay and a time")):
        with pytest.raises(leaseq.InvalidError, match=message):
            queue.add_item(item)
    assert queue.queue_len() == 0
