"""Servers and processes for the tests; nothing outlives them."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loops import PATIENCE
from loops import run as run  # the fixture

import leaseq
from leaseq.testing import leaseq_client as leaseq_client  # fixtures
from leaseq.testing import leaseq_clock as leaseq_clock

# A shell without job control ignores Ctrl-C in its background processes, and the programs of the
# tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def eventually(condition: Callable[[], object], what: str = "the condition") -> None:
    """Wait until the condition holds."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"{what} does not come true"
        time.sleep(0.005)


class RedisServer:
    """A server of its own, on a free port of the loopback interface."""

    def __init__(self, folder: Path, *options: str) -> None:
        binary = os.environ.get("LEASEQ_REDIS_SERVER", "redis-server")
        for _ in range(20):
            # Not a port of the range for outgoing connections, which any process might take.
            self.port = random.randrange(22_000, 32_000)
            self.process = subprocess.Popen(
                [
                    binary,
                    "--port",
                    str(self.port),
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--dir",
                    str(folder),
                    *options,
                ],
                stdout=subprocess.DEVNULL,
            )
            if self._answers():
                return
            self.stop()
        raise AssertionError("no redis-server starts")

    def _answers(self) -> bool:
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < until:
            try:
                info = self.command("INFO", "server")
            except OSError:
                time.sleep(0.01)
            else:
                # Another test may have started a server on this port first.
                return b"process_id" not in info or b"process_id:%d\r" % self.process.pid in info
        return False

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/"

    def command(self, *words: bytes | str) -> bytes:
        """The raw reply to a command."""
        parts = [w.encode() if isinstance(w, str) else w for w in words]
        request = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(p), p) for p in parts)
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            reply = b""
            while part := connection.recv(65536):
                reply += part
            return reply

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start_redis(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Starts further servers, with options."""
    servers = []

    def start(*options: str) -> RedisServer:
        servers.append(RedisServer(tmp_path, *options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def redis_url(redis: RedisServer) -> str:
    """A place of its own on the server."""
    return f"{redis.url}?namespace={uuid.uuid4().hex}"


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place on each engine that several processes can use."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'queue.db'}?synchronous=normal"
    place: str = request.getfixturevalue("redis_url")
    return place


@pytest.fixture
def client(url: str) -> Iterator[leaseq.Client]:
    with leaseq.connect(url) as client:
        yield client


@pytest.fixture
def queue(client: leaseq.Client) -> leaseq.Queue:
    return client.queue("tests")


@pytest.fixture
def filled(queue: leaseq.Queue) -> leaseq.Queue:
    """A queue with four items."""
    assert queue.add_items(leaseq.Item(str(n), id=str(n)) for n in range(4)) == [True] * 4
    return queue


# Python 3.12 and later warn of every fork of a process with threads.
WARNINGS = ["-W", "error", "-W", "ignore:This process:DeprecationWarning"]


class Program:
    """A Python program in a process of its own, which prints lines."""

    def __init__(self, code: str, url: str, folder: Path) -> None:
        script = folder / f"{uuid.uuid4().hex}.py"
        script.write_text(textwrap.dedent(code))
        self.process = subprocess.Popen(
            [sys.executable, "-u", *WARNINGS, str(script)],
            env={**os.environ, "LEASEQ_URL": url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def line(self) -> str:
        """What it says next."""
        assert self.process.stdout is not None
        late = threading.Timer(PATIENCE, self.kill)
        late.start()
        said: str = self.process.stdout.readline().strip()
        late.cancel()
        return said

    def says(self, line: str) -> None:
        said = self.line()
        if said != line:
            self.kill()
            assert self.process.stderr is not None
            raise AssertionError(f"said {said!r}, not {line!r}: {self.process.stderr.read()}")

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ends(self, code: int = 0, within: float = PATIENCE) -> tuple[str, str]:
        """What it said until it ended, and what its errors were."""
        try:
            out, err = self.process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it hangs: {self.process.communicate()}") from None
        assert self.process.returncode == code, (self.process.returncode, out, err)
        return out, err

    def kill(self) -> None:
        # The program and its children are a session of their own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[[str, str], Program]]:
    """Starts programs: `program(code, url)`."""
    started = []

    def start(code: str, url: str) -> Program:
        started.append(Program(code, url, tmp_path))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        with each.process:
            pass  # waits for it, and closes its pipes


assert shutil.which(os.environ.get("LEASEQ_REDIS_SERVER", "redis-server")), "no redis-server"
