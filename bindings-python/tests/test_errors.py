"""Every kind of error, as a program meets it."""

import asyncio
import pickle

import pytest

import leaseq

BASES = {
    leaseq.InvalidError: ValueError,
    leaseq.LeaseLostError: Exception,
    leaseq.ItemCancelledError: Exception,
    leaseq.UnavailableError: ConnectionError,
    leaseq.IncompatibleError: Exception,
    leaseq.ClosedError: Exception,
    leaseq.InternalError: Exception,
}


def test_there_is_one_class_for_each_kind():
    assert set(leaseq.LeaseqError.__subclasses__()) == set(BASES)
    for kind, base in BASES.items():
        assert issubclass(kind, base)
        assert kind.__module__ == "leaseq.exceptions"
        assert kind.__doc__


def test_errors_can_be_pickled():
    for kind in BASES:
        again = pickle.loads(pickle.dumps(kind("text")))
        assert (type(again), str(again)) == (kind, "text")
    again = pickle.loads(pickle.dumps(leaseq.UnavailableError("text", outcome_unknown=True)))
    assert again.outcome_unknown is True


def both(url, provoke):
    """What `provoke(client, wait)` raises in each interface."""
    errors = []
    client = leaseq.connect(url)
    with pytest.raises(leaseq.LeaseqError) as caught:
        provoke(client, lambda answer: answer)
    errors.append(caught.value)

    async def main():
        client = await leaseq.asyncio.connect(url)
        return client, asyncio.get_running_loop()

    with asyncio.Runner() if hasattr(asyncio, "Runner") else runner() as loop:
        client, _ = loop.run(main())
        with pytest.raises(leaseq.LeaseqError) as caught:
            provoke(client, loop.run)
        errors.append(caught.value)
    return errors


class runner:  # noqa: N801 - stands in for asyncio.Runner, before 3.11
    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        return self

    def run(self, call):
        return self.loop.run_until_complete(call)

    def __exit__(self, *_):
        self.loop.close()


def test_invalid(url):
    for error in both(url, lambda client, wait: wait(client.queue("q").lease(0))):
        assert type(error) is leaseq.InvalidError
        assert "0 ms is not between 1 ms and 30 days" in str(error)


def test_lease_lost(url):
    def provoke(client, wait):
        queue = client.queue("q")
        wait(queue.add_item(leaseq.Item("x", id="1")))
        lease = wait(queue.lease(30))
        wait(queue.remove("1"))
        try:
            wait(queue.extend(lease, 30))
        finally:
            assert lease.lost

    for error in both(url, provoke):
        assert type(error) is leaseq.LeaseLostError
        assert str(error) == 'queue q, item "1": the lease is lost'


def test_closed(url):
    def provoke(client, wait):
        wait(client.close())
        client.queue("q")

    assert [type(error) for error in both(url, provoke)] == [leaseq.ClosedError] * 2


def test_unavailable(start_redis):
    for interface in ("blocking", "asyncio"):
        server = start_redis("--requirepass", "secret")
        url = f"redis://:secret@127.0.0.1:{server.port}/?timeout_ms=200"

        def provoke(client, wait, server=server):
            wait(client.queue("q").add_item("x"))
            server.stop()
            wait(client.queue("q").add_item("x"))

        with pytest.raises(leaseq.UnavailableError) as caught:
            if interface == "blocking":
                provoke(leaseq.connect(url), lambda answer: answer)
            else:
                asyncio.run(provoke_asyncio(url, server))
        error = caught.value
        assert isinstance(error, ConnectionError)
        assert error.outcome_unknown in (True, False)
        assert ("may have been executed" in str(error)) == error.outcome_unknown
        assert "secret" not in str(error)


async def provoke_asyncio(url, server):
    client = await leaseq.asyncio.connect(url)
    await client.queue("q").add_item("x")
    server.stop()
    await client.queue("q").add_item("x")


def test_unavailable_from_the_start():
    with pytest.raises(leaseq.UnavailableError) as caught:
        leaseq.connect("redis://user:secret@127.0.0.1:1/?timeout_ms=100")
    assert caught.value.outcome_unknown is False
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value)


def test_incompatible(start_redis):
    url = start_redis("--maxmemory-policy", "allkeys-lru").url
    with pytest.raises(leaseq.IncompatibleError, match="maxmemory-policy"):
        leaseq.connect(url)
    with pytest.raises(leaseq.IncompatibleError, match="maxmemory-policy"):
        asyncio.run(leaseq.asyncio.connect(url))


def test_internal(start_redis):
    server = start_redis()
    with leaseq.connect(server.url) as client:
        queue = client.queue("q")
        queue.add_item(leaseq.Item("x", id="1"))
        # Whatever is stored as a table of fields is spoilt.
        for key in server.command("KEYS", "*").split(b"\r\n")[2::2]:
            if server.command("TYPE", key).strip() == b"+hash":
                for field in server.command("HKEYS", key).split(b"\r\n")[2::2]:
                    if b"meta" not in key:
                        server.command("HSET", key, field, b"\xff")
        with pytest.raises(leaseq.InternalError):
            queue.get("1")
            queue.lease(30, 0)


def test_credentials_stay_out_of_messages(redis):
    for url in (
        f"redis://user:secret@127.0.0.1:{redis.port}/",
        f"redis://user:secret@127.0.0.1:{redis.port}/?colour=red",
        "nothing://user:secret@host/",
        "redis://user:secret@host:port/",
    ):
        with pytest.raises(leaseq.LeaseqError) as caught:
            leaseq.connect(url, timeout=0.1)
        assert "secret" not in str(caught.value)
