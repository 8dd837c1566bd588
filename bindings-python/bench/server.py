"""A Redis server of the benchmark's own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

REDIS = os.environ.get("LEASEQ_REDIS_SERVER", "redis-server")


@contextmanager
def server() -> Iterator[int]:
    """Start one on a free port, without persistence."""
    folder = tempfile.mkdtemp()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [REDIS, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > until or process.poll() is not None:
                    raise
                time.sleep(0.01)
        yield port
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def clear(port: int) -> None:
    """Make it empty."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"FLUSHALL\r\n")
        assert connection.recv(64).startswith(b"+OK")


def version() -> str:
    """Say which it is."""
    said = subprocess.run([REDIS, "--version"], capture_output=True, text=True, check=True).stdout
    return next((word[2:] for word in said.split() if word.startswith("v=")), "?")
