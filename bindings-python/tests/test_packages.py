"""The wheel and the source package install into an empty environment, and the book is true."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import leaseq

PACKAGE = Path(__file__).parents[1]
BOOK = (PACKAGE.parent / "docs" / "first-queue.md").read_text()
SENT = ["sending b'your order'", "sending b'hello'"]


def run(*command, cwd, **more):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LEASEQ_URL")}
    # What the source package depends on is compiled already, for the package under test.
    target = os.environ.get("CARGO_TARGET_DIR", str(PACKAGE.parent / "target"))
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**environment, "MATURIN_PEP517_ARGS": "--profile dev", "CARGO_TARGET_DIR": target},
        capture_output=True,
        text=True,
        check=False,
        **more,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source package."""
    folder = tmp_path_factory.mktemp("built")
    maturin = (sys.executable, "-m", "maturin")
    run(*maturin, "build", "-q", "--profile", "dev", "--out", folder, cwd=PACKAGE)
    run(*maturin, "sdist", "--out", folder, cwd=PACKAGE)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


def environment(folder, package):
    """A Python with nothing but the package."""
    venv.create(folder / ".venv", with_pip=True)
    python = folder / ".venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", package, cwd=folder)
    return python


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    return environment(tmp_path_factory.mktemp("wheel"), built[0])


def test_one_wheel_serves_every_python_from_3_10(built):
    assert re.fullmatch(r"leaseq-.*-cp310-abi3-.*linux.*\.whl", built[0].name)
    names = zipfile.ZipFile(built[0]).namelist()
    ours = {name for name in names if name.startswith("leaseq/")}
    files = ["__init__", "_blocking", "_only_asyncio", "_only_blocking", "_process", "_stop"]
    files += [
        "_events",
        "_follow_ups",
        "_gevent",
        "_groups",
        "_history",
        "_values",
        "_workers",
        "asyncio",
        "demo",
        "django",
        "exceptions",
    ]
    files += ["opentelemetry", "testing"]
    names = ["__init__", "_async_worker", "_context", "_decode", "_encode", "_enqueue", "_errors"]
    names += ["_event_loop", "_exit", "_jobs", "_options", "_ref", "_report", "_retry", "_run"]
    names += ["__main__", "_arguments", "_around", "_child", "_child_signals", "_child_task"]
    names += ["_children", "_job_events", "_job_group", "_job_type"]
    names += ["_command", "_connection", "_inline", "_load", "_schedules"]
    names += ["_local_task", "_logging", "_progress", "_reload"]
    names += ["_settings", "_signals", "_signature", "_threads", "_worker"]
    files += [f"jobs/{name}" for name in names]
    assert ours == {
        *(f"leaseq/{name}.py" for name in files),
        "leaseq/_leaseq.pyi",
        "leaseq/_leaseq.abi3.so",
        "leaseq/py.typed",
    }


def test_the_source_package_installs(built, tmp_path):
    names = tarfile.open(built[1]).getnames()
    assert any(name.endswith("core/src/lib.rs") for name in names)
    python = environment(tmp_path, built[1])
    code = "import leaseq; print(leaseq.connect('memory:').queue('q').add_item('x'))"
    assert run(python, "-c", code, cwd=tmp_path) == "True\n"


def book_examples():
    """The blocking one, and that for asyncio."""
    return re.findall(r"```python\n(.*?)```", BOOK, re.DOTALL)


@pytest.mark.parametrize("number", [0, 1])
def test_the_book_is_true(installed, tmp_path, redis_url, number):
    program = book_examples()[number]
    assert program.count("sqlite:jobs.db") == 1
    for place in ("sqlite:jobs.db", "memory:", redis_url):
        script = tmp_path / "first.py"
        script.write_text(program.replace("sqlite:jobs.db", place))
        assert run(installed, "first.py", cwd=tmp_path).splitlines() == SENT
    # A file keeps its queue, and the queue is empty.
    assert run(installed, "first.py", cwd=tmp_path).splitlines() == SENT


def test_the_package_readme_is_true(installed, tmp_path):
    programs = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    for name, program in zip(("first", "tasks", "add"), programs, strict=True):
        (tmp_path / f"{name}.py").write_text(program)
    assert run(installed, "first.py", cwd=tmp_path) == "b'hello'\n"
    command = ["-m", "leaseq.jobs", "tasks:jobs", "--url", "sqlite:jobs.db", "--max-jobs", "1"]
    worker = subprocess.Popen(
        [installed, *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert run(installed, "add.py", cwd=tmp_path) == "welcome, ada\n"
    assert "a worker for welcome at sqlite:jobs.db" in worker.communicate()[1]
    assert worker.returncode == 0


def test_the_worker_of_the_demo_follows_its_orders(url, tmp_path):
    results = tmp_path / "results"
    with leaseq.connect(url) as client:
        queue = client.queue("q")
        worker = subprocess.Popen(
            [sys.executable, "-m", "leaseq.demo", "q", str(results), "1000", "4"],
            env={**os.environ, "LEASEQ_URL": url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

        def tell(order):
            worker.stdin.write(order + "\n")
            worker.stdin.flush()

        def says():
            return worker.stdout.readline().strip()

        try:
            assert says() == "resting"
            tell("go")
            queue.add_items(leaseq.Item(str(n), id=str(n)) for n in range(20))
            asyncio.run(drained(url))
            tell("rest")
            assert says() == "resting"
            queue.add_items(leaseq.Item(str(n), id=str(n)) for n in range(20, 24))
            tell("hold")
            held = int(says().removeprefix("holding "))
            assert says() == "quiet"
            assert queue.processing() == held >= 1
            tell("go")
            asyncio.run(drained(url))
            tell("quit")
            assert worker.wait(30) == 0
        finally:
            worker.kill()
            worker.communicate()
    notes = [json.loads(line) for line in results.read_text().splitlines()]
    completed = [note["id"] for note in notes if note.get("completed")]
    assert sorted(completed, key=int) == [str(n) for n in range(24)]
    assert len([note for note in notes if "sha256" in note]) == 24


async def drained(url):
    async with await leaseq.asyncio.connect(url) as client:
        queue = client.queue("q")
        while (counts := await queue.counts()).ready + counts.leased:
            await asyncio.sleep(0.01)


def test_the_benchmark_runs(tmp_path):
    out = tmp_path / "bench.json"
    said = run(sys.executable, "bench/run.py", "--quick", "--json", out, cwd=PACKAGE)
    assert "the figures mean nothing" in said
    record = json.loads(out.read_text())
    assert record["quick"] is True
    said_of_each = {"target", "what", "figure", "unit", "limit", "bound", "held", "note"}
    said_of_each |= {"server", "persistence", "data", "concurrency"}
    assert said_of_each == set(record["figures"][0])
    assert all(figure["figure"] > 0 for figure in record["figures"])
