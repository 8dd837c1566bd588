"""No module of the package imports itself, directly or through others."""

import ast
import graphlib
from pathlib import Path

import leaseq

PACKAGE = Path(leaseq.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
}


def for_types_only(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def statements(tree):
    """Every statement that runs, also inside functions."""
    for node in ast.iter_child_nodes(tree):
        if not for_types_only(node):
            yield node
            yield from statements(node)


def imported(name, path):
    """The modules of the package that a module imports, by their names in it."""
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                package, _, module = alias.name.partition(".")
                if package == "leaseq":
                    yield module or "__init__"
        elif isinstance(node, ast.ImportFrom) and node.level:
            folder = name.split(".")[: -node.level]
            if node.module:
                yield ".".join([*folder, node.module])
            else:
                yield from (".".join([*folder, alias.name]) for alias in node.names)


def test_there_are_no_import_cycles():
    graph = {name: set(imported(name, path)) for name, path in MODULES.items()}
    assert {"_values", "exceptions", "_leaseq"} <= graph["asyncio"] | graph["_only_asyncio"]
    assert {"jobs._run", "_only_asyncio"} <= graph["jobs._event_loop"]
    graphlib.TopologicalSorter(graph).prepare()
