"""No lease is left whose caller was cancelled, whenever that was."""

import asyncio
import os
import random

import leaseq

# More rounds find what is rare.
ROUNDS = int(os.environ.get("LEASEQ_CANCEL_ROUNDS", "100"))
# Seconds within which what was leased for a cancelled call is ready again.
SOON = 3.0


async def one_round(queue, chance):
    """Cancel calls at random moments while items are added; return the leases that callers got."""
    calls = [
        queue.lease(60, wait=chance.choice([None, 0, 0.001, 0.01]))
        if chance.random() < 0.4
        else queue.lease_many(chance.randrange(1, 9), 60, wait=chance.choice([None, 0.001, 0.01]))
        for _ in range(chance.randrange(1, 12))
    ]
    tasks = []
    for call in calls:
        tasks.append(asyncio.create_task(call))
        await moment(chance)
        if chance.random() < 0.5:
            await queue.add_items(["x"] * chance.randrange(1, 6))
    for task in chance.sample(tasks, len(tasks)):
        await moment(chance)
        task.cancel()
    leases = []
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, leaseq.asyncio.Lease):
            leases.append(result)
        elif isinstance(result, list):
            leases += result
        else:
            assert result is None or isinstance(result, asyncio.CancelledError), result
    return leases


async def moment(chance):
    match chance.randrange(4):
        case 0:
            await asyncio.sleep(chance.random() * 0.003)
        case 1:
            for _ in range(chance.randrange(20)):
                await asyncio.sleep(0)


async def only_these_are_left(queue, leases):
    """Wait until nothing else is leased."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SOON
    while (processing := await queue.processing()) != len(leases):
        assert loop.time() < until, f"{processing} are leased, callers have {len(leases)}"
        await asyncio.sleep(0.001)


def test_no_lease_of_a_cancelled_call_is_left(url, run):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    async def main():
        async with await leaseq.asyncio.connect(url) as client:
            queue = client.queue("q")
            for _ in range(ROUNDS):
                leases = await one_round(queue, chance)
                await only_these_are_left(queue, leases)
                await queue.complete_many(leases)
                # Few items, so that calls wait.
                if chance.random() < 0.5:
                    await queue.purge("ready")

    run(main())
