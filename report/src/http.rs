//! Serves HTTP, also to slow clients and to many.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use leaseq::Backoff;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// Time for the current request to finish at shutdown.
const GRACE: Duration = Duration::from_secs(1);
/// Longest pause after a connection that could not be accepted.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// What clients may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Further connections are closed at once.
    pub connections: usize,
    /// For receiving the head of a request, and for an idle connection.
    pub head_time: Duration,
    /// For a client to send any part of a request, while it is also waiting for the answer.
    pub send_time: Option<Duration>,
    /// For a client to read any part of an answer.
    pub read_time: Duration,
    /// For a whole connection, however slow the client.
    pub lifetime: Duration,
    /// Largest head of a request, in bytes.
    pub head: usize,
}

/// Accepts connections until `stop` is cancelled. Returns those that are still open, which end in about a second: whoever
/// drops them ends them at once. `routes` gets the address of a client, `failed` why one could not be accepted.
pub async fn serve(
    listener: TcpListener,
    limits: Limits,
    routes: impl Fn(SocketAddr) -> Router,
    failed: impl Fn(std::io::Error),
    stop: CancellationToken,
) -> JoinSet<()> {
    let mut connections = JoinSet::new();
    let mut backoff = Backoff::up_to(MAX_PAUSE);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                backoff.reset();
                if connections.len() < limits.connections {
                    connections.spawn(connection(stream, limits, routes(peer), stop.clone()));
                }
            }
            // No descriptor is free, or the client has already gone.
            Err(error) => {
                failed(error);
                tokio::select! {
                    () = tokio::time::sleep(backoff.pause()) => {}
                    () = stop.cancelled() => break,
                }
            }
        }
    }
    connections
}

async fn connection(stream: TcpStream, limits: Limits, routes: Router, stop: CancellationToken) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.read_time));
    stream.set_read_timeout(limits.send_time);
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(routes));
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = tokio::time::sleep(limits.lifetime) => {}
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(GRACE, connection).await;
}
