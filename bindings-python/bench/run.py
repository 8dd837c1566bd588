"""Measures the Python package, and with `--peers FOLDER` other queues beside it.

FOLDER holds an environment for each peer that could be installed. Each system runs in a process of
its own against the same server, one after the other in every round, so that only ratios count. A
peer that is not there is reported, and one that fails or does not come to an end twice; the others
go on.
`--quick` does one small round, `--json FILE` writes the figures to a file as well, `--rounds N`
sets how many there are, and `--only NAME` leaves out all other peers.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from report import Report
from server import clear, server

HERE = Path(__file__).resolve().parent
# How many items, so that a round of each takes a few seconds.
OURS = {
    "leaseq-asyncio": 20_000,
    "asyncio-alone": 50_000,
    "leaseq-threads": 20_000,
    "leaseq-one": 5_000,
    "leaseq-batches": 50_000,
    "jobs-asyncio": 20_000,
    "jobs-threads": 20_000,
    "jobs-children": 10_000,
    "jobs-fork": 500,
}
PEERS = {
    "redis-work-queue": 5_000,
    "saq": 5_000,
    "arq": 5_000,
    "taskiq": 5_000,
    "dramatiq": 5_000,
    "celery": 5_000,
    "huey": 5_000,
    "rq": 2_000,
    "rq-fork": 200,
}
# Workers with handlers, those that they are compared with, and how many times as fast they are.
JOBS = [
    ("jobs-asyncio", ["arq", "saq", "taskiq"], 8),
    ("jobs-threads", ["dramatiq"], 5),
    ("jobs-children", ["celery"], 5),
    ("jobs-fork", ["rq-fork"], 2),
]
ROUNDS = 5
QUICK = 200
# For one round of one system, in seconds.
LIMIT = 200.0


@dataclass
class System:
    """What is measured, and what came of it."""

    name: str
    command: list[str]
    items: int
    version: str = ""
    how: str = ""
    concurrency: dict[str, str] = field(default_factory=dict)
    rates: list[dict[str, float]] = field(default_factory=list)
    failure: str = ""

    def measure(self, url: str) -> None:
        """Run it once."""
        try:
            said = json.loads(run([*self.command, str(self.items)], url))
        except (OSError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            # Of a traceback the last line says what it was.
            self.failure = (str(error).strip().splitlines() or [repr(error)])[-1][-200:]
            return
        self.failure = ""
        self.version, self.how = said["version"], said["how"]
        self.concurrency = said["concurrency"]
        self.rates.append(said["rates"])

    def figure(self, what: str) -> float:
        """The median of the rounds."""
        return median(one[what] for one in self.rates)


def run(command: list[str], url: str) -> str:
    """Run a program and whatever it starts; nothing of it is left when this returns."""
    process = subprocess.Popen(
        command,
        cwd=HERE,
        env={**os.environ, "BENCH_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complaint = process.communicate(timeout=LIMIT)
    finally:
        # The group is its own: itself, if it has not come to its end, and what it started.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode:
        raise RuntimeError(complaint.strip() or f"it ended with {process.returncode}")
    return said


def plan(port: int, peers: Path | None, only: str | None, quick: bool) -> list[System]:
    """What there is to measure, ours first."""
    url = f"redis://127.0.0.1:{port}/0"
    ours = str(HERE / "ours.py")
    systems = [
        System(name, [sys.executable, ours, name, url], QUICK if quick else items)
        for name, items in OURS.items()
    ]
    for name, items in PEERS.items() if peers else ():
        assert peers is not None
        if only not in (None, name):
            continue
        python = str((peers / name / "bin" / "python").absolute())
        system = System(name, [python, "-m", "peers", name], QUICK if quick else items)
        if not (peers / name / "ready").exists():
            log = peers / f"{name}.log"
            said = log.read_text().split("\n") if log.exists() else []
            reason = next((line for line in reversed(said) if line.strip()), "")
            system.failure = f"not installed: {reason}"
        systems.append(system)
    return systems


def target_of(name: str) -> str:
    """Return the targets that the rates of a system are about."""
    if name.startswith("jobs-"):
        return "13, 14"
    return "4" if name in ("leaseq-one", "redis-work-queue") else "3"


def rates(report: Report, systems: list[System]) -> None:
    """Add what each reached."""
    for system in systems:
        name = f"{system.name} {system.version}".strip()
        target = target_of(system.name)
        if system.failure or not system.rates:
            for what in ("add", "process"):
                report.add(target, f"{name}: {what}", None, "", note=system.failure)
            continue
        for what in system.rates[0]:
            concurrency = system.concurrency.get(what, what)
            figure = system.figure(what)
            note = system.how
            report.add(
                target, f"{name}: {what}", figure, "items/s", concurrency=concurrency, note=note
            )


def ratios(report: Report, systems: list[System], peers_too: bool) -> None:
    """Add what they are beside each other. A ratio is that of one round; their median counts."""
    by_name = {system.name: system for system in systems}

    def ratio(
        target: str, ours: str, what: str, theirs: list[str], beside: str, at_least: float | None
    ) -> None:
        peers = [by_name[name] for name in theirs if name in by_name]
        failed = ", ".join(peer.name for peer in peers if peer.failure)
        peers = [peer for peer in peers if not peer.failure]
        mine = by_name[ours]
        name = f"{ours} / {beside}: {what}"
        if mine.failure or not peers:
            note = f"failed: {failed}" if failed else "left out"
            report.add(target, name, None, "", at_least=at_least, note=note)
            return
        each = [
            mine.rates[n][what] / max(peer.rates[n][what] for peer in peers)
            for n in range(len(mine.rates))
        ]
        note = f"{len(each)} rounds, {min(each):.2g} to {max(each):.2g}"
        note += f"; without {failed}" if failed else ""
        report.add(target, name, median(each), "×", at_least=at_least, note=note)

    for what in ("add", "process"):
        ratio("3b", "leaseq-asyncio", what, ["leaseq-batches"], "leaseq-batches", 0.75)
        ratio("3b", "asyncio-alone", what, ["leaseq-batches"], "leaseq-batches", None)
    for ours, bare in (("jobs-asyncio", "leaseq-asyncio"), ("jobs-threads", "leaseq-threads")):
        ratio("13", ours, "process", [bare], bare, 0.6)
    for ours, theirs, at_least in JOBS if peers_too else ():
        ratio("14", ours, "process", theirs, " or ".join(theirs), at_least)
    for what, one_at_a_time in (("add", 1), ("process", 2)) if peers_too else ():
        ratio("3", "leaseq-asyncio", what, ["saq", "arq"], "the best of SAQ and arq", 5)
        ratio("4", "leaseq-one", what, ["redis-work-queue"], "redis-work-queue", one_at_a_time)
        ratio("", "leaseq-asyncio", what, list(PEERS), "the best of all", None)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", metavar="NAME", choices=list(PEERS))
    parser.add_argument("--peers", metavar="FOLDER", type=Path)
    options = parser.parse_args()
    report = Report(options.quick)
    with server() as port:
        systems = plan(port, options.peers, options.only, options.quick)
        for _ in range(1 if options.quick else options.rounds):
            for system in systems:
                # A peer may have lost an item. One that has failed twice is not run again.
                for _ in range(0 if system.failure else 2):
                    clear(port)
                    system.measure(f"redis://127.0.0.1:{port}/0")
                    if not system.failure:
                        break
    rates(report, systems)
    ratios(report, systems, options.peers is not None)
    report.print()
    if options.json:
        report.write(options.json)
    ours = [system for system in systems if system.name in OURS and system.failure]
    if ours:
        raise SystemExit(f"{ours[0].name}: {ours[0].failure}")


if __name__ == "__main__":
    main()
