"""Calls of jobs are checked by type checkers."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from typing import assert_type

import leaseq
import leaseq.asyncio as aio
from leaseq.jobs import AsyncJobRef, Job, JobRef, Jobs, NewJob, Retry, Worker

jobs = Jobs(queue="mail")


@jobs.job("mail.send", timeout=30, retry=Retry(5, on=(OSError, "RateLimited")))
async def send(job: Job, to: str, order: int = 1) -> str:
    return to


@jobs.job("image.resize")
def resize(file: str) -> list[int]:
    return []


@jobs.job("tick")
def tick(job: Job) -> None:
    job.progress("1 of 2")


@jobs.job("plain")
async def plain() -> float:
    return 1.0


async def work(client: leaseq.Client, aclient: aio.Client) -> None:
    assert_type(send.enqueue(client, "ada", order=1), JobRef[str])
    assert_type(send.enqueue(client, to="ada"), JobRef[str])
    assert_type(await send.aenqueue(aclient, to="ada"), AsyncJobRef[str])
    assert_type(send.using(delay=60, unique="x").enqueue(client, to="ada").result(1), str)
    assert_type(resize.enqueue(client, "x").result(), list[int])
    assert_type(tick.enqueue(client), JobRef[None])
    assert_type(plain.enqueue(client), JobRef[float])
    assert_type(await (await resize.aenqueue(aclient, "x")).result(), list[int])
    assert_type(resize.new("x"), NewJob[list[int]])
    assert_type(jobs.enqueue_many(client, [resize.new("x")]), list[JobRef[list[int]]])
    jobs.named("pdf.render").enqueue(client, id=7)
    Worker(client, [jobs], queues={"mail": 3}, threads=8)

    send.enqueue(client)  # type: ignore[call-arg]
    send.enqueue(client, to=1)  # type: ignore[arg-type]
    send.enqueue(client, to="ada", oder=1)  # type: ignore[call-arg]
    send.enqueue(client, job=1, to="ada")  # type: ignore[call-arg]
    send.enqueue(aclient, to="ada")  # type: ignore[arg-type]
    await send.aenqueue(client, to="ada")  # type: ignore[arg-type]
    resize.new(b"x")  # type: ignore[arg-type]
    send.using(dely=60)  # type: ignore[call-arg]
    tick.enqueue(client, 1)  # type: ignore[call-arg]
    Worker(aclient, jobs)  # type: ignore[arg-type]
"""


def test_wrong_calls_are_errors_of_mypy(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"MYPYPATH": "", "PATH": str(Path(sys.executable).parent)},
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_wrong_calls_are_errors_of_pyright(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "pyrightconfig.json").write_text('{"reportUnnecessaryTypeIgnoreComment": "error"}')
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
