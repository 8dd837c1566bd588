"""What is linked into the packages, and under which licences.

linked.py --check            each licence is one that deny.toml allows, each source is the registry,
                             and the packages for Python and Node.js need no others
linked.py --licences FILE    the texts of all licences, to ship with what they cover
linked.py --materials FILE   the bill of materials (CycloneDX, JSON)
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomli
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from license_expression import ExpressionError, get_spdx_licensing
from packageurl import PackageURL

TOP = Path(__file__).resolve().parent.parent
DENY = TOP / "packaging" / "deny.toml"
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
TARGET = "x86_64-unknown-linux-gnu"
# The parts that are given to others.
SHIPPED = [
    "leaseq-c",
    "leaseq-cleaner",
    "leaseq-cli",
    "leaseq-node",
    "leaseq-python",
]
# Their texts; some crates name them after the licence, some after the file of the project.
TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "UNLICENSE*", "NOTICE*", "license*")

NO_TEXT = (
    "No text comes with the crate; LICENSE-MIT and LICENSE-APACHE have those of its licences.\n"
)

# What comes with the compilers.
COMPILERS = """\
Rust's standard library (MIT OR Apache-2.0), Copyright (c) The Rust Project Contributors
LLVM's libunwind and compiler-rt (Apache-2.0 WITH LLVM-exception), which with glibc unwind panics

LICENSE-MIT and LICENSE-APACHE have their texts. The exception to Apache-2.0: if, as a result of
your compiling your source code, portions of this Software are embedded into an Object form of such
source code, you may redistribute such embedded portions in such Object form without complying with
the conditions of Sections 4(a), 4(b) and 4(d) of the License.
"""

Package = dict[str, Any]


def linked() -> list[Package]:
    """Return the crates of others that are linked into what is shipped, by name."""
    command = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        TARGET,
    ]
    metadata = json.loads(subprocess.run(command, cwd=TOP, check=True, capture_output=True).stdout)
    packages: dict[str, Package] = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] in SHIPPED]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            key = dependency["pkg"]
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and key not in seen and not is_macro(packages[key]):
                seen.add(key)
                waiting.append(key)
    others = [packages[key] for key in seen if packages[key]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def is_macro(package: Package) -> bool:
    """Tell whether the crate only runs while others are compiled."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def licence(package: Package) -> str:
    """Return the expression; an old form writes OR as a slash."""
    return str(package["license"] or "").replace(" / ", " OR ").replace("/", " OR ")


def objections(packages: list[Package]) -> Iterator[str]:
    """Yield what deny.toml does not allow."""
    allowed = set(tomli.loads(DENY.read_text())["licenses"]["allow"])
    licensing = get_spdx_licensing()
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if package["source"] != REGISTRY:
            yield f"{name} comes from {package['source']}"
        try:
            parsed = licensing.parse(licence(package), validate=True)
        except ExpressionError as error:
            yield f"{name}: {error}"
            continue
        values = {
            str(part): licensing.TRUE if str(part) in allowed else licensing.FALSE
            for part in parsed.literals
        }
        if parsed.subs({part: values[str(part)] for part in parsed.literals}).simplify() != (
            licensing.TRUE
        ):
            yield f"{name} is under {licence(package)}, which {DENY.name} does not allow"


def needed() -> Iterator[str]:
    """Yield what the packages for Python and Node.js need of others: nothing would check that."""
    python = tomli.loads((TOP / "bindings-python" / "pyproject.toml").read_text())
    for name in python["project"].get("dependencies", []):
        yield f"pyproject.toml: the package needs {name}"
    node = json.loads((TOP / "bindings-node" / "package-lock.json").read_text())["packages"]
    for path, package in node.items():
        if path and not package.get("dev"):
            yield f"package-lock.json: the package needs {path}"
        if path and not package.get("integrity"):
            yield f"package-lock.json: {path} has no digest"


def texts(packages: list[Package]) -> str:
    """Return all licences, each text once, below the crates that it covers.

    A crate may have code of others, in C, with texts of their own in folders below.
    """
    covered: dict[str, list[str]] = {}
    for package in packages:
        folder = Path(package["manifest_path"]).parent
        found = sorted(
            {path for pattern in TEXTS for path in folder.rglob(pattern) if path.is_file()}
        )
        name = f"{package['name']} {package['version']} ({licence(package)})"
        if not found:
            covered.setdefault(NO_TEXT, []).append(name)
        for path in found:
            covered.setdefault(path.read_text(errors="replace").strip() + "\n", []).append(name)
    line = "=" * 80
    parts = [
        "leaseq contains the following crates of others.\n",
        "\n".join([line, f"SQLite {sqlite(packages)}", line, "", "It is in the public domain.\n"]),
        "\n".join([line, "The compilers", line, "", COMPILERS]),
    ]
    for text, names in covered.items():
        parts.append("\n".join([line, *names, line, "", text]))
    return "\n".join(parts)


def sqlite(packages: list[Package]) -> str:
    """Return the version of SQLite, whose sources are in a crate."""
    (crate,) = (package for package in packages if package["name"] == "libsqlite3-sys")
    header = Path(crate["manifest_path"]).parent / "sqlite3" / "sqlite3.h"
    found = re.search(r'^#define SQLITE_VERSION +"(.*)"$', header.read_text(), re.M)
    if not found:
        raise LookupError(f"{header} has no version")
    return found[1]


def materials(packages: list[Package]) -> str:
    """Return the bill of materials; the same input gives the same text."""
    factory = LicenseFactory()
    manifest = tomli.loads((TOP / "Cargo.toml").read_text())
    bom = Bom()
    bom.metadata.component = Component(
        name="leaseq",
        bom_ref="leaseq",
        version=manifest["workspace"]["package"]["version"],
        type=ComponentType.LIBRARY,
        licenses=[factory.make_from_string("MIT OR Apache-2.0")],
    )
    parts = [
        Component(
            name=package["name"],
            version=package["version"],
            type=ComponentType.LIBRARY,
            purl=PackageURL("cargo", None, package["name"], package["version"]),
            bom_ref=f"{package['name']}@{package['version']}",
            licenses=[factory.make_from_string(licence(package))],
        )
        for package in packages
    ]
    version = sqlite(packages)
    parts.append(
        Component(
            name="sqlite",
            version=version,
            type=ComponentType.LIBRARY,
            purl=PackageURL("generic", None, "sqlite", version),
            bom_ref=f"sqlite@{version}",
            licenses=[factory.make_from_string("blessing")],
        )
    )
    bom.components.update(parts)
    bom.register_dependency(bom.metadata.component, parts)
    made: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    # These differ each time.
    made.pop("serialNumber", None)
    made["metadata"].pop("timestamp", None)
    return json.dumps(made, indent=1, sort_keys=True) + "\n"


def main() -> int:
    """Do what the options say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--licences", type=Path)
    parser.add_argument("--materials", type=Path)
    options = parser.parse_args()
    packages = linked()
    if options.check:
        wrong = [*objections(packages), *needed()]
        print(*wrong, sep=os.linesep, end=os.linesep if wrong else "")
        if wrong:
            return 1
    if options.licences:
        options.licences.write_text(texts(packages))
    if options.materials:
        options.materials.write_text(materials(packages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
