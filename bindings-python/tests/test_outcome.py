"""Waiting for the ends of items."""

import asyncio
import os
import signal
import threading
import time

import pytest

import leaseq
from leaseq import Item, Outcome, OutcomeKind

LATE = 30


@pytest.fixture
def queue():
    with leaseq.connect("memory:") as client:
        yield client.queue("jobs")


def test_every_outcome(queue):
    queue.add_items([Item("x", id=name, retain=60, max_attempts=1) for name in "abc"])
    assert queue.outcome("a", wait=0) is None
    assert queue.outcome_many(["a", b"b"], 0.01) == [None, None]
    a, b, c = queue.lease_many(3, 60)
    assert queue.complete(a, result=b"\x00\xff")
    queue.fail(b, "broken")
    queue.cancel("c")
    queue.release(c)
    outcomes = queue.outcome_many(["a", "b", "c", "none"])
    assert outcomes == [
        Outcome(OutcomeKind.COMPLETED, b"\x00\xff", None, True),
        Outcome(OutcomeKind.DEAD, None, "broken"),
        Outcome(OutcomeKind.CANCELLED),
        Outcome(OutcomeKind.GONE),
    ]
    assert [outcome.completed for outcome in outcomes] == [True, False, False, False]
    assert str(outcomes[1].kind) == "dead" == outcomes[1].kind
    assert queue.outcome("none", 0.01, expect=True) is None
    assert queue.outcome_many([]) == []


def test_an_error_is_of_its_item(redis, redis_url):
    namespace = redis_url.partition("=")[2]
    # The last id is asked about in a request of its own.
    ids = [str(n) for n in range(1000)] + ["unreadable"]
    with leaseq.connect(redis_url) as client:
        queue = client.queue("jobs")
        queue.add_item(Item("x", id="unreadable", retain=60))
        queue.complete(queue.lease(60), result="done")
        redis.command("SET", namespace + ":{jobs}:results", "no hash")
        for wait in [0, LATE]:
            *gone, failed = queue.outcome_many(ids, wait)
            assert gone == [Outcome(OutcomeKind.GONE)] * 1000
            assert isinstance(failed, leaseq.LeaseqError)
            assert "WRONGTYPE" in str(failed)
            with pytest.raises(type(failed)):
                queue.outcome_many(["unreadable"], wait)


def test_a_thread_waits(queue):
    found = []
    calls = [
        threading.Thread(target=lambda: found.append(queue.outcome("a", LATE, expect=True)))
        for _ in range(5)
    ]
    for call in calls:
        call.start()
    queue.add_item(Item("x", id="a", retain=60))
    queue.complete(queue.lease(60), result="done")
    for call in calls:
        call.join()
    assert found == [Outcome(OutcomeKind.COMPLETED, b"done", None, True)] * 5


def test_bad_arguments(queue):
    for bad in (-1, float("nan")):
        with pytest.raises(leaseq.InvalidError):
            queue.outcome("a", bad)
    with pytest.raises(leaseq.InvalidError):
        queue.outcome("")
    with pytest.raises(TypeError):
        queue.outcome("a", "soon")
    with pytest.raises(TypeError):
        queue.outcome_many("ab", 0)


def test_ctrl_c_ends_a_wait(queue):
    queue.add_item(Item("x", id="a"))
    begun = time.monotonic()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        queue.outcome("a")
    timer.join()
    assert time.monotonic() - begun < LATE
    assert queue.remove("a")


def test_closing_ends_a_wait():
    client = leaseq.connect("memory:")
    queue = client.queue("jobs")
    queue.add_item(Item("x", id="a"))
    failed = []

    def wait():
        try:
            queue.outcome("a")
        except leaseq.ClosedError as error:
            failed.append(error)

    call = threading.Thread(target=wait)
    call.start()
    time.sleep(0.05)
    client.close()
    call.join(LATE)
    assert len(failed) == 1


def test_tasks_wait_and_are_cancelled():
    async def main():
        async with await leaseq.asyncio.connect("memory:") as client:
            queue = client.queue("jobs")
            await queue.add_items([Item("x", id=str(i)) for i in range(100)])
            tasks = [asyncio.create_task(queue.outcome(str(i))) for i in range(100)]
            given_up = asyncio.create_task(queue.outcome_many(["0", "1"]))
            # They are registered when a later call is answered.
            assert (await queue.outcome("none")).kind is OutcomeKind.GONE
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            await queue.complete_many(await queue.lease_many(100, 60))
            outcomes = await asyncio.wait_for(asyncio.gather(*tasks), LATE)
            assert all(outcome.completed for outcome in outcomes)
            assert await queue.outcome("x", 0.01, expect=True) is None

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
def test_a_child_has_waits_of_its_own(tmp_path):
    with leaseq.connect(f"sqlite:{tmp_path}/jobs.db") as client:
        queue = client.queue("jobs")
        queue.add_item(Item("x", id="a", retain=60))
        assert queue.outcome("a", 0.01) is None
        child = os.fork()
        if child == 0:
            outcome = queue.outcome("a", LATE)
            os._exit(0 if outcome and outcome.result == b"done" else 1)
        queue.complete(queue.lease(60), result="done")
        assert queue.outcome("a").result == b"done"
        assert os.waitpid(child, 0)[1] == 0
