//! Answers over HTTP: is it alive, is it ready, how are the queues.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use leaseq::Backoff;
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::config::Listen;
use crate::escape::escaped;
use crate::overview::Overview;
use crate::{json as shape, metrics};

/// Further connections are closed at once: they must not take the descriptors of the cleaning.
const MAX_CONNECTIONS: usize = 64;
/// How long the head of a request may take, and a connection may rest between two.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long an answer may wait until its client reads any of it.
const READ_TIME: Duration = Duration::from_secs(5);
/// How long a connection may last, however slowly it is read or written.
const LIFETIME: Duration = Duration::from_secs(60);
/// What a request in hand gets at the end.
const GRACE: Duration = Duration::from_secs(1);
/// The longest head of a request.
const MAX_HEAD: usize = 16 << 10;
/// The longest pause after a connection that could not be accepted.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// What answers, if there is an address for it.
pub(crate) struct Server {
    asked: Option<SocketAddr>,
    running: Option<Running>,
}

struct Running {
    address: SocketAddr,
    /// Dropped, it stops the task.
    stop: DropGuard,
    /// Ends with the connections that are still open.
    task: JoinHandle<JoinSet<()>>,
}

impl Server {
    /// Answers from now on.
    pub(crate) async fn start(listen: &Listen, overview: Arc<Overview>) -> std::io::Result<Server> {
        Ok(Server { asked: listen.address(), running: Running::start(listen, overview).await? })
    }

    /// Answers where the setting asks for; after an error, where it did before.
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
        // The two hosts may overlap: its own listener would be in the way.
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
                        tracing::error!(%error, "the old address is lost, so nothing is answered over HTTP until the next reload");
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

    /// Finishes the requests in hand, but waits for no slow client.
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
        let task = tokio::spawn(accept(listener, routes(overview), stop.clone()));
        Ok(Some(Running { address, stop: stop.drop_guard(), task }))
    }

    /// Gives the address up, and returns the connections, which end soon.
    async fn close(self) -> JoinSet<()> {
        drop(self.stop);
        self.task.await.unwrap_or_default()
    }
}

/// Waits for connections that were told to end.
async fn finish(mut connections: JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

/// Takes the address, if there is one to take.
async fn bind(listen: &Listen) -> std::io::Result<Option<TcpListener>> {
    let Some(address) = listen.address() else { return Ok(None) };
    match (TcpListener::bind(address).await, listen) {
        (Ok(listener), _) => Ok(Some(listener)),
        (Err(error), Listen::IfFree(_)) if error.kind() == std::io::ErrorKind::AddrInUse => {
            tracing::warn!(%address, "the address is in use, so nothing is answered over HTTP; --listen names another");
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

/// Answers until it is told to stop.
async fn accept(listener: TcpListener, routes: Router, stop: CancellationToken) -> JoinSet<()> {
    let mut connections = JoinSet::new();
    let mut backoff = Backoff::up_to(MAX_PAUSE);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                backoff.reset();
                if connections.len() < MAX_CONNECTIONS {
                    connections.spawn(serve(stream, routes.clone(), stop.clone()));
                }
            }
            // No descriptor is free, or the client is gone already.
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::select! {
                    () = tokio::time::sleep(backoff.pause()) => {}
                    () = stop.cancelled() => break,
                }
            }
        }
    }
    connections
}

/// Serves one connection.
async fn serve(stream: TcpStream, routes: Router, stop: CancellationToken) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READ_TIME));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(routes));
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = tokio::time::sleep(LIFETIME) => {}
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(GRACE, connection).await;
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

/// An error if the server does not answer, and nothing for a queue that cannot be counted: nobody
/// should scale to nothing by that.
async fn queues(State(overview): State<Arc<Overview>>) -> Response {
    let snapshot = overview.snapshot().await;
    let queues: Map<String, Value> = snapshot
        .counts
        .iter()
        .map(|(queue, counts)| (queue.clone(), shape::counts(counts)))
        .collect();
    let failing: Map<String, Value> = snapshot
        .queues
        .iter()
        .filter_map(|(queue, state)| Some((queue.clone(), state.failure()?.into())))
        .collect();
    let mut body = json!({ "queues": queues });
    for (key, why) in [("uncounted", json!(snapshot.uncounted)), ("failing", failing.into())] {
        if why.as_object().is_some_and(|queues| !queues.is_empty()) {
            body[key] = why;
        }
    }
    let mut status = StatusCode::OK;
    if let Some(error) = &snapshot.error {
        body["error"] = error.as_str().into();
        status = StatusCode::SERVICE_UNAVAILABLE;
    }
    let text = escaped(&body.to_string()).into_owned();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}
