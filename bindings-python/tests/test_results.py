"""Retained items and their results, unique keys and replacement, from Python and back."""

import asyncio
import pickle
from datetime import datetime, timedelta, timezone

import pytest

import leaseq
import leaseq.asyncio
from leaseq import Item, State


def results(queue, *ids):
    infos = [queue.get(id) for id in ids]
    return [info and (info.state.value, info.result) for info in infos]


def test_a_result_is_kept_with_the_item(queue):
    assert queue.add_item(Item("data", id="a", retain=timedelta(hours=1)))
    info = queue.get("a")
    assert (info.retain, info.result, info.ended_at, info.unique) == (3600.0, None, None, None)
    assert queue.complete(queue.lease(30), result="ä")
    info = queue.get("a")
    assert (info.state, info.result, info.data) == (State.COMPLETED, b"\xc3\xa4", b"data")
    assert info.at - info.ended_at == timedelta(hours=1)
    assert abs(datetime.now(timezone.utc) - info.ended_at) < timedelta(minutes=1)
    assert pickle.loads(pickle.dumps(info)) == info
    counts = queue.counts()
    assert (counts.completed, counts.cancelled, counts.totals.replaced) == (1, 0, 0)
    assert queue.list("completed").items == queue.list(State.COMPLETED).items == [info]
    assert queue.purge("completed") == 1
    assert queue.list(State.CANCELLED).items == []


@pytest.mark.parametrize(
    ("result", "stored"),
    [
        (b"", b""),
        ("", b""),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"abcd")[::2], b"ac"),
        (b"x" * (1 << 20), b"x" * (1 << 20)),
        (None, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_result_is(filled, run, url, result, stored):
    leases = filled.lease_many(4, 30)
    assert filled.complete(leases[0], result=result, retain=60)
    assert filled.complete_many([leases[1]], results=iter([result]), retain=60) == [True]
    how = {"results": (result,), "retain": timedelta(minutes=1)}
    assert filled.complete_and_lease([leases[2]], 1, 30, 0, **how) == ([True], [])

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("tests")
            assert await queue.release(leases[3]) is None
            assert await queue.complete(await queue.lease(30), result=result, retain=60)

    run(main())
    assert results(filled, "0", "1", "2", "3") == [("completed", stored)] * 4


def test_what_is_no_result_completes_nothing(filled, run, url):
    leases = filled.lease_many(2, 30)
    for wrong in (5, 1.5, ["x"], object()):
        with pytest.raises(TypeError, match="a result is bytes or str, not"):
            filled.complete(leases[0], result=wrong)
        with pytest.raises(TypeError, match="a result is bytes or str, not"):
            filled.complete_many(leases, results=["fine", wrong])
    for wrong in ("ab", b"ab"):
        with pytest.raises(TypeError, match="results is a list, not"):
            filled.complete_many(leases, results=wrong)
    with pytest.raises(leaseq.InvalidError, match="a result is no text"):
        filled.complete(leases[0], result="\ud800")
    for wrong in ([], ["1"], ["1", "2", "3"]):
        with pytest.raises(leaseq.InvalidError, match=f"{len(wrong)} results for 2 leases"):
            filled.complete_many(leases, results=wrong)
        with pytest.raises(leaseq.InvalidError, match=f"{len(wrong)} results for 2 leases"):
            filled.complete_and_lease(leases, 1, 30, 0, results=wrong)
    for wrong in (-1, float("nan"), 367 * 86_400):
        with pytest.raises(leaseq.InvalidError, match="a retention of"):
            filled.complete(leases[0], retain=wrong)
    with pytest.raises(TypeError, match="a retention is seconds"):
        filled.complete(leases[0], retain="1")
    assert filled.processing() == 2
    assert [lease.settled for lease in leases] == [False, False]


def test_calls_of_one_turn_have_each_their_own_options(url, run):
    """They share requests, as far as their options are the same."""

    async def main():
        async with await leaseq.asyncio.connect(url, max_data=2_000_000) as client:
            queue = client.queue("q")
            await queue.add_items([Item("x", id=str(n)) for n in range(12)])
            leases = await queue.lease_many(12, 30)
            large, too_large = b"l" * 1_500_000, b"t" * 2_000_001
            how = [
                {"result": "0", "retain": 60},
                {"result": "1", "retain": 60},
                {"retain": 60},
                {"result": too_large, "retain": 60},
                {"result": "4", "retain": timedelta(seconds=60)},
                {"result": "5"},
                {},
                {"result": "7", "retain": 0},
                {"result": "8", "retain": 60, "strict": True},
                {"result": large, "retain": 60},
                {"result": large, "retain": 60},
                {"result": "11", "retain": 400 * 86_400},
            ]
            calls = (
                queue.complete(lease, **options) for lease, options in zip(leases, how, strict=True)
            )
            answers = await asyncio.gather(*calls, return_exceptions=True)
            errors = {n: str(answer) for n, answer in enumerate(answers) if answer is not True}
            assert list(errors) == [3, 11]
            assert "a result of 2000001 bytes is over the limit of 2000000" in errors[3]
            assert "366 days" in errors[11]
            found = [await queue.get(str(n)) for n in range(12)]
            told = [info and (info.state.value, info.result) for info in found]
            kept = {0: b"0", 1: b"1", 2: None, 4: b"4", 8: b"8", 9: large, 10: large}
            for n, info in enumerate(told):
                expected = ("completed", kept[n]) if n in kept else None
                assert info == (("leased", None) if n in errors else expected), n

    run(main())


def test_unique_keys_and_replacement(queue):
    assert queue.add_item(Item("1", id="a", unique="key", unique_for=3600))
    assert not queue.add_item(Item("2", id="b", unique=b"key"))
    assert queue.add_items(
        [Item("3", id="c", unique="key", replace=True), Item("4", unique=b"\xff")]
    )
    info = queue.get("c")
    assert (info.data, info.unique, info.unique_bytes) == (b"3", "key", b"key")
    assert queue.get("a") is None
    other = queue.list("ready").items[1]
    assert (other.unique, other.unique_bytes) == ("\udcff", b"\xff")
    assert queue.counts().totals.replaced == 1
    assert queue.complete(queue.lease(30))
    assert not queue.add_item(Item("5", unique="key", replace=True))
    # A key comes back as it was given.
    assert not queue.add_item(Item("6", unique=other.unique))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"unique": ""}, leaseq.InvalidError, "between 1 and 512"),
        ({"unique": "x" * 513}, leaseq.InvalidError, "between 1 and 512"),
        ({"unique": "\ud800"}, leaseq.InvalidError, "a unique key is no text"),
        ({"unique": 5}, TypeError, "a unique key is str or bytes, not int"),
        ({"unique_for": 5}, leaseq.InvalidError, "unique_for without a unique key"),
        ({"unique": "k", "unique_for": -1}, leaseq.InvalidError, '"i".*unique_for'),
        ({"unique": "k", "unique_for": 367 * 86_400}, leaseq.InvalidError, "366 days"),
        ({"retain": -1}, leaseq.InvalidError, '"i".*a retention'),
        ({"retain": 367 * 86_400}, leaseq.InvalidError, "366 days"),
        ({"retain": "1"}, TypeError, "a retention is seconds"),
        ({"replace": 1}, TypeError, "replace"),
        ({"successor": True}, leaseq.InvalidError, "successor without replace"),
    ],
    ids=str,
)
def test_options_that_are_wrong(queue, options, error, text):
    with pytest.raises(error, match=text):
        queue.add_items(["fine", Item("x", id="i", **options)])
    assert queue.queue_len() == 0


def test_a_successor_waits_for_a_leased_item(queue):
    queue.add_item(Item("1", id="a"))
    lease = queue.lease(60)
    assert not queue.add_item(Item("2", id="a", replace=True))
    assert queue.add_item(Item("3", id="a", replace=True, successor=True))
    assert queue.get("a").data == b"1"
    assert queue.complete(lease)
    assert queue.get("a").data == b"3"


def test_an_item_has_its_options():
    options = {"retain": 1.5, "unique": "k", "unique_for": 2.5, "replace": True, "successor": True}
    item = Item(b"x", id="i", **options)
    assert repr(item) == (
        "Item(b'x', id='i', retain=1.5, unique='k', unique_for=2.5, replace=True, successor=True)"
    )
    assert {name: getattr(item, name) for name in options} == options
    assert item.unique_bytes == b"k"
    assert pickle.loads(pickle.dumps(item)) == item
    others = {"retain": timedelta(seconds=1.5), "unique": b"k"}
    assert item == Item("x", id="i", **{**options, **others})
    for name in options:
        others = {one: value for one, value in options.items() if one != name}
        assert Item(b"x", id="i", **others) != item
    plain = Item(b"x", id="i")
    assert (plain.retain, plain.unique, plain.unique_bytes) == (0.0, None, None)
    assert (plain.unique_for, plain.replace, plain.successor) == (0.0, False, False)
    assert Item.json([1], unique="k", retain=1).data == b"[1]"
    odd = Item(b"x", id="i", unique=b"\xff")
    assert (odd.unique, odd.unique_bytes) == ("\udcff", b"\xff")
    assert pickle.loads(pickle.dumps(odd)) == odd
