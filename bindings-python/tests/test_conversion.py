"""What Python programs may give, and what they get."""

import array
import copy
import pickle
from datetime import datetime, timedelta

import pytest

import leaseq
from leaseq import Item, State

HOSTILE = [
    "plain",
    "ä€🦀",
    "'; DROP TABLE item; --",
    "{a}:b *?[x]",
    "line\nbreak\0null",
    "../../etc/passwd",
    " ",
    "\udcff\udc80",
    "x" * 512,
]
HOSTILE_BYTES = [b"\x00", b"\xff\xfe", bytes(range(256)), b"\xed\xb3\xbf", b"\xf0\x28\x8c\x28"]


@pytest.mark.parametrize("id", [*HOSTILE, *HOSTILE_BYTES], ids=repr)
def test_ids_come_back_as_they_were(queue, id):
    as_bytes = id if isinstance(id, bytes) else id.encode("utf-8", "surrogateescape")
    item = Item("data", id=id)
    assert item.id_bytes == as_bytes
    assert queue.add_item(item)
    lease = queue.lease(30)
    assert lease.id == item.id == as_bytes.decode("utf-8", "surrogateescape")
    assert lease.id_bytes == as_bytes
    assert queue.get(lease.id) == queue.get(as_bytes) == queue.get(bytearray(as_bytes))
    assert queue.get(memoryview(as_bytes)).id_bytes == as_bytes
    assert repr(lease).isprintable()
    assert queue.remove(id)


@pytest.mark.parametrize("id", ["", b"", "x" * 513, "ä" * 257, "\ud800", "a\udfffb"], ids=repr)
def test_ids_that_are_none(queue, id):
    calls = (
        lambda: queue.add_item(Item("x", id=id)),
        lambda: queue.get(id),
        lambda: queue.remove(id),
        lambda: queue.requeue(id),
        lambda: queue.bury(id),
        lambda: queue.revise(id, "x"),
        lambda: queue.remove_many(["fine", id]),
    )
    for call in calls:
        with pytest.raises(leaseq.InvalidError):
            call()


@pytest.mark.parametrize("id", [5, 1.5, ["a"], object()])
def test_ids_of_another_type(queue, id):
    for call in (queue.get, queue.remove, queue.requeue, queue.bury, lambda id: Item("x", id=id)):
        with pytest.raises(TypeError, match="an id is str or bytes, not"):
            call(id)


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        (b"", b""),
        ("", b""),
        ("ä\0", b"\xc3\xa4\0"),
        (bytes(range(256)), bytes(range(256))),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"abcd")[1:3], b"bc"),
        (memoryview(b"abcdef")[::2], b"ace"),
        (array.array("B", [1, 2]), b"\1\2"),
        (b"x" * (8 << 20), b"x" * (8 << 20)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_data(queue, data, stored):
    assert queue.add_item(data)
    assert queue.add_item(Item(data))
    leases = [queue.lease(30), queue.lease(30)]
    assert [lease.data for lease in leases] == [stored, stored]
    assert type(leases[0].data) is bytes
    assert leases[0].data is leases[0].data, "copied once"


def test_data_that_is_none(queue):
    for data in (5, None, 1.5, ["x"], object()):
        with pytest.raises(TypeError, match="data is bytes or str, not"):
            queue.add_item(data)
    with pytest.raises(leaseq.InvalidError, match="data is no text"):
        queue.add_item("\ud800")
    with pytest.raises(leaseq.InvalidError, match="over the limit of 8388608"):
        queue.add_items(["fine", b"x" * (8 << 20) + b"x"])
    assert queue.queue_len() == 0


def test_a_text_is_no_list(queue):
    for call in (queue.add_items, queue.remove_many, queue.complete_many):
        for one in ("abc", b"abc"):
            with pytest.raises(TypeError, match="a list, not"):
                call(one)


def test_an_iterable_that_raises_adds_nothing(queue):
    def items():
        yield "a"
        raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        queue.add_items(items())
    assert queue.queue_len() == 0


@pytest.mark.parametrize(
    "value", [-1, -0.001, float("nan"), float("inf"), 10**400, timedelta(seconds=-1)], ids=repr
)
def test_times_that_are_none(queue, value):
    queue.add_item("x")
    lease = queue.lease(30)
    calls = (
        lambda: queue.lease(value, 0),
        lambda: queue.lease(30, value),
        lambda: queue.lease_many(1, value, 0),
        lambda: queue.extend(lease, value),
        lambda: queue.release(lease, delay=value),
        lambda: queue.fail(lease, delay=value),
        lambda: Item("x", delay=value),
        lambda: queue.lease(1, 0, keep_alive=True, keep_alive_limit=value),
        lambda: leaseq.connect("memory:", timeout=value),
    )
    for call in calls:
        with pytest.raises(leaseq.InvalidError):
            call()
    assert queue.complete(lease, strict=True)


def test_times_out_of_range(queue):
    queue.add_item("x")
    for duration in (0, 0.0009, 30 * 86_400 + 1, timedelta(days=31), 1e300):
        with pytest.raises(leaseq.InvalidError, match="lease"):
            queue.lease(duration, 0)
    with pytest.raises(leaseq.InvalidError, match="366 days"):
        queue.add_item(Item("x", delay=timedelta(days=367)))
    with pytest.raises(leaseq.InvalidError, match="shorter than the lease"):
        queue.lease(30, 0, keep_alive=True, keep_alive_limit=1)
    with pytest.raises(leaseq.InvalidError, match="without keep_alive"):
        queue.lease(30, 0, keep_alive_limit=60)
    assert queue.queue_len() == 1


@pytest.mark.parametrize("value", ["30", None, True, object(), 1j])
def test_times_of_another_type(queue, value):
    with pytest.raises(TypeError, match="seconds as a number, or a timedelta"):
        queue.lease(value, 0)


def test_numbers_out_of_range(queue):
    for priority in (-1, 10, 256, 2**40, -(2**70)):
        with pytest.raises(
            leaseq.InvalidError, match=f'^item "b": priority {priority} is not between 0 and 9'
        ):
            Item("x", id="b", priority=priority)
    for attempts in (0, -1, 65_536, 2**32, 2**64):
        with pytest.raises(leaseq.InvalidError, match=r'^item "b": .* not between 1 and 65535'):
            Item("x", id="b", max_attempts=attempts)
    for count in (0, -1):
        with pytest.raises(leaseq.InvalidError, match="a count"):
            queue.lease_many(count, 30)
    for limit in (0, 1_001, -5):
        with pytest.raises(leaseq.InvalidError, match="a limit"):
            queue.list("ready", limit=limit)
    with pytest.raises(leaseq.InvalidError, match="id_prefix of 513 bytes"):
        queue.list("ready", id_prefix="x" * 513)
    with pytest.raises(leaseq.InvalidError, match=r"since .* has no time zone"):
        queue.list("ready", since=datetime(2026, 1, 1))
    with pytest.raises(TypeError, match="until is a datetime"):
        queue.list("ready", until=1.5)
    with pytest.raises(TypeError, match="ids"):
        queue.get_many("abc")
    with pytest.raises(TypeError):
        Item("x", priority=1.5)
    with pytest.raises(TypeError):
        Item("x", priority=True)


def test_states_and_cursors(queue):
    for state in ("gone", "READY", ""):
        with pytest.raises(leaseq.InvalidError, match="is not a state"):
            queue.list(state)
    with pytest.raises(TypeError):
        queue.purge(1)
    for cursor in ("", "x", "1:2:3", "'; DROP"):
        with pytest.raises(leaseq.InvalidError, match="not a cursor"):
            queue.list("ready", cursor)
    assert str(State.READY) == "ready"
    assert State("dead") is State.DEAD


def test_names_of_queues(client):
    for name in ("", "a b", "ä", "x" * 129, "a/b", "a\0"):
        with pytest.raises(leaseq.InvalidError):
            client.queue(name)
    with pytest.raises(TypeError):
        client.queue(b"bytes")


def test_options_that_do_not_exist(queue):
    with pytest.raises(TypeError):
        Item("x", prio=5)
    with pytest.raises(TypeError):
        queue.lease(30, timeout=5)
    with pytest.raises(leaseq.InvalidError):
        leaseq.connect("memory:?colour=red")


def test_an_item_is_a_value():
    item = Item(b"data", id="order-17", priority=5, delay=1.5, max_attempts=3)
    assert repr(item) == ("Item(b'data', id='order-17', priority=5, delay=1.5, max_attempts=3)")
    assert eval(repr(item)) == item
    assert (item.data, item.id, item.priority, item.delay) == (b"data", "order-17", 5, 1.5)
    assert item.max_attempts == 3
    assert item == Item(
        "data", id=b"order-17", priority=5, delay=timedelta(seconds=1.5), max_attempts=3
    )
    assert hash(item) == hash(copy.copy(item))
    others = [
        Item(b"x", id="order-17", priority=5, delay=1.5, max_attempts=3),
        Item(b"data", id="x", priority=5, delay=1.5, max_attempts=3),
        Item(b"data", id="order-17", delay=1.5, max_attempts=3),
        Item(b"data", id="order-17", priority=5, max_attempts=3),
        Item(b"data", id="order-17", priority=5, delay=1.5),
    ]
    assert all(item != other for other in others)
    assert item != "order-17"
    with pytest.raises(AttributeError):
        item.priority = 1


def test_an_item_has_a_random_id():
    first, second = Item("x"), Item("x")
    assert first.id != second.id
    assert len(first.id) == 36
    assert first != second


def test_a_long_item_is_shown_shortly():
    assert len(repr(Item(b"x" * 1_000_000, id="a"))) < 150
    assert "1000000 bytes" in repr(Item(b"x" * 1_000_000, id="a"))


def test_json():
    assert Item.json({"a": [1, "ä"]}, id="1", priority=2) == Item(
        '{"a":[1,"ä"]}', id="1", priority=2
    )
    for value in ({1, 2}, object(), float("nan")):
        with pytest.raises(leaseq.InvalidError, match="cannot be written as json"):
            Item.json(value)
    with pytest.raises(TypeError):
        Item.json({}, colour="red")


def test_data_that_is_no_json(queue):
    queue.add_items([Item(b"\xff{", id="a"), Item("[" * 100_000, id="b"), Item.json([1])])
    leases = queue.lease_many(3, 30)
    for lease in leases[:2]:
        with pytest.raises(leaseq.InvalidError, match="cannot be read as json"):
            lease.json()
    assert leases[2].json() == [1]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_values_can_be_pickled(queue, protocol):
    items = [
        Item(b"\xff", id=b"\xff", priority=5, delay=0.25, max_attempts=9),
        Item(b"x" * 100_000),
    ]
    queue.add_items(items)
    values = [
        *items,
        queue.counts(),
        queue.get(items[0].id),
        queue.list("ready"),
        queue.light_clean(),
        queue.check(),
        State.READY,
    ]
    for value in values:
        again = pickle.loads(pickle.dumps(value, protocol))
        assert again == value
        assert type(again) is type(value)


def test_handles_cannot_be_pickled(client, queue):
    queue.add_item("x")
    for handle in (client, queue, queue.lease(30)):
        with pytest.raises(TypeError):
            pickle.dumps(handle)


def test_a_lease_cannot_be_made_by_hand():
    with pytest.raises(TypeError):
        leaseq.Lease()
    with pytest.raises(TypeError):
        leaseq.Lease("given")


def test_a_lease_of_another_queue_is_refused(client, queue):
    queue.add_item("x")
    lease = queue.lease(30)
    other = client.queue("other")
    for call in (
        other.complete,
        other.release,
        other.fail,
        lambda lease: other.extend(lease, 30),
        lambda lease: other.set_progress(lease, "x"),
    ):
        with pytest.raises(leaseq.InvalidError, match="a lease of queue tests"):
            call(lease)
    with pytest.raises(TypeError):
        queue.complete("lease")
    with pytest.raises(TypeError):
        queue.complete_many([lease, None])
    assert queue.complete(lease, strict=True)
