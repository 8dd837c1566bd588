"""The registry of workers."""

import asyncio

import pytest

import leaseq
import leaseq.asyncio

ME = {"name": "w", "instance": "1"}


def test_what_a_worker_says_is_listed(client):
    running = [
        {
            "queue": "q",
            "item_id": "ß",
            "elapsed_ms": 5,
            "deadline": "2027-01-15T08:00:00Z",
        }
    ]
    said = {**ME, "queues": ["q"], "slots": 2, "running": running, "waiting_us": [(3, 2)]}
    assert client.beat(said) == {"quiet": False, "commands": []}
    page = client.workers(queue="q", limit=1)
    [worker] = page["workers"]
    assert (worker["language"], worker["version"]) == ("python", leaseq.__version__)
    assert (worker["running"], worker["waiting_us"]) == (running, [[3, 2]])
    assert (page["next"], page["skipped"]) == (ME, 0)
    assert client.workers(after=page["next"])["workers"] == []
    client.leave(ME)
    assert client.workers(name="w")["workers"] == []


def test_a_worker_is_commanded(client):
    assert client.command_worker(ME, {"action": "stop"}) is False
    client.beat(ME)
    cancel = {"action": "cancel", "queue": "q", "item_id_hex": "00ff"}
    assert client.command_worker(ME, cancel) is True
    client.quiet_worker("w")
    reply = client.beat(ME)
    [command] = reply["commands"]
    assert reply["quiet"] is True
    assert {**command, "number": 0} == {**cancel, "number": 0}
    client.resume_worker("w")
    beat = {**ME, "acknowledged": [command["number"]]}
    assert client.beat(beat) == {"quiet": False, "commands": []}


def test_what_is_wrong_is_invalid(client):
    surrogate = b"\xff".decode("utf-8", "surrogateescape")
    for beat in ({}, {"name": "w"}, {**ME, "colour": 1}, {**ME, "host": surrogate}, [], None, 5):
        with pytest.raises((leaseq.InvalidError, TypeError)):
            client.beat(beat)
    with pytest.raises(leaseq.InvalidError, match="1 and 200"):
        client.workers(limit=0)
    with pytest.raises(TypeError):
        client.beat({**ME, "host": object()})


def test_the_same_with_asyncio(url):
    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            await client.beat(ME)
            assert await client.command_worker(ME, {"action": "stop"})
            assert len((await client.beat(ME))["commands"]) == 1
            await client.quiet_worker("w")
            assert (await client.workers())["workers"][0]["quiet"]
            await client.resume_worker("w")
            await client.leave(ME)
            assert (await client.workers())["workers"] == []

    asyncio.run(main())
