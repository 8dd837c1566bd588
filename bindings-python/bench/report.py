"""The table, and the same as JSON: the shape that all benchmarks of the project have."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path

import server

DATA = 100
PERSISTENCE = "none"


def machine() -> str:
    """Describe what the figures were taken on."""
    return (
        f"{platform.system().lower()} {platform.machine()}, {os.cpu_count()} cores; "
        f"redis-server {server.version()} on loopback, no persistence; data of {DATA} bytes; "
        f"Python {platform.python_version()}"
    )


def shown(value: object) -> str:
    """Write a figure for people."""
    if not isinstance(value, float):
        return "none"
    digits = 0 if abs(value) >= 1_000 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}"


@dataclass
class Report:
    """Figures, some of them with a limit that they must reach."""

    quick: bool
    figures: list[dict[str, object]] = field(default_factory=list)

    def add(
        self,
        target: str,
        what: str,
        figure: float | None,
        unit: str,
        *,
        at_least: float | None = None,
        concurrency: str = "",
        note: str = "",
    ) -> None:
        """Add a figure; without a limit it only informs. None: it could not be had; say why."""
        held = None if at_least is None or figure is None else figure >= at_least
        self.figures.append(
            {
                "target": target,
                "what": what,
                "figure": figure,
                "unit": unit,
                "limit": at_least,
                "bound": None if at_least is None else "AtLeast",
                "held": held,
                "server": "redis",
                "persistence": PERSISTENCE,
                "data": DATA,
                "concurrency": concurrency,
                "note": note,
            }
        )

    def print(self) -> None:
        """Print the table."""
        print(machine())
        if self.quick:
            print("--quick: one small round, to see that it works; the figures mean nothing")
        print(f"{'':>3}  {'':<58} {'figure':>12} {'':<10} {'limit':>8}")
        for line in self.figures:
            limit, held = line["limit"], line["held"]
            bound = "" if limit is None else f"≥ {shown(float(str(limit)))}"
            word = {None: "", True: "ok", False: "MISSED"}[held if held is None else bool(held)]
            note = "; ".join(str(line[part]) for part in ("concurrency", "note") if line[part])
            print(
                f"{line['target']:>3}  {line['what']:<58} {shown(line['figure']):>12} "
                f"{line['unit']:<10} {bound:>8}  {word:<6} {note}"
            )

    def write(self, path: Path) -> None:
        """Write the JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"machine": machine(), "quick": self.quick, "figures": self.figures}
        path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
        print(f"figures written to {path}")
