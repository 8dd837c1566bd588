//! Answers over HTTP: is it alive, is it ready, how are the queues.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::config::Listen;
use crate::overview::Overview;
use crate::{json as shape, metrics};

/// Takes the address, if there is one to take.
pub(crate) async fn bind(listen: &Listen) -> std::io::Result<Option<TcpListener>> {
    let (Listen::At(address) | Listen::IfFree(address)) = listen else { return Ok(None) };
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

/// Answers until it is told to stop.
pub(crate) async fn serve(listener: TcpListener, overview: Arc<Overview>, stop: CancellationToken) {
    let routes = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/queues.json", get(queues))
        .with_state(overview);
    // Not waited for: a connection that a scraper keeps open must not hold up the end.
    let served = axum::serve(listener, routes).into_future();
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::error!(%error, "no longer answering over HTTP");
        },
        () = stop.cancelled() => {}
    }
}

async fn ready(State(overview): State<Arc<Overview>>) -> Response {
    match overview.ready().await {
        Ok(()) => "ready\n".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
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
    match &snapshot.error {
        None if snapshot.uncounted.is_empty() => Json(json!({ "queues": queues })).into_response(),
        None => {
            let body = json!({ "queues": queues, "uncounted": snapshot.uncounted });
            Json(body).into_response()
        }
        Some(error) => {
            let body = Json(json!({ "error": error, "queues": queues }));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}
