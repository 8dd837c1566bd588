//! Metrics for Prometheus, and the server from which it reads them.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use leaseq::{Error, Result};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::context::Context;
use super::event::Event;
use super::face::Face;
use crate::WorkerCore;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Upper bounds of the times of jobs, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 600.0, 3600.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Job {
    queue: String,
    job: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    queue: String,
    job: String,
    end: &'static str,
}

/// What a worker counts. The names are an interface.
pub(super) struct Metrics {
    registry: Registry,
    waiting_seconds: Family<Job, Histogram, fn() -> Histogram>,
    run_seconds: Family<Job, Histogram, fn() -> Histogram>,
    ended: Family<Ended, Counter>,
    slots: Gauge,
    in_use: Gauge,
    waiting: Gauge,
    throttled: Gauge,
    throttles: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    fn new() -> Metrics {
        let mut registry = Registry::with_prefix("leaseq_worker");
        let new: fn() -> Histogram = || Histogram::new(BUCKETS);
        let [waiting_seconds, run_seconds] = [(); 2].map(|()| Family::new_with_constructor(new));
        let (ended, slots) = (Family::default(), Gauge::default());
        let [in_use, waiting, throttled, throttles] = [(); 4].map(|()| Gauge::default());
        registry.register(
            "waiting_seconds",
            "How long jobs were ready before their handlers started",
            waiting_seconds.clone(),
        );
        registry.register("run_seconds", "How long handlers have run", run_seconds.clone());
        registry.register(
            "jobs",
            "Jobs whose handlers have ended, by what became of them",
            Family::clone(&ended),
        );
        registry.register("slots", "Handlers that may run at the same time", slots.clone());
        registry.register("slots_in_use", "Slots with a job", in_use.clone());
        registry.register("jobs_waiting", "Leased jobs that wait for a slot", waiting.clone());
        registry.register(
            "throttled",
            "1 if nothing is leased because memory is short",
            throttled.clone(),
        );
        registry.register("throttles", "How often the worker was throttled", throttles.clone());
        Metrics {
            registry,
            waiting_seconds,
            run_seconds,
            ended,
            slots,
            in_use,
            waiting,
            throttled,
            throttles,
        }
    }

    /// Counts the start or the end of a handler.
    pub(super) fn count(&self, event: &Event<'_>) {
        let label = |context: &Context| Job {
            queue: context.queue().to_owned(),
            job: context.name().to_owned(),
        };
        match event {
            Event::Started(context) => {
                let waited = context.task().waited().as_secs_f64();
                self.waiting_seconds.get_or_create(&label(context)).observe(waited);
            }
            Event::Ended(context, settled, time) => {
                let label = label(context);
                self.run_seconds.get_or_create(&label).observe(time.as_secs_f64());
                let Job { queue, job } = label;
                self.ended.get_or_create(&Ended { queue, job, end: settled.as_str() }).inc();
            }
            Event::Throttled(_) => {}
        }
    }

    fn encode(&self, core: &WorkerCore) -> std::result::Result<String, fmt::Error> {
        let load = core.load();
        self.slots.set(load.slots as i64);
        self.in_use.set(load.in_use as i64);
        self.waiting.set(load.waiting as i64);
        self.throttled.set(i64::from(load.throttled));
        self.throttles.set(load.throttles as i64);
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

/// Where the metrics of a worker that starts will be served.
pub(super) struct Endpoint {
    listener: TcpListener,
    metrics: Arc<Metrics>,
}

impl Endpoint {
    /// Binds the address, and counts what happens to jobs.
    pub(super) async fn bind(address: SocketAddr, face: &mut Face) -> Result<Endpoint> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| Error::invalid(format_args!("metrics at {address}: {error}")))?;
        let metrics = Arc::new(Metrics::new());
        let counts = metrics.clone();
        face.hooks.push(Arc::new(move |event: &Event<'_>| counts.count(event)));
        Ok(Endpoint { listener, metrics })
    }

    /// Serves them until this is dropped.
    pub(super) fn serve(self, core: &Arc<WorkerCore>) -> Server {
        let state = (self.metrics, Arc::downgrade(core));
        let routes = Router::new().route("/metrics", get(show)).with_state(state);
        Server(tokio::spawn(async move {
            if let Err(error) = axum::serve(self.listener, routes).await {
                tracing::error!(%error, "the metrics are served no longer");
            }
        }))
    }
}

/// Serves the metrics until it is dropped.
pub(super) struct Server(JoinHandle<()>);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn show(State((metrics, core)): State<(Arc<Metrics>, Weak<WorkerCore>)>) -> Response {
    // The worker has ended.
    let Some(core) = core.upgrade() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    match metrics.encode(&core) {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
