"""The examples of the README and the book: blocks of code that run, with what completes them.

A comment above each block controls it:

    <!-- run: PREAMBLE as FILE after FILE => LINE | LINE -->
    <!-- skip: REASON -->

`run` executes the block; the expected output follows `=>`. With a PREAMBLE, the block is a
fragment, which docs/preambles/README.md explains. `as` names the file of the block. `after` names
the file of another example of the page, which runs first, in the same folder, after what that one
names. A block without a comment is an error.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from pages import TOP, Block, blocks, book_pages

PREAMBLES = TOP / "docs" / "preambles"
RUN = re.compile(
    r"run(?:: (?P<preamble>\w+))?(?: as (?P<name>\S+))?(?: after (?P<after>\S+))?"
    r"(?: => (?P<out>.*))?"
)
MARK = re.compile(r"^ *(?://|#)--- (\w+)(?: < (\w+))?\n", re.MULTILINE)


class WrongError(Exception):
    """An error in a page."""


@dataclass(frozen=True)
class Example:
    """A block that runs."""

    block: Block
    number: int
    preamble: str | None
    name: str | None
    after: str | None
    out: list[str] | None

    @property
    def code(self) -> str:
        """The whole program."""
        code = self.block.code
        return code if self.preamble is None else complete(self.preamble, code, self.language)

    @property
    def language(self) -> str:
        """The language of the block; `asyncio` for Python with await."""
        is_asyncio = self.preamble and re.search(r"\bawait |\basync ", self.block.code)
        return "asyncio" if self.block.language == "python" and is_asyncio else self.block.language


def complete(preamble: str, code: str, language: str) -> str:
    """Complete the fragment with its preamble."""
    ending = {"python": "py", "asyncio": "asyncio.py", "js": "mjs", "rust": "rs", "c": "c"}[
        language
    ]
    text = (PREAMBLES / f"fragment.{ending}").read_text()
    head, *rest = MARK.split(text)
    parents = dict(zip(rest[0::3], rest[1::3], strict=True))
    bodies = dict(zip(rest[0::3], rest[2::3], strict=True))
    wanted: str | None = preamble
    sections = ""
    while wanted:
        if wanted not in bodies:
            raise WrongError(f"there is no preamble {wanted!r}")
        sections = bodies[wanted] + sections
        wanted = parents[wanted]
    (mark,) = re.findall(r"^( *)\S*--- example$", text, flags=re.MULTILINE)
    indented = re.sub(r"^(?=.)", mark, code, flags=re.MULTILINE)
    return head + sections + indented + bodies["example"]


def read_examples() -> tuple[list[Example], list[str]]:
    """Read the examples of all pages, and list the blocks without a valid comment."""
    examples: list[Example] = []
    wrong: list[str] = []
    for block in itertools.chain.from_iterable(map(blocks, book_pages())):
        if re.fullmatch(r"skip: .{10,}", block.comment):
            continue
        run = RUN.fullmatch(block.comment)
        if run is None:
            wrong.append(f"{block}: neither `run` nor `skip: REASON` above this block")
            continue
        out = run["out"]
        lines = None if out is None else out.split(" | ")
        groups = (run["preamble"], run["name"], run["after"])
        examples.append(Example(block, len(examples), *groups, lines))
    return examples, wrong
