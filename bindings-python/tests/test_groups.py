"""Groups: how arguments are converted. What they mean is in the scenarios."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import pytest

import leaseq
from leaseq import (
    FollowUp,
    Group,
    GroupInfo,
    GroupOutcome,
    GroupOutcomeKind,
    InvalidError,
    Item,
    PlaceState,
    Queue,
)


@pytest.fixture
def queue() -> Queue:
    return leaseq.connect("memory:").queue("jobs")


def test_the_calls_take_and_return_groups(queue: Queue) -> None:
    following = FollowUp("ended", Item("all", id="all"), with_trigger=True)
    group = queue.create_group(b"\xff", iter([following]))
    assert (group.queue, group.id, group.id_bytes) == ("jobs", "\udcff", b"\xff")
    assert queue.create_group("\udcff") == group == pickle.loads(pickle.dumps(group))
    assert queue.add_items([Item("x", group=group, place=n) for n in range(3)]) == [True] * 3
    info = queue.group(b"\xff")
    assert info is not None
    assert (info.group, info.places, info.ended, info.completed) == (group, None, 0, 0)
    assert queue.seal_group(group, 3) is True
    assert queue.seal_group(group, 4) is False
    first, second, third = queue.lease_many(3, 30)
    queue.complete(first)
    queue.fail(second, dead=True)
    info = queue.group("\udcff")
    assert info == GroupInfo(group, 3, 2, 1, False, info.changed_at if info else datetime.max)
    assert abs(datetime.now(timezone.utc) - info.changed_at).days == 0
    states = [PlaceState.COMPLETED, PlaceState.ENDED, PlaceState.OPEN]
    assert queue.group_places(group) == states == ["completed", "ended", "open"]
    assert queue.group_places(group, 2) == queue.group_places(group, first=2) == states[2:]
    assert queue.group_places(group, 2**32 - 1) == []
    queue.complete(third)
    lease = queue.lease(30)
    assert lease is not None
    assert lease.trigger is not None
    assert (lease.id, lease.trigger.id_bytes, lease.trigger.result) == ("all", b"\xff", None)
    assert queue.cancel_group(group) is False
    assert queue.remove_group(group) is True
    assert queue.remove_group(group) is False
    assert queue.group(group.id) is None


def test_the_members_of_a_cancelled_group_are_cancelled(queue: Queue) -> None:
    group = queue.create_group("g")
    queue.add_item(Item("x", group=group, place=0))
    assert queue.cancel_group(group) is True
    assert queue.add_item(Item("x", group=group, place=1)) is True
    assert queue.counts().ready == 0
    assert queue.group_places(group)[:2] == ["ended", "ended"]
    assert queue.seal_group(group, 2) is True
    assert queue.cancel_group(group) is False


def test_a_wait_returns_how_the_group_has_ended(queue: Queue) -> None:
    group = queue.create_group(b"\xff")
    assert queue.group_outcome(b"\xff", 0) is queue.group_outcome("\udcff", 0.001) is None
    assert queue.group_outcome("none", expect=True, wait=0) is None
    gone = queue.group_outcome("none")
    assert gone == GroupOutcome(GroupOutcomeKind.GONE)
    assert (gone.kind, gone.info, gone.completed) == ("gone", None, False)
    assert queue.add_items([Item("x", group=group, place=n) for n in range(2)]) == [True] * 2
    assert queue.seal_group(group, 2) is True
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(queue.group_outcome, b"\xff")
        first, second = queue.lease_many(2, 30)
        queue.complete(first)
        queue.fail(second, dead=True)
        ended = waiting.result()
    assert (ended.kind, ended.completed) == (GroupOutcomeKind.ENDED, False)
    assert ended == pickle.loads(pickle.dumps(ended))
    assert ended.info == queue.group(b"\xff")
    for wrong in (b"", "x" * 513):
        with pytest.raises(InvalidError):
            queue.group_outcome(wrong)
    with pytest.raises(InvalidError):
        queue.group_outcome("a", -1)


def test_an_item_keeps_its_place() -> None:
    group = Group("jobs", "g", "1aaaaa")
    item = Item("a", id="a", group=group, place=7)
    assert (item.group, item.place) == (group, 7)
    assert pickle.loads(pickle.dumps(item)) == item
    assert item != Item("a", id="a", group=group, place=8) != Item("a", id="a")
    assert repr(item) == f"Item(b'a', id='a', group={group!r}, place=7)"
    assert Item.json({"a": 1}, group=group, place=0).place == 0
    assert (Item("a").group, Item("a").place) == (None, None)


GROUP = Group("jobs", "g", "1aaaaa")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda queue: Item("a", group=GROUP), InvalidError, "a group without a place"),
        (lambda queue: Item("a", place=1), InvalidError, "a place without a group"),
        (lambda queue: Item("a", group=GROUP, place=-1), InvalidError, "-1 is not between 0 and"),
        (lambda queue: Item("a", group=GROUP, place=100_000), InvalidError, "0 and 99999"),
        (lambda queue: Item("a", group=GROUP, place=True), TypeError, "a whole number"),
        (lambda queue: Item("a", group="g", place=1), TypeError, "a Group, not str"),  # type: ignore[arg-type]
        (lambda queue: Item("a", group=Group("", "g", "1aaaaa"), place=1), InvalidError, "queue"),
        (lambda queue: Item("a", group=Group("jobs", "", "1aaaaa"), place=1), InvalidError, "id"),
        (
            lambda queue: Item("a", group=Group("jobs", "g", ""), place=1),
            InvalidError,
            "generation",
        ),
        (lambda queue: Item("a", group=Group("jobs", "g", 1), place=1), TypeError, "str, not int"),  # type: ignore[arg-type]
        (
            lambda queue: queue.add_item(Item("a", group=GROUP, place=0, replace=True)),
            InvalidError,
            "cannot replace",
        ),
        (lambda queue: queue.create_group(""), InvalidError, "id"),
        (lambda queue: queue.create_group("g", [FollowUp("never", "b")]), InvalidError, "never"),  # type: ignore[arg-type]
        (lambda queue: queue.create_group("g", "text"), TypeError, "follow-ups"),  # type: ignore[arg-type]
        (lambda queue: queue.create_group("g", [FollowUp("dead", "b")] * 17), InvalidError, "16"),
        (lambda queue: queue.seal_group(GROUP, 0), InvalidError, "0 is not between 1 and 100000"),
        (lambda queue: queue.seal_group(GROUP, 100_001), InvalidError, "between 1 and 100000"),
        (lambda queue: queue.seal_group("g", 1), TypeError, "a Group, not str"),  # type: ignore[arg-type]
        (
            lambda queue: queue.seal_group(Group("other", "g", "1aaaaa"), 1),
            InvalidError,
            "queue other",
        ),
        (
            lambda queue: queue.cancel_group(Group("other", "g", "1aaaaa")),
            InvalidError,
            "a group of queue other was given to queue",
        ),
        (
            lambda queue: queue.remove_group(Group("other", "g", "1aaaaa")),
            InvalidError,
            "queue other",
        ),
        (lambda queue: queue.group(""), InvalidError, "id"),
        (lambda queue: queue.group(7), TypeError, "int"),  # type: ignore[arg-type]
        (
            lambda queue: queue.group_places(Group("other", "g", "1aaaaa")),
            InvalidError,
            "queue other",
        ),
        (lambda queue: queue.group_places(GROUP, -1), InvalidError, "the first place -1"),
    ],
)
def test_mistakes(
    queue: Queue, call: Callable[[Queue], object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        call(queue)
    assert queue.queue_len() == 0
