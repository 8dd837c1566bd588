"""Web frameworks, Django's own tasks, and OpenTelemetry."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from leaseq.jobs import Job, Jobs, Retry
from leaseq.opentelemetry import trace
from leaseq.testing import run_until_idle

EXAMPLES = Path(__file__).parents[2] / "examples" / "web-frameworks"
WORKER = """
import subprocess, sys
def work(*jobs, statuses=(0,)):
    command = [sys.executable, "-m", "leaseq.jobs", *jobs, "--burst"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode in statuses, (done.returncode, done.stderr)
"""
FASTAPI = """
from fastapi.testclient import TestClient
from fastapi_app import app
with TestClient(app) as client:
    assert client.get("/welcome/nothing").status_code == 404
    added = client.post("/welcome?to=ada")
    assert added.status_code == 202
    where = f"/welcome/{added.json()['id']}"
    print(client.get(where).json())
    work("tasks:jobs")
    print(client.get(where).json())
"""
FLASK = """
from flask_app import app
client = app.test_client()
assert client.get("/welcome/nothing").status_code == 404
added = client.post("/welcome?to=ada")
assert added.status_code == 202
where = f"/welcome/{added.json['id']}"
print(client.get(where).json)
work("tasks:jobs")
print(client.get(where).json)
"""
DJANGO = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "django_app"
import django
django.setup()
from django.test import Client
client = Client()
added = client.get("/welcome?to=ada")
assert added.status_code == 202
where = f"/welcome/{added.json()['id']}"
print(client.get(where).json())
work("leaseq.django:jobs")
print(client.get(where).json())
"""
DJANGO_MORE = """
import os, time
os.environ["DJANGO_SETTINGS_MODULE"] = "django_app"
import asyncio, django
django.setup()
from datetime import timedelta
from django.utils import timezone
from django_tasks_of_app import double, fail, welcome
try:
    from django.tasks.exceptions import InvalidTask as InvalidTaskError, TaskResultDoesNotExist
except ImportError:
    from django_tasks.exceptions import InvalidTaskError, TaskResultDoesNotExist
failed, doubled = fail.enqueue(7), asyncio.run(double.using(priority=100).aenqueue(number=4))
later = welcome.using(run_after=timezone.now() + timedelta(hours=1)).enqueue("ada")
assert (doubled.status, doubled.attempts) == ("READY", 0)
work("leaseq.django:jobs")
until = time.monotonic() + 30
while failed.status != "FAILED" and time.monotonic() < until:
    # Until the retry is due, there is nothing to do.
    work("leaseq.django:jobs", statuses=(0, 3)) if failed.attempts < 2 else None
    failed.refresh()
assert (failed.status, failed.attempts) == ("FAILED", 2)
assert failed.errors[0].exception_class is ValueError
assert "number 7, attempt 2" in failed.errors[0].traceback
asyncio.run(doubled.arefresh())
assert (doubled.return_value, doubled.status) == (8, "SUCCESSFUL")
assert doubled.enqueued_at <= doubled.finished_at
later.refresh()
assert later.status == "READY"
for wrong in (lambda: welcome.using(queue_name="other"), lambda: welcome.using(priority=101)):
    try:
        wrong()
    except InvalidTaskError as error:
        print("invalid")
try:
    welcome.get_result("nothing")
except TaskResultDoesNotExist:
    print("does not exist")
"""


def run(code, url):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WORKER + code)],
        cwd=EXAMPLES,
        env={**os.environ, "LEASEQ_URL": url, "PYTHONPATH": str(EXAMPLES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def url(tmp_path):
    return f"sqlite:{tmp_path / 'queue.db'}?synchronous=normal"


@pytest.mark.parametrize("code", [FASTAPI, FLASK], ids=["fastapi", "flask"])
def test_a_web_server_adds_jobs_and_looks_at_them(url, code):
    assert run(code, url) == [
        "{'result': None, 'state': 'ready'}"
        if "flask" in code
        else "{'state': 'ready', 'result': None}",
        "{'result': 'sent to ada', 'state': 'completed'}"
        if "flask" in code
        else "{'state': 'completed', 'result': 'sent to ada'}",
    ]


def test_django_has_its_own_tasks(url):
    assert run(DJANGO, url) == [
        "{'state': 'READY', 'result': None}",
        "{'state': 'SUCCESSFUL', 'result': 'sent to ada'}",
    ]


def test_tasks_of_django_fail_wait_and_are_asynchronous(url):
    assert run(DJANGO_MORE, url) == ["invalid", "invalid", "does not exist"]


def test_spans_of_handlers_are_linked_to_those_of_their_producers(leaseq_client):
    jobs, kept, provider = Jobs(queue="q"), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace(jobs, provider=provider)

    @jobs.job("a", retry=Retry(1))
    def a(job: Job, fails: bool) -> None:
        assert len(job.meta["traceparent"]) == 55
        if fails:
            raise ValueError("boom")

    with provider.get_tracer("test").start_as_current_span("request"):
        ref = a.enqueue(leaseq_client, fails=True)
        jobs.enqueue_many(leaseq_client, [a.new(False), a.new(False)])
    run_until_idle(leaseq_client, jobs)
    spans = {}
    for span in kept.get_finished_spans():
        spans.setdefault(span.name, []).append(span)
    assert {name: len(all_) for name, all_ in spans.items()} == {
        "send a": 1,
        "send": 1,
        "request": 1,
        "process a": 3,
    }
    sent, processed = spans["send a"][0], spans["process a"][0]
    assert sent.parent.span_id == spans["request"][0].context.span_id
    assert processed.parent is None
    assert [link.context.span_id for link in processed.links] == [sent.context.span_id]
    assert processed.attributes == {
        "messaging.system": "leaseq",
        "messaging.operation.type": "process",
        "messaging.destination.name": "q",
        "messaging.message.id": ref.id,
        "leaseq.job": "a",
        "leaseq.attempt": 1,
    }
    assert not processed.status.is_ok
    assert processed.events[0].name == "exception"
    assert spans["process a"][1].links[0].context.span_id == spans["send"][0].context.span_id
