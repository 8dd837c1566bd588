"""A backend for Django's tasks (`django.tasks` of Django 6, or the package `django-tasks`).

In the settings:

    TASKS = {
        "default": {
            "BACKEND": "leaseq.django.LeaseqBackend",
            "QUEUES": ["default", "mail"],
            "OPTIONS": {"URL": "redis://127.0.0.1/"},
        }
    }

A worker runs them:

    DJANGO_SETTINGS_MODULE=site.settings python -m leaseq.jobs leaseq.django:jobs \
        --url redis://127.0.0.1/ --queue default --queue mail

| option | is |
|---|---|
| `URL` | where the queues are; default: the environment variable `LEASEQ_URL` |
| `NAMESPACE` | the prefix of all keys on Redis; default `leaseq` |
| `RETAIN` | for how many seconds results are kept; default 1 day |
| `ATTEMPTS` | how often a task that fails is tried; default 10, with growing delays |
| `TIMEOUT` | after how many seconds a task is cancelled; default 1 hour |

Arguments and results are JSON, as Django asks. A task may run more than once: its worker may be
killed. Priorities of -100 to 100 become 0 to 9.
"""

from __future__ import annotations

import builtins
import json
import threading
from datetime import datetime
from typing import Any

import django
from django.apps import apps
from django.db import close_old_connections
from django.utils.module_loading import import_string

from . import _blocking
from ._values import ItemInfo, State
from .jobs import Job, Jobs, Retry

try:
    from django.tasks import base, signals
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.exceptions import TaskResultDoesNotExist
except ImportError:
    from django_tasks import base, signals
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.exceptions import TaskResultDoesNotExist

__all__ = ["LeaseqBackend", "jobs"]

DAY = 86_400
STATUS = {
    State.LEASED: base.TaskResultStatus.RUNNING,
    State.COMPLETED: base.TaskResultStatus.SUCCESSFUL,
    State.DEAD: base.TaskResultStatus.FAILED,
    State.CANCELLED: base.TaskResultStatus.FAILED,
}

jobs = Jobs()
_setup = threading.Lock()


@jobs.job("django.task")
def run(job: Job, path: str, args: list[Any], kwargs: dict[str, Any], backend: str) -> Any:  # noqa: ANN401
    """Run a task of Django."""
    with _setup:
        if not apps.ready:
            django.setup()
    close_old_connections()
    try:
        task = import_string(path).using(backend=backend, queue_name=job.queue)
        result = _result(task, job.id, base.TaskResultStatus.RUNNING, args, kwargs, job.attempt)
        signals.task_started.send(type(task.get_backend()), task_result=result)
        if task.takes_context:
            args = [base.TaskContext(task_result=result), *args]
        return task.call(*args, **kwargs)
    finally:
        close_old_connections()


class LeaseqBackend(BaseTaskBackend):  # type: ignore[misc]
    """Tasks of Django as jobs."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        options = dict(self.options)
        self._url = options.pop("URL", None)
        self._namespace = options.pop("NAMESPACE", None)
        self._job = run.using(
            retain=options.pop("RETAIN", DAY),
            retry=Retry(options.pop("ATTEMPTS", 10)),
            timeout=options.pop("TIMEOUT", 3600),
        )
        if options:
            raise ValueError(f"LeaseqBackend has no option {', '.join(map(repr, options))}")
        self._lock = threading.Lock()
        self._opened: _blocking.Client | None = None

    @property
    def _client(self) -> _blocking.Client:
        with self._lock:
            if self._opened is None:
                self._opened = _blocking.connect(self._url, namespace=self._namespace)
            return self._opened

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        """Add a task."""
        self.validate_task(task)
        job = self._job.using(
            queue=task.queue_name,
            priority=round((task.priority + 100) * 9 / 200),
            due_at=_aware(task.run_after),
        )
        ref = job.enqueue(
            self._client,
            path=task.module_path,
            args=list(args),
            kwargs=dict(kwargs),
            backend=self.alias,
        )
        result = _result(task, ref.id, base.TaskResultStatus.READY, list(args), kwargs, 0)
        signals.task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:  # noqa: ANN401
        """Find a task by the id of its result, also one that has ended and is retained."""
        for name in sorted(self.queues) or self._client.queues():
            info = self._client.queue(name).get(result_id)
            if info is not None:
                return self._found(info, name)
        raise TaskResultDoesNotExist(result_id)

    def _found(self, info: ItemInfo, queue: str) -> Any:  # noqa: ANN401
        told = json.loads(info.data)["args"]
        task = import_string(told["path"]).using(backend=self.alias, queue_name=queue)
        status = STATUS.get(State(info.state), base.TaskResultStatus.READY)
        attempts = info.failures + info.expiries
        attempts += status in (base.TaskResultStatus.RUNNING, base.TaskResultStatus.SUCCESSFUL)
        found = _result(task, info.id, status, told["args"], told["kwargs"], attempts)
        object.__setattr__(found, "enqueued_at", info.added_at)
        object.__setattr__(found, "finished_at", info.ended_at or _died_at(info))
        if info.last_error:
            error = base.TaskError(
                exception_class_path=_class_path(info.last_error), traceback=info.last_error
            )
            found.errors.append(error)
        if info.result is not None:
            object.__setattr__(found, "_return_value", json.loads(info.result))
        return found


def _result(
    task: Any,  # noqa: ANN401
    item_id: str,
    status: Any,  # noqa: ANN401
    args: list[Any],
    kwargs: dict[str, Any],
    attempts: int,
) -> Any:  # noqa: ANN401
    return base.TaskResult(
        task=task,
        id=item_id,
        status=status,
        enqueued_at=None,
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=args,
        kwargs=kwargs,
        backend=task.backend,
        errors=[],
        worker_ids=["leaseq"] * attempts,
    )


def _died_at(info: ItemInfo) -> datetime | None:
    return info.at if info.state == State.DEAD else None


def _class_path(error: str) -> str:
    """Return where the class of an error is, as far as its text tells."""
    name = error.partition(":")[0].partition("\n")[0]
    return f"builtins.{name}" if hasattr(builtins, name) else "leaseq.jobs.JobFailedError"


def _aware(time: datetime | None) -> datetime | None:
    return time.astimezone() if time is not None and time.tzinfo is None else time
