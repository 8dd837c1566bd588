"""The event loops that the asyncio face is tested on."""

import asyncio
import gc

import pytest
import uvloop

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
