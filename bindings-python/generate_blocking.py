"""Generates the blocking interface, `leaseq/_blocking.py`, from that for asyncio.

`python generate_blocking.py` writes it; with `--check` it only fails when the file has drifted.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import libcst as cst

PACKAGE = Path(__file__).parent / "python" / "leaseq"
SOURCE = PACKAGE / "asyncio.py"
TARGET = PACKAGE / "_blocking.py"

HEADER = '''"""The blocking interface.

Generated from `asyncio.py` by `make generate-python`: change that file instead.
"""
'''

NAMES = {
    "AsyncGenerator": "Generator",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "_only_asyncio": "_only_blocking",
}

# Phrases that read differently in the documentation of the blocking interface.
PROSE = {
    "Tasks, event loops and threads": "Threads",
    "the task is cancelled": "Ctrl-C interrupts it",
    "contextlib.aclosing": "contextlib.closing",
    "async with": "with",
}


class Blocking(cst.CSTTransformer):
    """Removes what waits for an event loop."""

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        header = cst.parse_module(HEADER).body
        return updated_node.with_changes(body=[*header, *updated_node.body[1:]])

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        return updated_node.with_changes(asynchronous=None)

    def leave_Await(self, original_node: cst.Await, updated_node: cst.Await) -> cst.BaseExpression:
        return updated_node.expression

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        match updated_node.func:
            case cst.Name("bridge"):
                return cst.Name("None")
            case cst.Name("unless_cancelled"):
                return updated_node.args[0].value
        return updated_node

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom:
        names = updated_node.names
        assert not isinstance(names, cst.ImportStar)
        kept = [name for name in names if name.evaluated_name not in ("bridge", "unless_cancelled")]
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return updated_node.with_changes(names=kept)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=NAMES.get(updated_node.value, updated_node.value))

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        text = updated_node.value
        for ours, theirs in PROSE.items():
            text = text.replace(ours, theirs)
        # In the examples.
        text = re.sub(r"\b(?:async|await) ", "", text)
        return updated_node.with_changes(value=text)


def generate() -> str:
    """Return the blocking interface."""
    source = SOURCE.read_text()
    assert all(prose in source for prose in PROSE), "a phrase is no longer in the source"
    code = cst.parse_module(source).visit(Blocking()).code
    # Older type checkers do not know the defaults of its parameters.
    code = code.replace("Generator[Lease, None]", "Generator[Lease, None, None]")
    for command in (["check", "--fix"], ["format"]):
        ruff = [
            sys.executable,
            "-m",
            "ruff",
            *command,
            "--quiet",
            "--stdin-filename",
            str(TARGET),
            "-",
        ]
        code = subprocess.run(
            ruff, input=code, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    return code


def main() -> None:
    """Write the file, or check it."""
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(generate())
    elif TARGET.read_text() != generate():
        sys.exit(f"{TARGET.name} has drifted from {SOURCE.name}: run `make generate-python`")


if __name__ == "__main__":
    main()
