"""Runs every example of the README and the book, and checks every link of every page.

examples.py says how a page controls its examples, runner.py on which engines they run. The packages
are those in build/, as `make python node c` builds them.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from examples import Example, WrongError, read_examples
from pages import TOP, all_pages, anchors, is_elsewhere, linked, links
from runner import BUILD, Runner
from rust_examples import check_manifest, compile_rust


def check_links() -> list[str]:
    """Find broken links, and pages that the contents do not list."""
    wrong = []
    for page in all_pages():
        for target in links(page):
            if is_elsewhere(target):
                continue
            name, _, anchor = target.partition("#")
            path = linked(page, name) if name else page
            shown = f"{page.relative_to(TOP)}: the link {target}"
            if not path.exists():
                wrong.append(f"{shown} leads nowhere")
            elif anchor and (path.suffix != ".md" or anchor not in anchors(path)):
                wrong.append(f"{shown} names no heading")
    listed = set(links(TOP / "docs" / "README.md"))
    names = {page.name for page in (TOP / "docs").glob("*.md")} - {"README.md"}
    return wrong + [f"docs/README.md does not list {name}" for name in sorted(names - listed)]


def free_port() -> int:
    """Return a port outside the range for outgoing connections, which any process might take."""
    while True:
        port = random.randrange(22_000, 32_000)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a server on a free port of loopback, and yield its URL."""
    port = free_port()
    program = os.environ.get("LEASEQ_REDIS_SERVER", "redis-server")
    command = [
        program,
        "--bind",
        "127.0.0.1",
        "--port",
        str(port),
        "--save",
        "",
        "--dir",
        str(folder),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + 10
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    if server.poll() is not None or time.monotonic() > until:
                        raise WrongError(f"{program} does not start") from None
                    time.sleep(0.02)
            yield f"redis://127.0.0.1:{port}/"
        finally:
            server.terminate()


def run_before(example: Example, named: dict[tuple[Path, str], Example]) -> list[Example]:
    """Return the examples that run before this one, in their order."""
    if not example.after:
        return []
    last = named[example.block.page, example.after]
    return [*run_before(last, named), last]


def run_all(arguments: argparse.Namespace, examples: list[Example]) -> list[str]:
    """Run the examples, and return the failures."""
    named = {(e.block.page, e.name): e for e in examples if e.name}
    wrong: list[str] = []
    BUILD.mkdir(parents=True, exist_ok=True)
    # Below BUILD, because Node.js looks for the package in parent folders.
    with (
        tempfile.TemporaryDirectory(dir=BUILD, prefix="run-") as name,
        ThreadPoolExecutor(6) as pool,
    ):
        folder = Path(name)
        with redis_server(folder) as redis:
            runner = Runner(arguments, redis, folder)
            runner.unpack_node()

            def run(example: Example) -> None:
                try:
                    if example.language == "toml":
                        check_manifest(example)
                        return
                    runner.run(example, run_before(example, named))
                except (WrongError, OSError, KeyError) as error:
                    wrong.append(f"{example.block}: {error}")

            others = [pool.submit(run, e) for e in examples if e.language != "rust"]
            try:
                runner.rust = compile_rust(examples)
            except WrongError as error:
                wrong.append(f"examples in Rust: {error}")
            else:
                others += [pool.submit(run, e) for e in examples if e.language == "rust"]
            for other in others:
                other.result()
    return wrong


def main() -> None:
    """Check everything; the exit status is 1 if anything is wrong."""
    version = subprocess.run(
        [TOP / "packaging/version"], check=True, capture_output=True, text=True
    ).stdout.strip()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="examples of pages whose name has this in it")
    parser.add_argument("--python", type=Path, default=TOP / "build/python/bin/python")
    parser.add_argument("--node", type=Path, default=TOP / f"build/node/leaseq-{version}.tgz")
    parser.add_argument("--node-tools", type=Path, default=TOP / "bindings-node/node_modules")
    parser.add_argument("--c", type=Path, default=TOP / "build/c", help="an installed prefix")
    arguments = parser.parse_args()
    began = time.monotonic()
    missing = [
        path for path in (arguments.python, arguments.node, arguments.c) if not path.exists()
    ]
    if missing:
        sys.exit(f"{missing[0]} is missing: make python node c")
    examples, wrong = read_examples()
    wrong += check_links()
    # All Rust examples need the manifest.
    chosen = [e for e in examples if arguments.only in str(e.block) or e.language == "toml"]
    wrong += run_all(arguments, chosen)
    for line in sorted(wrong):
        print(line, file=sys.stderr)
    seconds = time.monotonic() - began
    print(f"{len(chosen)} examples, {len(all_pages())} pages, {seconds:.0f} s: {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
