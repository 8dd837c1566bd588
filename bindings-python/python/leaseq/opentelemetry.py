"""Traces of jobs: a span for each enqueue and for each run of a handler, linked to each other.

Needs the package `opentelemetry-api`, as in `pip install leaseq[opentelemetry]`.

    from leaseq.opentelemetry import trace

    jobs = Jobs()
    trace(jobs)

A job carries the context of the span in which it was enqueued. The span of a handler is the root of
a trace of its own, with a link to that context: a job may run days later, and several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    SpanKind,
    TracerProvider,
    get_current_span,
    get_tracer,
)

from .jobs import Job, Jobs, NewJob

__all__ = ["trace"]


def trace(*jobs: Jobs, provider: TracerProvider | None = None) -> None:
    """Make spans for these jobs, where they are enqueued and in workers, children included.

    `provider`: default: the one that the program has set as the global one. The names of spans and
    attributes are those of workers in other languages.
    """
    tracer = get_tracer("leaseq", tracer_provider=provider)

    @contextmanager
    def around_enqueue(new: Sequence[NewJob[Any]]) -> Iterator[None]:
        name = f"send {new[0].name}" if len(new) == 1 else "send"
        attributes: dict[str, str | int] = {
            "messaging.system": "leaseq",
            "messaging.operation.type": "send",
            "messaging.batch.message_count": len(new),
        }
        with tracer.start_as_current_span(name, kind=SpanKind.PRODUCER, attributes=attributes):
            for job in new:
                propagate.inject(job.meta)
            yield

    @contextmanager
    def around_handler(job: Job) -> Iterator[None]:
        producer = get_current_span(propagate.extract(job.meta, Context())).get_span_context()
        attributes: dict[str, str | int] = {
            "messaging.system": "leaseq",
            "messaging.operation.type": "process",
            "messaging.destination.name": job.queue,
            "messaging.message.id": ascii(job.id)[1:-1],
            "leaseq.job": job.name,
            "leaseq.attempt": job.attempt,
        }
        with tracer.start_as_current_span(
            f"process {job.name}",
            context=Context(),
            kind=SpanKind.CONSUMER,
            attributes=attributes,
            links=[Link(producer)] if producer.is_valid else [],
        ):
            yield

    for one in jobs:
        one.around_enqueue(around_enqueue)
        one.around_handler(around_handler)
