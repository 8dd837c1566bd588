//! Traces with OpenTelemetry: a span for each enqueue and for each run of a handler, linked to each other.

use std::collections::BTreeMap;

use async_trait::async_trait;
use leaseq::Result;
use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::trace::{
    FutureExt, Link, SpanKind, Status, TraceContextExt, Tracer, TracerProvider,
};
use opentelemetry::{Context as Trace, KeyValue, global};

use crate::{
    Context, EnqueueMiddleware, EnqueueNext, JobError, JobRef, Middleware, NewJob, Next, Output,
};

/// Middleware that makes spans, by the provider and the propagator that the program has set as global ones. For workers
/// and producers: `Worker::middleware(OpenTelemetry)`, `Producer::middleware(OpenTelemetry)`.
///
/// A producer attaches the context of its span to the jobs. The span of a handler is the root of a trace of its own, with a
/// link to that context: a job may run days later, and several times.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenTelemetry;

fn tracer() -> impl Tracer<Span = global::BoxedSpan> {
    global::tracer_provider().tracer("leaseq")
}

#[async_trait]
impl Middleware for OpenTelemetry {
    async fn handle(&self, job: &Context, next: Next<'_>) -> std::result::Result<Output, JobError> {
        let producer = global::get_text_map_propagator(|propagator| {
            propagator.extract_with_context(&Trace::new(), &Meta(job.meta()))
        });
        let producer = producer.span().span_context().clone();
        let tracer = tracer();
        let mut span = tracer
            .span_builder(format!("process {}", job.name()))
            .with_kind(SpanKind::Consumer)
            .with_attributes([
                KeyValue::new("messaging.system", "leaseq"),
                KeyValue::new("messaging.operation.type", "process"),
                KeyValue::new("messaging.destination.name", job.queue().to_owned()),
                KeyValue::new("messaging.message.id", job.id().escape_ascii().to_string()),
                KeyValue::new("leaseq.job", job.name().to_owned()),
                KeyValue::new("leaseq.attempt", i64::from(job.attempt())),
            ]);
        if producer.is_valid() {
            span = span.with_links(vec![Link::with_context(producer)]);
        }
        let trace = Trace::new().with_span(span.start_with_context(&tracer, &Trace::new()));
        let ended = next.run(job).with_context(trace.clone()).await;
        if let Err(error) = &ended {
            trace.span().set_status(Status::error(error.to_string()));
        }
        trace.span().end();
        ended
    }
}

#[async_trait]
impl EnqueueMiddleware for OpenTelemetry {
    async fn enqueue(&self, jobs: Vec<NewJob>, next: EnqueueNext<'_>) -> Result<Vec<JobRef>> {
        let name = match &jobs[..] {
            [job] => format!("send {}", job.name()),
            _ => "send".to_owned(),
        };
        let tracer = tracer();
        let span = tracer
            .span_builder(name)
            .with_kind(SpanKind::Producer)
            .with_attributes([
                KeyValue::new("messaging.system", "leaseq"),
                KeyValue::new("messaging.operation.type", "send"),
                KeyValue::new("messaging.batch.message_count", jobs.len() as i64),
            ])
            .start(&tracer);
        let trace = Trace::current_with_span(span);
        let mut meta = NewMeta::default();
        global::get_text_map_propagator(|propagator| {
            propagator.inject_context(&trace, &mut meta);
        });
        let attach = |job: NewJob| {
            meta.0.iter().fold(job, |job, (key, value)| job.meta(key.clone(), value.clone()))
        };
        let added =
            next.run(jobs.into_iter().map(attach).collect()).with_context(trace.clone()).await;
        if let Err(error) = &added {
            trace.span().set_status(Status::error(error.to_string()));
        }
        trace.span().end();
        added
    }
}

struct Meta<'a>(&'a BTreeMap<String, String>);

impl Extractor for Meta<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

#[derive(Default)]
struct NewMeta(BTreeMap<String, String>);

impl Injector for NewMeta {
    fn set(&mut self, key: &str, value: String) {
        self.0.insert(key.to_owned(), value);
    }
}
