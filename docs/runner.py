"""Runs examples, each in a folder of its own, with the packages in the four languages.

Fragments run in memory and on Redis. Programs run on the engine that they name; those that name
`sqlite:jobs.db`, and those in C that take a URL as an argument, run on Redis too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from examples import Example, WrongError
from pages import TOP

BUILD = TOP / "build" / "docs"
FILE, REDIS = "sqlite:jobs.db", "redis://127.0.0.1/"
# How long one example may take, in seconds.
PATIENCE = 60
C_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
CPP_FLAGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]


class Runner:
    """Runs examples in folders of their own."""

    def __init__(self, arguments: argparse.Namespace, redis: str, folder: Path) -> None:
        self.arguments = arguments
        self.redis = redis
        self.folder = folder
        # The program of the examples in Rust, once it is compiled.
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
        endings = {"python": "py", "js": "mjs", "ts": "mts", "c": "c", "cpp": "cpp", "rust": "rs"}
        ending = endings.get(language)
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
        elif language in ("c", "cpp"):
            compiler = ["cc", *C_FLAGS] if language == "c" else ["c++", *CPP_FLAGS]
            prefix = self.arguments.c
            places = [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"]
            execute(
                [*compiler, script.name, "-o", "example", *places, "-lleaseq"],
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

    def unpack_node(self) -> None:
        """Put the package for Node.js, and the TypeScript compiler, where examples find them."""
        modules = BUILD / "node_modules"
        shutil.rmtree(modules, ignore_errors=True)
        modules.mkdir(parents=True)
        with tarfile.open(self.arguments.node) as package:
            for member in package.getmembers():
                member.name = member.name.replace("package/", "leaseq/", 1)
                package.extract(member, modules)
        for name in ("typescript", "@types", "undici-types", "zod"):
            if (tool := self.arguments.node_tools / name).exists():
                (modules / name).symlink_to(tool)


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
