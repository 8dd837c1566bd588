"""Draws what `make bench-peers` has measured: `python3 chart.py FOLDER CHART.svg`.

FOLDER has `bench-peers-python.json`, `-node` and `-c`. The same figures give the same bytes. Text
and bars are of colours that can be read on light and on dark, and nothing is behind them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, LABEL, FIGURE = 860, 265, 95
BAR, ROW, HEAD = 9, 27, 46
INK, ADD, PROCESS = "#7d7d7d", "#8fa9c4", "#c9803c"
# Language, file, and how the figures that are drawn are named there, after the system.
PANELS = (
    ("Python", "python", "add", "process"),
    ("Node.js, 100 calls at once", "node", "add, 100 at once", "process, 100 at once"),
    ("C, one connection", "c", "add", "process"),
)
# What the Python figures say of leaseq in batches is for no peer to be beside.
LEFT_OUT = ("leaseq-batches",)


@dataclass
class Row:
    """A system, and what it reached; without figures, why not."""

    name: str
    add: float
    process: float
    why: str


def rows(language: str, figures: list[dict[str, object]], add: str, process: str) -> list[Row]:
    """Make one for each system, the fastest at processing first."""
    found: dict[str, Row] = {}
    for line in figures:
        name, _, what = str(line["what"]).rpartition(": ")
        # A ratio has two names.
        if " / " in name or name.startswith(LEFT_OUT) or what not in (add, process):
            continue
        row = found.setdefault(name, Row(name, 0, 0, ""))
        figure = line["figure"]
        if not isinstance(figure, int | float):
            row.why = f"not measured: {line['note']}"[:80]
        elif what == add:
            row.add = figure
        else:
            row.process = figure
            # That of the workers. In the other languages it is in the title or in the name.
            if language == "Python":
                row.name = f"{name}, {line['concurrency']}"
    return sorted(found.values(), key=lambda row: -row.process)


def text(x: float, y: float, words: str, rest: str = "") -> str:
    """Write a line."""
    return f'<text x="{x:.0f}" y="{y:.0f}" {rest}>{escape(words)}</text>'


def bar(y: float, value: float, most: float, colour: str) -> str:
    """Draw a bar, with its figure behind it."""
    width = max(1.0, (WIDTH - LABEL - FIGURE) * value / most)
    shape = f'<rect x="{LABEL}" y="{y:.0f}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
    return shape + text(LABEL + width + 5, y + BAR - 1, f"{value:,.0f}/s", 'font-size="10"')


def panel(y: float, title: str, systems: list[Row]) -> tuple[float, list[str]]:
    """Draw one language; says where it ends, too."""
    parts = [text(0, y + 24, title, 'font-size="14" font-weight="bold"')]
    y += HEAD - 10
    most = max([1.0, *(max(row.add, row.process) for row in systems)])
    for row in systems:
        bold = 'font-weight="bold" ' if row.name.startswith("leaseq") else ""
        parts.append(text(LABEL - 8, y + BAR + 4, row.name, f'{bold}text-anchor="end"'))
        if row.why:
            parts.append(text(LABEL, y + BAR + 4, row.why))
        else:
            parts += [bar(y, row.add, most, ADD), bar(y + BAR + 1, row.process, most, PROCESS)]
        y += ROW
    return y, parts


def main() -> None:
    """Read, draw and write."""
    folder, chart = Path(sys.argv[1]), Path(sys.argv[2])
    y, parts, about = 20.0, [], ""
    for x, colour, words in ((0, ADD, "items added"), (110, PROCESS, "items processed")):
        parts.append(f'<rect x="{x}" y="4" width="10" height="10" fill="{colour}"/>')
        parts.append(text(x + 15, 13, words))
    for title, part, add, process in PANELS:
        path = folder / f"bench-peers-{part}.json"
        if not path.exists():
            continue
        record = json.loads(path.read_text())
        about = about or str(record["machine"]).rpartition("; Python")[0]
        y, more = panel(y, title, rows(title, record["figures"], add, process))
        parts += more
    y += 22
    parts.append(text(0, y, f"One run of make bench-peers. {about}.", 'font-size="10"'))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 10:.0f}" '
        f'width="{WIDTH}" font-family="sans-serif" font-size="11" fill="{INK}" role="img" '
        'aria-label="Items a second, of leaseq and of other queues in the same language">'
    )
    chart.write_text("\n".join([head, *parts, "</svg>"]) + "\n")


if __name__ == "__main__":
    main()
