"""Finds jobs by the names of their modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable

from ..exceptions import InvalidError
from ._jobs import Jobs


def load(spec: str) -> list[Jobs]:
    """Import `module:name`, or all `Jobs` that a module has at its top level: `module`.

    Several are separated by commas. Raises `InvalidError` if there are none; what the import
    raises otherwise, it raises too.
    """
    return [jobs for one in spec.split(",") for jobs in _load(one.strip())]


def _load(spec: str) -> list[Jobs]:
    name, _, attribute = spec.partition(":")
    if not name or name.startswith("."):
        raise InvalidError(f"{spec!r} is not the name of a module and its jobs, such as app:jobs")
    if name.endswith(".py") or "/" in name:
        raise InvalidError(
            f"{spec!r} is the path of a file; give the name of its module, such as app:jobs"
        )
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        # An import in that module may fail in the same way.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise InvalidError(
            f"there is no module {error.name!r} in the current folder or among the packages"
        ) from None
    found = {key: value for key, value in vars(module).items() if isinstance(value, Jobs)}
    if not attribute:
        unique = list({id(jobs): jobs for jobs in found.values()}.values())
        if not unique:
            raise InvalidError(f"module {name!r} has no Jobs")
        return unique
    if attribute not in found:
        has = f"; it has {', '.join(found)}" if found else ""
        raise InvalidError(f"module {name!r} has no Jobs with the name {attribute!r}{has}")
    return [found[attribute]]


def spec_of(jobs: Jobs | Iterable[Jobs] | str) -> str:
    """Return how another process can import these jobs. Raises `InvalidError`."""
    if isinstance(jobs, str):
        return jobs
    several = [jobs] if isinstance(jobs, Jobs) else jobs
    return ",".join(_spec(one) for one in several)


def _spec(jobs: Jobs) -> str:
    module = jobs._module
    names = vars(sys.modules[module]).items() if module in sys.modules else ()
    found = next((name for name, value in names if value is jobs), None)
    if module == "__main__" or found is None:
        raise InvalidError(
            "child processes import the jobs, so these must stand at the top level of a module "
            "that is not the program itself: put them into tasks.py, and import them from there"
        )
    return f"{module}:{found}"
