"""Workers whose handlers run in children: the module that these import, and where they note."""

from __future__ import annotations

import json
import os
import select
import socketserver
import sys
import tempfile
import threading
from itertools import count
from pathlib import Path
from typing import Any

from noted import Notes
from script import LOOK
from working import Request

MODULE = """
import in_child

jobs = in_child.jobs_of({request!r}, {environment!r})
"""
numbers = count()


class NoteServer(socketserver.ThreadingUnixStreamServer):
    """Answers what children ask about their notes."""

    daemon_threads = True

    def __init__(self, path: str, notes: Notes) -> None:
        super().__init__(path, Answer)
        self.notes = notes
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(socketserver.StreamRequestHandler):
    """Answers the one request of a connection."""

    server: NoteServer

    def handle(self) -> None:
        request, notes = json.loads(self.rfile.readline()), self.server.notes
        answer: Any = None
        if "note" in request:
            notes.note(request["note"])
        elif "run" in request:
            answer = notes.count_run(request["run"])
        else:
            while (answer := notes.take(request["told"])) is None:
                # Readable is only the end.
                if select.select([self.connection], [], [], LOOK)[0]:
                    return
        self.wfile.write(json.dumps(answer).encode() + b"\n")


class Children:
    """What the children of a worker need, until they are dropped."""

    def __init__(self, request: Request, notes: Notes) -> None:
        # Beside a log, so that nothing is left behind when this process is killed.
        within = os.path.dirname(request["log"]) if "log" in request else None
        self._folder = tempfile.TemporaryDirectory(dir=within)
        folder = Path(self._folder.name)
        self._server = NoteServer(str(folder / "notes"), notes)
        self._asked = request["children"]
        environment = {
            "LEASEQ_TESTEE_SOCKET": str(folder / "notes"),
            "LEASEQ_TESTEE_SLOTS": str(request.get("slots", 10)),
        }
        if self._asked.get("broken"):
            environment["LEASEQ_TESTEE_NO_STARTS"] = str(folder)
        if "log" in request:
            environment["LEASEQ_TESTEE_LOG"] = request["log"]
        self.jobs = f"testee_jobs_{next(numbers)}"
        module = MODULE.format(request=request, environment=environment)
        (folder / f"{self.jobs}.py").write_text(module)
        sys.path.append(str(folder))

    def options(self, slots: int | None) -> dict[str, Any]:
        """Return the options of the worker."""
        jobs, memory = self._asked.get("max_jobs"), self._asked.get("memory_limit_mib")
        isolation = "fork" if self._asked.get("fork") else "job" if jobs == 1 else "process"
        return {
            "processes": slots,
            "isolation": isolation,
            "max_jobs_per_child": jobs,
            "memory_limit": memory and memory << 20,
        }
