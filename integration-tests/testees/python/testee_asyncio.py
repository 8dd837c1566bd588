"""The testee in Python, with asyncio. Requests and answers: `testees/README.md`."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import leaseq.asyncio
import values
import wire
import workers_asyncio as workers
from say import say

clients: dict[str, leaseq.asyncio.Client] = {}
leases: dict[str, leaseq.asyncio.Lease] = {}
calls: dict[str, asyncio.Task[None]] = {}


async def obey(request: values.Request) -> Any:
    match request["op"]:
        case "hello":
            return {
                "can": [
                    "block",
                    "cancel",
                    "chains",
                    "follow_ups",
                    "force_stop",
                    "hang",
                    "job_groups",
                    "jobs",
                    "nul",
                    "order",
                ]
            }
        case "block":
            time.sleep(request["ms"] / 1000)  # and with it the event loop
        case "connect":
            clients[request["client"]] = await leaseq.asyncio.connect(request["url"])
        case "close":
            workers.close(request["client"])
            await clients[request["client"]].close()
        case "cancel":
            calls.pop(request["call"]).cancel()
        case "drop":
            del leases[request["lease"]]
        case "look":
            return values.lease(leases[request["lease"]])
        case "queues":
            return await clients[request["client"]].queues()
        case "registry":
            return await wire.call_registry(clients[request["client"]], request)
        case (
            "enqueue"
            | "enqueue_group"
            | "result"
            | "start_worker"
            | "end_worker"
            | "worker_exit"
            | "tell"
            | "seen"
        ):
            return await workers.obey(clients[request["client"]], request)
        case _:
            queue = clients[request["client"]].queue(request["queue"])
            begun, tell = wire.call(queue, request, leases.__getitem__)
            return keep(request.get("as", ""), await begun, tell)
    return None


def keep(name: str, answer: Any, tell: Any) -> Any:
    if isinstance(answer, leaseq.asyncio.Lease):
        leases[name] = answer
        return values.lease(answer)
    if isinstance(answer, tuple):
        return {"completed": answer[0], "leases": keep(name, answer[1], tell)}
    if isinstance(answer, list) and answer and isinstance(answer[0], leaseq.asyncio.Lease):
        return [keep(f"{name}/{i}", lease, tell) for i, lease in enumerate(answer)]
    return tell(answer)


async def serve(request: values.Request) -> None:
    try:
        answer = {"n": request["n"], "gives": await obey(request)}
    except leaseq.LeaseqError as error:
        answer = {"n": request["n"], "fails": values.failure(error)}
    except asyncio.CancelledError:
        answer = {"n": request["n"], "gives": "cancelled"}
    say(answer)


async def main() -> None:
    loop, tasks = asyncio.get_running_loop(), set()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        request = json.loads(line)
        task = loop.create_task(serve(request))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if "call" in request and request["op"] != "cancel":
            calls[request["call"]] = task


asyncio.run(main())
