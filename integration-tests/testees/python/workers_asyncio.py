"""The workers of the testee with asyncio."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any

import leaseq.asyncio
import working
from leaseq.jobs import AsyncJobRef, AsyncWorker, Exit, Jobs
from noted import Notes, NotesOfRun
from working import Request, key

refs: dict[str, AsyncJobRef[Any]] = {}


class Started:
    """A worker that was started."""

    def __init__(self, client: leaseq.asyncio.Client, request: Request, notes: Notes) -> None:
        self.notes = notes
        self._request, self._client = request, client
        self._worker: AsyncWorker | None = None
        self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> Exit:
        options = working.options_of(self._request, self.notes)
        jobs = working.jobs_of(self._request, partial(NotesOfRun, self.notes))
        slots = self._request.get("slots", 10)
        self._worker = AsyncWorker(self._client, jobs, concurrency=slots, **options)
        if self._request.get("process"):
            try:
                await self._worker.run_process()
            except SystemExit as end:
                # A thread of this program reads its input, and would delay the end.
                os._exit(end.code)
        return await self._worker.run(signals=False)

    def end(self) -> None:
        self._ending = asyncio.ensure_future(self._end())

    async def _end(self) -> None:
        while not self._running.done() and self._native() is None:
            await asyncio.sleep(0.01)
        if (native := self._native()) is not None:
            native.drain(self._request.get("grace_ms", 25_000) / 1000)

    def _native(self) -> Any:
        return self._worker and self._worker._native

    async def exit(self) -> Any:
        ended = await asyncio.shield(self._running)
        return {"status": ended.status, "started": ended.started}

    def abort(self) -> None:
        if (native := self._native()) is not None:
            native.abort()


workers: dict[tuple[str, str], Started] = {}


async def obey(client: leaseq.asyncio.Client, request: Request) -> Any:
    """Do what a request about jobs says."""
    match request["op"]:
        case "enqueue":
            try:
                ref = await Jobs().aenqueue(client, working.new_job(request))
            except TypeError as error:
                raise leaseq.InvalidError(str(error)) from error
            refs[request.get("as", "")] = ref
            return ref.added
        case "enqueue_group":
            args, ends = working.group_of(request)
            added = await Jobs().aenqueue_group(client, *args, **ends)
            return [ref.added for ref in added.jobs]
        case "result":
            try:
                wait = request.get("wait_ms", 30_000) / 1000
                return working.ended(None, await refs[request["ref"]].result(wait))
            except Exception as error:
                return working.ended(error)
        case "start_worker":
            last = workers.get(key(request))
            notes = last.notes if last else Notes()
            notes.path = request.get("log", notes.path)
            workers[key(request)] = Started(client, request, notes)
            # Whoever hears that it has started may send a signal: let it begin.
            await asyncio.sleep(0)
        case "end_worker":
            workers[key(request)].end()
        case "worker_exit":
            return await workers[key(request)].exit()
        case "tell":
            workers[key(request)].notes.told[request["job"]].append(request["steps"])
        case "seen":
            return list(workers[key(request)].notes.seen)
    return None


def close(client: str) -> None:
    """Abort the workers of a client."""
    for of in [of for of in workers if of[0] == client]:
        workers.pop(of).abort()
