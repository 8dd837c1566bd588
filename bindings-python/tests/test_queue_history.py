"""The history of a queue."""

import asyncio

import pytest

import leaseq
import leaseq.asyncio


def test_what_is_measured_is_counted_in_the_row_of_its_minute(queue):
    assert queue.record_history() is False
    queue.add_item("x")
    assert queue.record_history(run_us=[(15, 2)]) is True
    assert queue.record_history(run_us=iter([(15, 1)]), lease_use=[(3, 1)]) is True
    [row] = queue.history("hours")
    assert (row["ready"], row["totals"]["added"], row["totals"]["died"]) == (1, 1, 0)
    expected = {"count": 3, "p50": 15, "p90": 15, "p99": 15, "values": [[15, 3]]}
    assert row["run_us"] == expected
    assert (row["waiting_us"]["p50"], row["lease_use"]["count"]) == (None, 1)


def test_what_is_wrong_is_invalid(queue):
    with pytest.raises(leaseq.InvalidError, match="seconds"):
        queue.history("seconds")
    for wrong in ([(-1, 1)], [(1.5, 1)], [1], ["x"]):
        with pytest.raises(leaseq.InvalidError):
            queue.record_history(run_us=wrong)
    with pytest.raises(TypeError):
        queue.history(5)


def test_the_same_with_asyncio(url):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("history")
            await queue.add_item("x")
            assert await queue.record_history(run_us=[(15, 2)])
            assert (await queue.history())[-1]["run_us"]["count"] == 2

    asyncio.run(main())
