"""The pages of the project: their headings, links and code blocks. Used by book.py and check.py."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
# The references of the languages, made from the sources; pages link to them as to this folder.
REFERENCE = TOP / "build" / "docs" / "reference"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block of code, and the comment above it."""

    page: Path
    line: int
    language: str
    code: str
    comment: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(TOP)}:{self.line}"


def book_pages() -> list[Path]:
    """List the README and the pages of the book, whose examples are run."""
    return [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]


def all_pages() -> list[Path]:
    """List every page of the project."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    found = [TOP / name for name in names if (TOP / name).is_file()]
    return found or book_pages()


def blocks(page: Path) -> list[Block]:
    """Read the fenced blocks of a page."""
    found: list[Block] = []
    comment, language, begin, code = "", None, 0, ""
    for number, line in enumerate(page.read_text().splitlines(keepends=True), 1):
        if language is not None:
            if line.strip() == "```":
                found.append(Block(page, begin, language, code, comment))
                language, comment = None, ""
            else:
                code += line
        elif line.startswith("```"):
            language, begin, code = line[3:].strip(), number, ""
        elif note := re.fullmatch(r"<!-- (.*) -->\n?", line):
            comment = note[1]
        elif line.strip():
            comment = ""
    if language is not None:
        raise ValueError(f"{page}:{begin}: the block does not end")
    return found


def prose(text: str) -> str:
    """Empty fenced blocks and spans of code."""
    text = re.sub(r"^( *)```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "``", text)


def slug(heading: str, separator: str = "-") -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        anchor, count = slug(heading), 0
        while (name := f"{anchor}-{count}" if count else anchor) in found:
            count += 1
        found.add(name)
    return found


def links(page: Path) -> Iterator[str]:
    """Find the targets of a page's links."""
    for _, _, target in LINK.findall(prose(page.read_text())):
        yield target


def linked(page: Path, name: str) -> Path:
    """Return the file that a page links to."""
    if name.startswith("reference/"):
        return REFERENCE / name.removeprefix("reference/")
    return (page.parent / name).resolve()


def is_elsewhere(target: str) -> bool:
    """Return whether the target is outside of this project."""
    return re.match(r"[a-z]+:", target) is not None
