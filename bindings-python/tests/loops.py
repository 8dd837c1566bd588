"""The event loops that the asyncio interface is tested on, and what the tests wait for on them."""

import asyncio
import gc

import pytest
import uvloop

import leaseq

PATIENCE = 30.0
"""Seconds after which what should happen has not happened."""

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(params=LOOPS)
def run(request):
    """Runs a coroutine as `asyncio.run` does, on each kind of loop; warnings are errors."""

    def run(main):
        loop = LOOPS[request.param]()
        loop.set_debug(True)
        problems = []
        loop.set_exception_handler(lambda _, context: problems.append(context))
        try:
            result = loop.run_until_complete(main)
        finally:
            loop.run_until_complete(cancel_all())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            gc.collect()
        assert problems == []
        return result

    return run


async def cancel_all():
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def ready(url):
    """How many items are ready, and leased, seen by another client."""
    with leaseq.connect(url) as client:
        counts = client.queue("q").counts()
        return counts.ready, counts.leased


async def all_are_ready(queue, count):
    """Wait for it: what was leased for a cancelled call goes back in the background."""
    until = asyncio.get_running_loop().time() + PATIENCE
    while await queue.queue_len() < count:
        assert asyncio.get_running_loop().time() < until, await queue.counts()
        await asyncio.sleep(0.001)
    assert await queue.processing() == 0
