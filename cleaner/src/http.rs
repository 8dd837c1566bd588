//! The HTTP server: health, readiness, metrics and the queues.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use leaseq_report::http::{self, Limits};
use leaseq_report::{QueueCounts, escaped};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::config::Listen;
use crate::metrics;
use crate::overview::Overview;

/// Few connections leave descriptors for the cleaning.
const LIMITS: Limits = Limits {
    connections: 64,
    head_time: Duration::from_secs(5),
    send_time: None,
    read_time: Duration::from_secs(5),
    lifetime: Duration::from_secs(60),
    head: 16 << 10,
};

/// The server, if an address is configured.
pub(crate) struct Server {
    asked: Option<SocketAddr>,
    running: Option<Running>,
}

struct Running {
    address: SocketAddr,
    /// Stops the task when dropped.
    stop: DropGuard,
    /// Returns the connections that are still open.
    task: JoinHandle<JoinSet<()>>,
}

impl Server {
    /// Starts to listen.
    pub(crate) async fn start(listen: &Listen, overview: Arc<Overview>) -> std::io::Result<Server> {
        Ok(Server { asked: listen.address(), running: Running::start(listen, overview).await? })
    }

    /// Moves to the address of the setting; after an error, it stays at the old address.
    pub(crate) async fn move_to(
        &mut self,
        listen: &Listen,
        overview: Arc<Overview>,
    ) -> std::io::Result<()> {
        let asked = listen.address();
        if self.asked == asked && self.running.is_some() == asked.is_some() {
            return Ok(());
        }
        let is_on_port =
            |old: &mut Running| asked.is_some_and(|new| new.port() == old.address.port());
        let Some(old) = self.running.take_if(is_on_port) else {
            let mut new = Server::start(listen, overview).await?;
            std::mem::swap(self, &mut new);
            new.stop().await;
            return Ok(());
        };
        // The hosts may overlap: the old listener could block the new one.
        let address = old.address;
        let connections = old.close().await;
        let moved = match Running::start(listen, overview.clone()).await {
            Ok(running) => {
                *self = Server { asked, running };
                Ok(())
            }
            Err(error) => {
                match Running::start(&Listen::At(address), overview).await {
                    Ok(running) => self.running = running,
                    Err(error) => {
                        tracing::error!(%error, "the old address is lost too, so there is no HTTP server until the next reload");
                    }
                }
                Err(error)
            }
        };
        finish(connections).await;
        moved
    }

    pub(crate) fn shown(&self) -> String {
        self.running.as_ref().map_or_else(|| "none".into(), |running| running.address.to_string())
    }

    /// Finishes current requests, but does not wait for slow clients.
    pub(crate) async fn stop(self) {
        if let Some(running) = self.running {
            finish(running.close().await).await;
        }
    }
}

impl Running {
    async fn start(listen: &Listen, overview: Arc<Overview>) -> std::io::Result<Option<Running>> {
        let Some(listener) = bind(listen).await? else { return Ok(None) };
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let routes = routes(overview);
        let failed = |error| tracing::debug!(%error, "could not accept a connection");
        let serving = http::serve(listener, LIMITS, move |_| routes.clone(), failed, stop.clone());
        let task = tokio::spawn(serving);
        Ok(Some(Running { address, stop: stop.drop_guard(), task }))
    }

    /// Closes the listener, and returns the connections, which end soon.
    async fn close(self) -> JoinSet<()> {
        drop(self.stop);
        self.task.await.unwrap_or_default()
    }
}

/// Waits for connections that are shutting down.
async fn finish(mut connections: JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

/// Binds the address, if one is configured.
async fn bind(listen: &Listen) -> std::io::Result<Option<TcpListener>> {
    let Some(address) = listen.address() else { return Ok(None) };
    match (TcpListener::bind(address).await, listen) {
        (Ok(listener), _) => Ok(Some(listener)),
        (Err(error), Listen::IfFree(_)) if error.kind() == std::io::ErrorKind::AddrInUse => {
            tracing::warn!(%address, "the address is in use, so there is no HTTP server; choose another with --listen");
            Ok(None)
        }
        (Err(error), _) => {
            Err(std::io::Error::new(error.kind(), format!("listen on {address}: {error}")))
        }
    }
}

fn routes(overview: Arc<Overview>) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/queues.json", get(queues))
        .with_state(overview)
}

async fn ready(State(overview): State<Arc<Overview>>) -> Response {
    match overview.ready().await {
        Ok(lines) => format!("{lines}\n").into_response(),
        Err(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", escaped(&why))).into_response()
        }
    }
}

async fn metrics(State(overview): State<Arc<Overview>>) -> Response {
    let snapshot = overview.snapshot().await;
    match overview.metrics.encode(snapshot) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns an error if the server does not respond, and omits queues that cannot be counted, so
/// that no autoscaler scales to zero because of a failure.
async fn queues(State(overview): State<Arc<Overview>>) -> Response {
    let snapshot = overview.snapshot().await;
    let queues: BTreeMap<&str, QueueCounts<'_>> = snapshot
        .counted
        .counts
        .iter()
        .map(|(queue, counts)| (queue.as_str(), QueueCounts::from(counts)))
        .collect();
    let failing: Map<String, Value> = snapshot
        .queues
        .iter()
        .filter_map(|(queue, state)| Some((queue.clone(), state.failure()?.into())))
        .collect();
    let mut body = json!({ "queues": queues });
    for (key, why) in
        [("uncounted", json!(snapshot.counted.uncounted)), ("failing", failing.into())]
    {
        if why.as_object().is_some_and(|queues| !queues.is_empty()) {
            body[key] = why;
        }
    }
    let mut status = StatusCode::OK;
    if let Some(error) = &snapshot.counted.error {
        body["error"] = error.as_str().into();
        status = StatusCode::SERVICE_UNAVAILABLE;
    }
    let text = escaped(&body.to_string()).into_owned();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}
