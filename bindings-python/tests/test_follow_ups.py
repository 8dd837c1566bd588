"""Follow-ups: how arguments are converted. What they mean is in the scenarios."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

import leaseq
from leaseq import FollowUp, InvalidError, Item, Queue, Trigger


@pytest.fixture
def queue() -> Queue:
    return leaseq.connect("memory:").queue("jobs")


def test_an_item_keeps_its_follow_ups() -> None:
    follow_up = FollowUp("dead", Item("b", id="b"), with_trigger=True)
    item = Item("a", id="a", follow_ups=(one for one in [follow_up]))
    assert item.follow_ups == (follow_up,)
    assert pickle.loads(pickle.dumps(item)) == item
    assert "follow_ups=(FollowUp(on='dead'" in repr(item)
    assert item != Item("a", id="a")
    assert Item.json({"a": 1}, follow_ups=[follow_up]).follow_ups == (follow_up,)
    assert Item("a").follow_ups == ()


def test_an_item_names_its_queue() -> None:
    client = leaseq.connect("memory:")
    queue, mail = client.queue("jobs"), client.queue("mail")
    sent = Item("b", id="b", queue="mail")
    assert sent.queue == "mail"
    assert Item("b").queue is None
    assert repr(sent) == "Item(b'b', id='b', queue='mail')"
    assert pickle.loads(pickle.dumps(sent)) == sent != Item("b", id="b")
    with pytest.raises(InvalidError, match="for queue mail"):
        queue.add_item(sent)
    queue.add_item(Item("a", follow_ups=[FollowUp("ended", sent)]))
    lease = queue.lease(60, wait=0)
    assert lease is not None
    assert queue.complete(lease, add=[Item("c", queue="mail")])
    assert {one.data for one in mail.lease_many(9, 60, wait=0)} == {b"b", b"c"}
    assert queue.drop_queue()
    assert mail.drop_queue(force=True)
    assert not mail.drop_queue(force=True)


def test_a_trigger_has_id_and_result(queue: Queue) -> None:
    item = Item("a", id=b"\xff", follow_ups=[FollowUp("completed", b"b", with_trigger=True)])
    assert queue.add_item(item)
    lease = queue.lease(60, wait=0)
    assert lease is not None
    assert lease.trigger is None
    assert queue.complete(lease, result="done")
    lease = queue.lease(60, wait=0)
    assert lease is not None
    assert lease.trigger == Trigger("\udcff", b"\xff", b"done")


def test_calls_add_items(queue: Queue) -> None:
    assert queue.add_items(["a", "b", "c"]) == [True] * 3
    one, two, three = queue.lease_many(3, 60, wait=0)
    assert queue.complete_many([one, two], adds=[["x"], ()]) == [True, True]
    assert queue.fail(three, "no", dead=True, add=[Item("y", id="y")]) == leaseq.State.DEAD
    lease, other = queue.lease_many(2, 60, wait=0)
    assert {lease.data, other.data} == {b"x", b"y"}
    assert queue.fail_many([other], "no", dead=True, adds=[["z"]]) == [leaseq.State.DEAD]
    completed, leases = queue.complete_and_lease([lease], 2, 60, wait=1, adds=[["w"]])
    assert completed == [True]
    assert leases


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: Item("a", follow_ups=[FollowUp("never", "b")]), InvalidError, "never"),  # type: ignore[arg-type]
        (lambda: Item("a", follow_ups="text"), TypeError, "follow-ups"),  # type: ignore[arg-type]
        (lambda: Item("a", follow_ups=[1]), AttributeError, "on"),  # type: ignore[list-item]
        (lambda: Item("a", follow_ups=[FollowUp("dead", 1)]), TypeError, "data"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong(wrong: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_too_many_are_invalid(queue: Queue) -> None:
    with pytest.raises(InvalidError, match="17 follow-ups"):
        queue.add_item(Item("a", follow_ups=[FollowUp("ended", "b")] * 17))
    queue.add_item("a")
    lease = queue.lease(60)
    assert lease is not None
    with pytest.raises(InvalidError, match="1000"):
        queue.complete(lease, add=["x"] * 1000)


def test_they_are_attached_to_items_that_are_there(queue: Queue) -> None:
    queue.add_item(Item("x", id="a"))
    seen = queue.get("a")
    following = FollowUp("completed", Item("y", id="next"), with_trigger=True)
    assert queue.attach("a", following, if_generation=seen.generation) is True
    pairs = [("a", FollowUp("dead", "z")), (b"none", following)]
    assert queue.attach_many(iter(pairs)) == [True, False]
    assert len(queue.get("a").follow_ups) == 2
    assert queue.complete(queue.lease(30)) is True
    lease = queue.lease(30)
    assert (lease.id, lease.trigger.id) == ("next", "a")
    for wrong in (
        FollowUp("never", "x"),  # type: ignore[arg-type]
        FollowUp("dead", "x" * 70_000),
    ):
        with pytest.raises(InvalidError):
            queue.attach("a", wrong)
    with pytest.raises(TypeError, match="tuple of id and FollowUp"):
        queue.attach_many([following])  # type: ignore[list-item]
