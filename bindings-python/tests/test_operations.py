"""Every operation, once, on both engines; what they mean is tested in the core."""

import contextlib
import gc
import sqlite3
import threading
from datetime import datetime, timedelta, timezone

import pytest
from conftest import eventually

import leaseq
from leaseq import Item, Revision, State


def counted(queue):
    counts = queue.counts()
    return counts.ready, counts.delayed, counts.leased, counts.dead


def test_an_item_is_added_leased_and_completed_once(queue):
    assert queue.add_item(Item(b"data", id="a")) is True
    assert queue.add_item(Item(b"other", id="a")) is False
    assert (queue.queue_len(), queue.processing()) == (1, 0)
    lease = queue.lease(30)
    assert (lease.id, lease.id_bytes, lease.data, lease.queue) == ("a", b"a", b"data", "tests")
    assert (lease.attempt, lease.failures, lease.expiries, lease.priority) == (1, 0, 0, 0)
    assert (lease.max_attempts, lease.last_error, lease.lost) == (None, "", False)
    assert lease.generation >= 1
    assert 0 < lease.remaining <= 30
    left = lease.deadline - datetime.now(timezone.utc)
    assert timedelta(0) < left <= timedelta(seconds=31)
    assert (queue.queue_len(), queue.processing()) == (0, 1)
    assert queue.complete(lease) is True
    assert queue.complete(lease) is False
    assert queue.complete(lease, strict=True) is False
    assert counted(queue) == (0, 0, 0, 0)


def test_leasing_from_an_empty_queue_returns_nothing(queue):
    assert queue.lease(30, 0) is None
    assert queue.lease(30, wait=0.01) is None
    assert queue.lease_many(5, 30, wait=timedelta(milliseconds=5)) == []
    assert list(queue.leases(30, wait=0)) == []
    assert queue.get("nobody") is None
    assert queue.remove("nobody") is False
    assert queue.requeue("nobody") == [False]


def test_batches(queue):
    items = ["text", b"bytes", Item("item", id="x"), Item("again", id="x")]
    assert queue.add_items(items) == [True, True, True, False]
    leases = queue.lease_many(10, 30)
    assert [lease.data for lease in leases] == [b"text", b"bytes", b"item"]
    deadlines = queue.extend_many(leases, 60)
    assert deadlines == [lease.deadline for lease in leases]
    assert queue.release_many(leases[:1]) == [True]
    assert queue.release_many(iter(leases[:2]), delay=3600) == [False, True]
    assert queue.fail_many(leases, "no", delay=timedelta(hours=1)) == [None, None, State.DELAYED]
    assert queue.extend_many(leases, 60) == [None, None, None]
    assert queue.get("x").last_error == "no"
    assert counted(queue) == (1, 2, 0, 0)
    again = queue.lease_many(2, 30)
    assert queue.complete_many(again, strict=True) == [True]
    assert queue.remove_many(["x", b"y"]) == [True, False]
    assert queue.add_items([]) == queue.complete_many([]) == queue.remove_many([]) == []


def test_a_batch_beyond_the_limit_of_a_step_is_split(queue):
    assert queue.add_items(str(n) for n in range(2_500)) == [True] * 2_500
    leases = []
    while some := queue.lease_many(5_000, 30, wait=0):
        leases += some
    assert [lease.data for lease in leases] == [str(n).encode() for n in range(2_500)]
    assert queue.complete_many(leases) == [True] * 2_500


@pytest.mark.parametrize("progress", ["3 of 10 é", b"\0\xff", bytearray(b"ab"), memoryview(b"")])
def test_progress_is_text_or_bytes(queue, progress):
    queue.add_item(Item("data", id="a"))
    lease = queue.lease(30)
    assert queue.get("a").progress is None
    assert queue.set_progress(lease, progress) is None
    stored = progress.encode() if isinstance(progress, str) else bytes(progress)
    assert queue.get("a").progress == queue.list("leased").items[0].progress == stored
    for wrong in (5, None, "\ud800", "x" * 1_025):
        with pytest.raises((TypeError, leaseq.InvalidError), match="progress"):
            queue.set_progress(lease, wrong)
    assert queue.get("a").progress == stored
    assert queue.complete(lease)
    with pytest.raises(leaseq.LeaseLostError, match='"a"'):
        queue.set_progress(lease, progress)


def test_extend_release_and_fail(queue):
    queue.add_item(Item("data", id="a", max_attempts=2))
    lease = queue.lease(30)
    before = lease.deadline
    assert queue.extend(lease, timedelta(minutes=2)) == lease.deadline > before
    assert queue.extend(lease, 1) == lease.deadline, "never shorter"
    assert queue.release(lease) is None
    with pytest.raises(leaseq.LeaseLostError, match='queue tests, item "a"'):
        queue.release(lease)
    lease = queue.lease(30)
    assert lease.attempt == 1
    assert queue.fail(lease, ValueError("bad")) is State.READY
    with pytest.raises(leaseq.LeaseLostError):
        queue.extend(lease, 30)
    lease = queue.lease(30)
    assert (lease.attempt, lease.failures, lease.last_error) == (2, 1, "ValueError: bad")
    assert queue.fail(lease) is State.DEAD
    assert queue.requeue("a", "b") == [True, False]
    lease = queue.lease(30)
    assert (lease.attempt, lease.max_attempts) == (1, 2)
    assert queue.fail_many([lease], [KeyError("k")]) == [State.READY]
    assert queue.get("a").last_error == "KeyError: 'k'"
    with pytest.raises(leaseq.InvalidError, match="2 errors for 1 leases"):
        queue.fail_many([lease], ["a", "b"])


def test_items_that_are_not_leased_are_buried_and_revised(queue):
    queue.add_items(Item(f"data {n}", id=n, max_attempts=2) for n in "abc")
    assert queue.bury("a", b"b", "x", error=KeyError("k")) == [True, True, False]
    assert queue.get("a").last_error == "KeyError: 'k'"
    assert queue.bury("a") == [False]
    assert queue.bury() == queue.revise_many([]) == []
    seen = queue.get("c")
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    assert queue.revise("c", b"new", priority=3, due_at=later, max_attempts=9) is True
    info = queue.get("c")
    assert (info.data, info.priority, info.max_attempts) == (b"new", 3, 9)
    assert abs(info.at - later) < timedelta(seconds=1)
    assert info.added_at == seen.added_at
    assert info.generation != seen.generation
    revisions = [
        Revision("c", "newer", if_generation=seen.generation),
        Revision("c", delay=timedelta(), if_generation=info.generation),
        Revision("b", delay=0),
    ]
    assert queue.revise_many(revisions) == [False, True, False]
    assert queue.lease(30, 0).data == b"new"


def test_a_generation_that_was_not_seen_is_not_changed(queue):
    queue.add_items(Item("data", id=n) for n in "abc")
    seen = [info.generation for info in queue.list("ready").items]
    assert queue.revise("a", "new", if_generation=seen[0]) is True
    assert queue.revise("a", "new", if_generation=seen[0]) is False
    assert queue.remove("a", if_generation=seen[0]) is False
    assert queue.bury("a", "b", if_generation=seen[:2]) == [False, True]
    assert queue.requeue("b", if_generation=seen[1]) == [False]
    assert queue.requeue("b", if_generation=[None]) == [True]
    assert queue.remove_many(["a", "b", "c"]) == [True, True, True]
    with pytest.raises(leaseq.InvalidError, match="1 generations for 2 ids"):
        queue.remove_many(["a", "b"], if_generation=seen[0])
    with pytest.raises(leaseq.InvalidError, match="is not a generation"):
        queue.bury("a", if_generation="?")
    with pytest.raises(TypeError, match="if_generation is str, not int"):
        queue.remove("a", if_generation=7)
    with pytest.raises(leaseq.InvalidError, match="changes nothing"):
        queue.revise("a")
    with pytest.raises(leaseq.InvalidError, match='item "a": priority 10'):
        queue.revise("a", priority=10)


def test_times_that_datetime_cannot_express(tmp_path):
    path = tmp_path / "queue.db"
    with leaseq.connect(f"sqlite:{path}") as client:
        client.queue("q").add_items([Item("x", id="bad", delay=60), Item("y", id="good", delay=60)])
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE item SET added_at = ?, sort_key = ? WHERE id = ?",
            (2**63 - 1, 2**63 - 1, b"bad"),
        )
    with leaseq.connect(f"sqlite:{path}") as client:
        queue = client.queue("q")
        last = datetime(9999, 12, 31, tzinfo=timezone.utc)
        info = queue.get("bad")
        assert (info.added_at, info.at) == (last, last)
        assert [item.id for item in queue.list("delayed").items] == ["good", "bad"]


def test_looking(queue):
    queue.add_items([Item({1: "x", 2: "y"}[n], id=f"i{n}", priority=n) for n in (1, 2)])
    queue.add_item(Item.json({"to": "ä"}, id="later", delay=3600, max_attempts=7))
    info = queue.get(b"later")
    assert (info.id, info.id_bytes, info.state, info.priority) == ("later", b"later", "delayed", 0)
    assert info.json() == {"to": "ä"}
    assert info.data == '{"to":"ä"}'.encode()
    assert (info.failures, info.expiries, info.last_error, info.max_attempts) == (0, 0, "", 7)
    assert info.added_at.tzinfo is timezone.utc
    assert timedelta(minutes=59) < info.at - info.added_at < timedelta(minutes=61)
    page = queue.list(State.READY, limit=1)
    assert [item.id for item in page.items] == ["i2"]
    rest = []
    while page.cursor is not None:
        page = queue.list("ready", page.cursor, 5)
        rest += [item.id for item in page.items]
    assert rest == ["i1"]
    found = queue.get_many(["i1", b"none", "later"], data=False)
    assert [item and (item.id, item.data) for item in found] == [("i1", b""), None, ("later", b"")]
    begun = queue.get("i1").added_at
    page = queue.list("ready", reverse=True, since=begun, until=info.at, data_contains="x")
    assert [(item.id, item.data) for item in page.items] == [("i1", b"x")]
    assert (page.cursor, page.examined) == (None, 2)
    page = queue.list("delayed", data=False, id_prefix=b"la", since=info.at)
    assert [(item.id, item.data) for item in page.items] == [("later", b"")]
    assert queue.list("delayed", error_contains="no").items == []
    counts = queue.counts()
    assert counts.ready_by_priority == (0, 1, 1, 0, 0, 0, 0, 0, 0, 0)
    assert counts.oldest_ready >= 0
    assert counts.totals.added == 3
    assert not counts.paused


def test_operating(client, queue):
    queue.add_items(["a", "b"])
    assert client.queues() == ["tests"]
    queue.pause()
    assert queue.counts().paused
    assert queue.lease(30, 0) is None
    queue.resume()
    lease = queue.lease(30, 0)
    assert lease.attempt == 1
    assert queue.purge("ready") == 1
    assert queue.purge(State.LEASED) == 1
    assert counted(queue) == (0, 0, 0, 0)


def test_cleaning(queue):
    queue.add_item("a")
    lease = queue.lease(0.001)
    eventually(lambda: lease.lost, "the lease runs out")
    eventually(lambda: queue.light_clean().expired == 1 or queue.queue_len() == 1)
    report = queue.light_clean()
    assert (report.promoted, report.expired, report.died, report.next_in) == (0, 0, 0, None)
    for report in (queue.check(), queue.deep_clean()):
        assert report.is_sound
        assert (report.items, report.found, report.mended, report.details) == (1, {}, {}, [])


def test_a_kept_alive_lease_lives_and_says_when_it_is_lost(queue):
    queue.add_item(Item("x", id="1"))
    lease = queue.lease(3, keep_alive=True)
    before = lease.deadline
    eventually(lambda: lease.deadline > before, "it is extended")
    assert not lease.lost
    queue.remove("1")
    eventually(lambda: lease.lost, "it is seen to be lost")
    queue.add_item(Item("x", id="2"))
    lease = queue.lease(0.1, keep_alive=True, keep_alive_limit=timedelta(seconds=0.3))
    eventually(lambda: lease.lost, "the limit is reached")
    again = queue.lease(30)
    assert (again.id, again.attempt) == ("2", 2)


def test_a_queue_keeps_its_client(url):
    queue = leaseq.connect(url).queue("q")
    gc.collect()
    assert queue.add_item("x")
    lease = queue.lease(30)
    del queue
    gc.collect()
    with lease:
        pass


def test_32_threads_on_one_client(queue):
    ids, lock = [], threading.Lock()

    def work():
        for _ in range(30):
            assert queue.add_item("x")
            lease = queue.lease(30)
            assert queue.complete(lease)
            with lock:
                ids.append(lease.id)

    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == len(set(ids)) == 32 * 30
    assert counted(queue) == (0, 0, 0, 0)


def test_a_wait_lets_other_threads_run_and_is_woken(queue):
    got = []
    thread = threading.Thread(target=lambda: got.append(queue.lease(30)))
    thread.start()
    queue.add_item("x")
    thread.join(30)
    assert [lease.data for lease in got] == [b"x"]


def test_closing_ends_waits(url):
    client = leaseq.connect(url)
    errors = []

    def wait():
        try:
            client.queue("q").lease(30)
        except leaseq.ClosedError as error:
            errors.append(error)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    client.close()
    for thread in threads:
        thread.join(30)
    assert len(errors) == 4


def test_a_closed_client_drops_no_queue(url, run):
    client = leaseq.connect(url)
    queue = client.queue("q")
    client.close()
    with pytest.raises(leaseq.ClosedError):
        queue.drop_queue()

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
        with pytest.raises(leaseq.ClosedError):
            await queue.drop_queue()

    run(main())


def test_the_url_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("LEASEQ_URL", "memory:")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/")
    leaseq.connect().close()
    monkeypatch.delenv("LEASEQ_URL")
    monkeypatch.delenv("REDIS_URL")
    with pytest.raises(leaseq.InvalidError, match="LEASEQ_URL or REDIS_URL"):
        leaseq.connect()


def test_options_of_connecting(redis, tmp_path):
    options = {"timeout": 5, "connect_timeout": timedelta(seconds=1), "max_data": 10}
    missing = tmp_path / "missing.pem"
    with pytest.raises(leaseq.InvalidError, match="cannot be read"):
        leaseq.connect(redis.url.replace("redis:", "rediss:"), ca_file=missing)
    with pytest.raises(leaseq.InvalidError, match="ca_file is for TLS"):
        leaseq.connect(redis.url, ca_file=missing)
    with leaseq.connect(redis.url, namespace="mine", **options) as client:
        queue = client.queue("q")
        with pytest.raises(leaseq.InvalidError, match="over the limit of 10"):
            queue.add_item("x" * 11)
        queue.add_item("x")
    assert b"mine" in redis.command("KEYS", "*")


def test_waiting_for_replicas(redis):
    for options, text in [
        ({"replicas": 11}, "replicas 11 is not between 0 and 10"),
        ({"fsync": 0}, "fsync 0 is not between 1 and 10"),
        ({"fsync": "all"}, "fsync is neither local nor a whole number from 1 to 10"),
    ]:
        with pytest.raises(leaseq.InvalidError, match=text):
            leaseq.connect(redis.url, **options)
    with pytest.raises(TypeError, match="replicas is a whole number, not str"):
        leaseq.connect(redis.url, replicas="1")
    with pytest.raises(leaseq.InvalidError, match="replicas is for servers"):
        leaseq.connect("memory:", replicas=1)
    with leaseq.connect(redis.url, replicas=1, timeout=3) as client:
        # The server has no replica.
        with pytest.raises(leaseq.UnavailableError, match="0 of 1 replicas") as raised:
            client.queue("q").add_item("x")
        assert raised.value.outcome_unknown
