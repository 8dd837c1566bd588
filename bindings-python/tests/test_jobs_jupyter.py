"""A worker in a notebook, whose cells run in an event loop that runs already."""

import pytest
from conftest import PATIENCE
from jupyter_client.manager import start_new_kernel

BLOCKING = """
import leaseq
from leaseq.jobs import Job, Jobs, Worker
client = leaseq.connect("memory:")
jobs = Jobs()

@jobs.job("double", retain=60)
def double(job: Job, n: int) -> int:
    job.progress("begun")
    return 2 * n

@jobs.job("adouble", retain=60)
async def adouble(n: int) -> int:
    return 2 * n
"""
# Each a cell, and what it shows.
CELLS = [
    (BLOCKING, None),
    (BLOCKING, None),  # run again, as one does
    ("double.enqueue(client, 21), Worker(client, jobs).run_until_idle().started", " 1)"),
    (
        "with Worker(client, jobs):\n    result = adouble.enqueue(client, 4).result(30)\nresult",
        "8",
    ),
    (
        "worker = Worker(client, jobs); worker.start()\n"
        "double.enqueue(client, 5).result(30, progress=True)",
        "10",
    ),
    ("double.enqueue(client, 6).result(30)", "12"),  # it goes on beside the cells
    ("worker.stop().reason", "'drained'"),
    (
        "from leaseq.jobs import AsyncWorker\n"
        "aclient = await leaseq.asyncio.connect('memory:')\n"
        "ref = await adouble.aenqueue(aclient, 8)\n"
        "async with AsyncWorker(aclient, jobs):\n"
        "    result = await ref.result(30)\n"
        "result",
        "16",
    ),
    # `run` in a cell is ended by the interrupt of the notebook.
    (
        "import os, signal, threading\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "Worker(client, jobs).run().reason",
        "'drained'",
    ),
    ("double.enqueue(client, 1); Worker(client, jobs).run_until_idle().started", "1"),
    ("await aclient.close(); client.close()", None),
]


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    manager, client = start_new_kernel(startup_timeout=PATIENCE, cwd=str(tmp_path))
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_workers_run_in_cells_and_beside_them(kernel):
    for code, expected in CELLS:
        said = []
        reply = kernel.execute_interactive(code, timeout=PATIENCE, output_hook=said.append)
        shown = [one["content"] for one in said]
        assert reply["content"]["status"] == "ok", (code, shown)
        results = [
            one["data"]["text/plain"] for one in shown if "execution_count" in one and "data" in one
        ]
        if expected is not None:
            assert len(results) == 1
            assert results[0].endswith(expected), (code, shown)
