"""The workers of the testee with threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

import leaseq
import working
from children import Children
from leaseq.jobs import Exit, JobRef, Jobs, Worker
from noted import Notes, NotesOfRun
from working import Request, key

refs: dict[str, JobRef[Any]] = {}
# What runs on the main thread, where signals are handled.
on_main: SimpleQueue[Callable[[], object]] = SimpleQueue()


class Started:
    """A worker that was started."""

    def __init__(self, client: leaseq.Client, request: Request, notes: Notes) -> None:
        self.notes = notes
        self._request, self._client = request, client
        self._children = Children(request, notes) if "children" in request else None
        self._worker: Worker | None = None
        self._error: BaseException | None = None
        self._exit: Exit | None = None
        self._started, self._ended = threading.Event(), threading.Event()
        self.owns_process = bool(request.get("process"))
        if self.owns_process:
            on_main.put(self._run_process)
        else:
            threading.Thread(target=self._run, daemon=True).start()
        # Whoever hears that it has started may send a signal.
        self._started.wait()

    def _make(self) -> Worker:
        options = working.options_of(self._request, self.notes)
        slots = self._request.get("slots")
        if self._children is not None:
            options |= self._children.options(slots)
            return Worker(self._client, self._children.jobs, **options)
        jobs = working.jobs_of(self._request, partial(NotesOfRun, self.notes))
        return Worker(self._client, jobs, threads=slots, **options)

    def _run_process(self) -> None:
        try:
            worker = self._make()
            start = worker._start

            def noted(options: dict[str, object]) -> Any:
                running = start(options)
                self._started.set()
                return running

            worker._start = noted
            worker.run_process()
        finally:
            self._started.set()

    def _run(self) -> None:
        try:
            self._worker = self._make()
            running = self._worker._start(self._worker._settings.native())
            self._started.set()
            self._exit = self._worker._wait(running)
        except BaseException as error:
            self._error = error
        self._started.set()
        self._ended.set()

    def end(self) -> None:
        def stop() -> None:
            # It may have ended by itself.
            with suppress(RuntimeError):
                assert self._worker is not None
                self._worker.stop()

        threading.Thread(target=stop, daemon=True).start()

    def exit(self) -> Any:
        self._ended.wait()
        if self._exit is None:
            assert self._error is not None
            raise self._error
        return {"status": self._exit.status, "started": self._exit.started}

    def abort(self) -> None:
        running = self._worker and self._worker._running
        if running is not None:
            running.native.abort()


workers: dict[tuple[str, str], Started] = {}


def obey(client: leaseq.Client, request: Request) -> Any:
    """Do what a request about jobs says."""
    match request["op"]:
        case "enqueue":
            try:
                ref = Jobs().enqueue(client, working.new_job(request))
            except TypeError as error:
                raise leaseq.InvalidError(str(error)) from error
            refs[request.get("as", "")] = ref
            return ref.added
        case "enqueue_group":
            args, ends = working.group_of(request)
            added = Jobs().enqueue_group(client, *args, **ends)
            return [ref.added for ref in added.jobs]
        case "result":
            try:
                wait = request.get("wait_ms", 30_000) / 1000
                return working.ended(None, refs[request["ref"]].result(wait))
            except Exception as error:
                return working.ended(error)
        case "start_worker":
            last = workers.get(key(request))
            notes = last.notes if last else Notes()
            notes.path = request.get("log", notes.path)
            workers[key(request)] = Started(client, request, notes)
        case "end_worker":
            workers[key(request)].end()
        case "worker_exit":
            return workers[key(request)].exit()
        case "tell":
            workers[key(request)].notes.told[request["job"]].append(request["steps"])
        case "seen":
            return list(workers[key(request)].notes.seen)
    return None


def close(client: str) -> None:
    """Abort the workers of a client."""
    for of in [of for of in workers if of[0] == client]:
        workers.pop(of).abort()
