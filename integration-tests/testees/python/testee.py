"""The testee in Python, with threads. Requests and answers: `testees/README.md`."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from typing import Any

import leaseq
import values
import wire
import workers
from say import say

clients: dict[str, leaseq.Client] = {}
leases: dict[str, leaseq.Lease] = {}
output = threading.RLock()


def obey(request: values.Request) -> Any:
    match request["op"]:
        case "hello":
            # Only a signal can cancel a call of a thread.
            can = "block chains children follow_ups force_stop fork fork_children hang"
            return {"can": [*can.split(), "job_groups", "jobs", "nul"]}
        case "block":
            ctypes.PyDLL(None).usleep(request["ms"] * 1000)  # with the GIL
        case "fork":
            return fork(request["requests"])
        case "connect":
            clients[request["client"]] = leaseq.connect(request["url"])
        case "close":
            workers.close(request["client"])
            clients[request["client"]].close()
        case "drop":
            del leases[request["lease"]]
        case "look":
            return values.lease(leases[request["lease"]])
        case "queues":
            return clients[request["client"]].queues()
        case "registry":
            return wire.call_registry(clients[request["client"]], request)
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
            return workers.obey(clients[request["client"]], request)
        case _:
            queue = clients[request["client"]].queue(request["queue"])
            answer, tell = wire.call(queue, request, leases.__getitem__)
            return keep(request.get("as", ""), answer, tell)
    return None


def keep(name: str, answer: Any, tell: Any) -> Any:
    if isinstance(answer, leaseq.Lease):
        leases[name] = answer
        return values.lease(answer)
    if isinstance(answer, tuple):
        return {"completed": answer[0], "leases": keep(name, answer[1], tell)}
    if isinstance(answer, list) and answer and isinstance(answer[0], leaseq.Lease):
        return [keep(f"{name}/{i}", lease, tell) for i, lease in enumerate(answer)]
    return tell(answer)


def fork(requests: list[values.Request]) -> int:
    with output:  # until the child has ended, so that their lines do not mix
        child = os.fork()
        if child == 0:
            try:
                for request in requests:
                    serve(request)
                os._exit(0)
            finally:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def serve(request: values.Request) -> None:
    try:
        answer = {"n": request["n"], "gives": obey(request)}
    except leaseq.LeaseqError as error:
        answer = {"n": request["n"], "fails": values.failure(error)}
    with output:
        say(answer)


def read() -> None:
    for line in sys.stdin:
        threading.Thread(target=serve, args=[json.loads(line)], daemon=True).start()
    if any(each.owns_process for each in workers.workers.values()):
        os._exit(0)
    workers.on_main.put(sys.exit)


threading.Thread(target=read, daemon=True).start()
while True:
    workers.on_main.get()()
