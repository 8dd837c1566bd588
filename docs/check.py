"""Runs every example of the README and the book, and checks every link of every page.

A comment above each block controls it:

    <!-- run: PREAMBLE as FILE after FILE => LINE | LINE -->
    <!-- skip: REASON -->

`run` executes the block; the expected output follows `=>`. With a PREAMBLE, the block is a
fragment, which docs/preambles/README.md explains. `as` names the file of the block. `after` names
the file of another example of the page, which runs first, in the same folder. A block without a
comment is an error.

Fragments run in memory and on Redis. Programs run on the engine that they name; those that name
`sqlite:jobs.db`, and those in C that take a URL as an argument, run on Redis too. The packages are
those in build/, as `make python node c` builds them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pages import TOP, Block, all_pages, anchors, blocks, book_pages, is_elsewhere, links

BUILD = TOP / "build" / "docs"
PREAMBLES = TOP / "docs" / "preambles"
FILE, REDIS = "sqlite:jobs.db", "redis://127.0.0.1/"
# How long one example may take, in seconds.
PATIENCE = 60
C_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
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


def check_links() -> list[str]:
    """Find broken links, and pages that the contents do not list."""
    wrong = []
    for page in all_pages():
        for target in links(page):
            if is_elsewhere(target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            shown = f"{page.relative_to(TOP)}: the link {target}"
            if not path.exists():
                wrong.append(f"{shown} leads nowhere")
            elif anchor and (path.suffix != ".md" or anchor not in anchors(path)):
                wrong.append(f"{shown} names no heading")
    listed = set(links(TOP / "docs" / "README.md"))
    names = {page.name for page in (TOP / "docs").glob("*.md")} - {"README.md"}
    return wrong + [f"docs/README.md does not list {name}" for name in sorted(names - listed)]


class Runner:
    """Runs examples in folders of their own."""

    def __init__(self, arguments: argparse.Namespace, redis: str, folder: Path) -> None:
        self.arguments = arguments
        self.redis = redis
        self.folder = folder
        self.rust: Path | None = None

    def urls(self, example: Example) -> list[str]:
        """Return the URLs that the example runs on."""
        if example.preamble is not None:
            return ["memory:", self.redis]
        takes_any = FILE in example.block.code or "argv" in example.block.code
        return [FILE, self.redis] if takes_any else [FILE]

    def run(self, example: Example, before: list[Example]) -> None:
        """Run the example on each URL."""
        for turn, url in enumerate(self.urls(example)):
            if url == self.redis:
                url += f"?namespace=example{example.number}"
            folder = self.folder / f"{example.number}-{turn}"
            folder.mkdir()
            for earlier in before:
                self.run_once(earlier, url, folder)
            printed = self.run_once(example, url, folder)
            if example.out is not None and printed.splitlines() != example.out:
                raise WrongError(f"on {url} it printed {printed.splitlines()}, not {example.out}")

    def run_once(self, example: Example, url: str, folder: Path) -> str:
        """Run the example in this folder, and return its output."""
        language, code = example.block.language, example.code
        environment = {**os.environ, "LEASEQ_URL": url, "LEASEQ_EXAMPLE_URL": url}
        environment.pop("REDIS_URL", None)
        if language != "rust":
            code = code.replace(f"'{FILE}'", f"'{url}'").replace(f'"{FILE}"', f'"{url}"')
            code = code.replace(REDIS, self.redis)
        ending = {"python": "py", "js": "mjs", "ts": "mts", "c": "c", "rust": "rs"}.get(language)
        if ending is None:
            raise WrongError(f"nobody knows how to run {language!r}")
        script = folder / (example.name or f"example{example.number}.{ending}")
        if language != "rust":
            script.write_text(code)
        command: list[str | Path]
        if language == "python":
            command = [self.arguments.python, script.name]
        elif language == "js":
            command = ["node", script.name]
        elif language == "ts":
            tsc = BUILD / "node_modules" / "typescript" / "bin" / "tsc"
            flags = ["--strict", "--target", "es2022", "--module", "node16"]
            execute(["node", tsc, *flags, script.name], folder, environment, patience=600)
            command = ["node", script.with_suffix(".mjs").name]
        elif language == "c":
            prefix = self.arguments.c
            places = [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"]
            execute(
                ["cc", *C_FLAGS, script.name, "-o", "example", *places, "-lleaseq"],
                folder,
                environment,
                patience=600,
            )
            command = ["./example"] if example.preamble else ["./example", url]
        else:
            assert self.rust is not None
            command = [self.rust, str(example.number)]
            # The program is compiled once, for any server.
            environment["LEASEQ_EXAMPLE_REDIS"] = self.redis
        return execute(command, folder, environment)

    def compile_rust(self, examples: list[Example]) -> None:
        """Compile all examples in Rust as one program, which runs an example by its number."""
        manifest, *_ = [e for e in examples if e.language == "toml" and "[package]" in e.code]
        project = BUILD / "rust"
        (project / "src").mkdir(parents=True, exist_ok=True)
        profile = (TOP / "Cargo.toml").read_text()
        profiles = re.findall(r"^\[profile\.dev.*?(?=^\[profile\.release|\Z)", profile, re.M | re.S)
        text = manifest.code.replace("../leaseq/core", str(TOP / "core"))
        # What the examples depend on is compiled already, with these features.
        shared = f'leaseq-features = {{ path = "{TOP / "integration-tests/features"}" }}'
        text = text.replace("[dependencies]\n", f"[dependencies]\n{shared}\n")
        # A workspace of its own, so that the project's Clippy and formatting skip it.
        text += "\n[workspace]\n\n" + "".join(profiles)
        write(project / "Cargo.toml", re.sub(r'name = ".*"', 'name = "leaseq-examples"', text))
        shutil.copyfile(TOP / "Cargo.lock", project / "Cargo.lock")
        main = "fn main() -> std::process::ExitCode {\n"
        main += "    match std::env::args().nth(1).as_deref() {\n"
        modules = ""
        for example in examples:
            if example.language != "rust":
                continue
            code = example.code
            for literal, variable in ((FILE, "URL"), (REDIS, "REDIS")):
                read = f'&std::env::var("LEASEQ_EXAMPLE_{variable}").unwrap()'
                code = code.replace(f'"{literal}"', read)
            module = f"example{example.number}"
            write(project / "src" / f"{module}.in", code)
            modules += (
                f"/// {example.block}\n#[allow(dead_code, unused)]\nmod {module} {{\n"
                f'    include!("{module}.in");\n'
                "    pub fn run() -> std::process::ExitCode {\n"
                "        std::process::Termination::report(main())\n    }\n}\n"
            )
            main += f'        Some("{example.number}") => {module}::run(),\n'
        main += "        _ => std::process::ExitCode::FAILURE,\n    }\n}\n"
        write(project / "src" / "main.rs", modules + main)
        target = os.environ.get("CARGO_TARGET_DIR", str(TOP / "target"))
        environment = {**os.environ, "CARGO_TARGET_DIR": target}
        execute(["cargo", "build", "--quiet"], project, environment, patience=1800)
        triple = os.environ.get("CARGO_BUILD_TARGET", "")
        self.rust = Path(target) / triple / "debug" / "leaseq-examples"

    def unpack_node(self) -> None:
        """Put the package for Node.js, and the TypeScript compiler, where examples find them."""
        modules = BUILD / "node_modules"
        shutil.rmtree(modules, ignore_errors=True)
        modules.mkdir(parents=True)
        with tarfile.open(self.arguments.node) as package:
            for member in package.getmembers():
                member.name = member.name.replace("package/", "leaseq/", 1)
                package.extract(member, modules)
        for name in ("typescript", "@types", "undici-types"):
            if (tool := self.arguments.node_tools / name).exists():
                (modules / name).symlink_to(tool)

    def check_manifest(self, example: Example) -> None:
        """Check that a Cargo.toml names this crate and existing features."""
        features = re.findall(r"features = \[(.*?)\]", example.code.replace("\n", " "))
        known = re.findall(r"^(\w+) = \[", (TOP / "core/Cargo.toml").read_text(), re.MULTILINE)
        if 'leaseq = { path = "../leaseq/core"' not in example.code:
            raise WrongError("it does not depend on ../leaseq/core")
        line = next(line for line in example.code.splitlines() if line.startswith("leaseq ="))
        for names in features if "features = [" in line else []:
            for name in re.findall(r'"(.*?)"', names):
                if name not in known:
                    raise WrongError(f"the crate has no feature {name!r}")


def write(path: Path, text: str) -> None:
    """Write the file only if its text changes, so that cargo does not compile it again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def execute(
    command: list[str | Path], folder: Path, environment: dict[str, str], patience: float = PATIENCE
) -> str:
    """Run a program that must succeed, and return its output."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise WrongError(f"{command[0]} ran for {patience:g} s") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise WrongError(f"{command[0]} ended with {done.returncode}:\n{said}")
    return done.stdout


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a server on a free port of loopback, and yield its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
                        runner.check_manifest(example)
                        return
                    before = [named[example.block.page, example.after]] if example.after else []
                    runner.run(example, before)
                except (WrongError, OSError, KeyError) as error:
                    wrong.append(f"{example.block}: {error}")

            others = [pool.submit(run, e) for e in examples if e.language != "rust"]
            try:
                runner.compile_rust(examples)
            except WrongError as error:
                wrong.append(f"examples in Rust: {error}")
            else:
                others += [pool.submit(run, e) for e in examples if e.language == "rust"]
            for other in others:
                other.result()
    return wrong


def main() -> None:
    """Check everything; the exit status is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="examples of pages whose name has this in it")
    parser.add_argument("--python", type=Path, default=TOP / "build/python/bin/python")
    parser.add_argument("--node", type=Path, default=TOP / "build/node/leaseq-0.1.0.tgz")
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
