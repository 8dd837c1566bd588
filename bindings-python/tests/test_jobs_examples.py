"""The examples in Python that replace other systems."""

import json
import logging
import os
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from conftest import PATIENCE, eventually

import leaseq
from leaseq.jobs import JobFailedError, Worker
from leaseq.testing import run_until_idle

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    """Imports a module of an example."""

    def load(folder, name):
        monkeypatch.syspath_prepend(str(EXAMPLES / folder))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return __import__(name)

    return load


def test_an_in_process_queue_deduplicates_and_forgets(leaseq_client, leaseq_clock, example, capfd):
    rules = example("res-queue", "res_queue")
    assert rules.produce(leaseq_client, ["a", "b", "a"]) == ["a", "b"]
    assert rules.statistics(leaseq_client)["queued"] == ["a", "b"]
    assert run_until_idle(leaseq_client, rules.jobs) == 2
    assert capfd.readouterr().out == "processing a\nprocessing b\n"
    # Recently processed.
    assert rules.produce(leaseq_client, ["a", "c"]) == ["c"]
    leaseq_clock.advance(31)
    assert rules.produce(leaseq_client, ["a", "c"]) == ["a"]


def test_an_in_process_queue_runs_in_one_program(example):
    rules, stop, seen = example("res-queue", "res_queue"), threading.Event(), []

    def find():
        seen.append(1)
        return [f"rule-{len(seen)}"]

    with leaseq.connect("memory:") as client:
        times = {"every": 0.05, "first_after": 0.01, "stagger": 0.01, "cooldown": 0.01}
        running = threading.Thread(target=rules.run, args=(client, find, stop), kwargs=times)
        running.start()
        queue = client.queue("rules")
        try:
            eventually(lambda: len(queue.list("completed").items) >= 2)
            assert len(rules.statistics(client)["workers"]) == 1
            assert not rules.is_throttled(client)
        finally:
            stop.set()
            running.join()


received = []


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        received.append((self.path, json.loads(data)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_messages_are_retried_scheduled_and_reported(leaseq_client, leaseq_clock, example, caplog):
    messages = example("messages", "messages")
    messages._client = leaseq_client
    caplog.set_level(logging.INFO, "messages")
    queues = dict.fromkeys(messages.PRIORITIES, 1)

    def work():
        return run_until_idle(leaseq_client, messages.jobs, queues=queues, strict_order=True)

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}"
        calls = {"on_completed": f"{here}/ok", "on_failed": f"{here}/failed"}
        first = messages.send(leaseq_client, "ada", "hello", **calls)
        urgent = messages.send(leaseq_client, "ada", "now", priority="high")
        busy = messages.send(leaseq_client, "busy", "hello", **calls)
        later = messages.send(leaseq_client, "ada", "later", after=3600)
        at = datetime.now(timezone.utc) + timedelta(days=2)
        much_later = messages.send(leaseq_client, "ada", "later", at=at)
        assert work() == 4
        assert [first.result(0), urgent.result(0)] == ["5 letters to ada", "3 letters to ada"]
        events = [
            json.loads(record.getMessage())
            for record in caplog.records
            if record.name == "messages"
        ]
        assert [(one["id"], one["event"]) for one in events[:2]] == [
            (urgent.id, "started"),
            (urgent.id, "completed"),
        ]
        assert busy.info().last_error.startswith("RateLimitedError: busy is busy")
        for _ in range(6):
            assert busy.info().state == "delayed"
            leaseq_clock.advance(3600)
            work()
        with pytest.raises(JobFailedError):
            busy.result(0)
        server.shutdown()
    assert later.info() is None  # delivered, and its result forgotten
    assert much_later.info().state == "delayed"
    assert [(path, about["id"]) for path, about in received] == [
        ("/ok", first.id),
        ("/failed", busy.id),
    ]
    assert leaseq_client.queue("default").requeue(busy.id)
    schedules = leaseq_client.queue("default").schedules
    messages.every_morning(leaseq_client, "bob", "good morning")
    leaseq_clock.advance(86_400)
    with Worker(leaseq_client, messages.jobs, queues=queues, threads=1):
        # Whoever waits sees to schedules.
        eventually(lambda: any(schedule.last_id for schedule in schedules()))


def test_each_job_is_isolated_in_a_child(tmp_path):
    folder = EXAMPLES / "isolated-worker"
    environment = {**os.environ, "LEASEQ_URL": f"sqlite:{tmp_path / 'jobs.db'}"}
    command = ["-m", "leaseq.jobs", "tasks:jobs", "--isolation", "fork", "--processes", "2"]
    worker = subprocess.Popen(
        [sys.executable, *command, "--queue", "default", "--queue", "low", "--strict"],
        cwd=folder,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        done = subprocess.run(
            [sys.executable, "add.py"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.stdout == "3\n", done.stderr
        assert "count: " in done.stderr
        with leaseq.connect(environment["LEASEQ_URL"]) as client:
            dead = client.queue("low").list
            eventually(lambda: dead("dead").items)
            assert dead("dead").items[0].last_error.startswith("ChildDied: the child ended with")
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
