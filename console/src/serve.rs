//! Serves the console, also to slow clients and to many.

use std::net::SocketAddr;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use leaseq::Backoff;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use crate::access::Peer;
use crate::app::{App, Options};
use crate::routes;

/// Further connections are closed at once.
const MAX_CONNECTIONS: usize = 512;
/// Limit for receiving the head of a request, and for an idle connection.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// Limit for a client to send or read any part.
const PART_TIME: Duration = Duration::from_secs(20);
/// Limit for a whole connection, however slow the client.
const LIFETIME: Duration = Duration::from_secs(300);
/// Time for the current request to finish at shutdown.
const GRACE: Duration = Duration::from_secs(1);
/// Largest head of a request, in bytes.
const MAX_HEAD: usize = 32 << 10;
/// Longest pause after a connection that could not be accepted.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// A console that is ready to be served.
#[derive(Clone)]
pub struct Console(App);

impl Console {
    /// # Errors
    /// If the base path or a pointer of `redact` is none.
    pub fn new(options: Options) -> Result<Console, String> {
        App::new(options).map(Console)
    }

    /// Connects to the server. Need not be called: the first request does it too.
    ///
    /// # Errors
    /// Why it could not connect, and whether trying again may help.
    pub async fn connect(&self) -> Result<(), (String, bool)> {
        self.0.client().await.map(|_| ()).map_err(|failure| (failure.message, failure.retry))
    }

    /// As an axum router, for programs that serve it themselves. Each request must have [`Peer`], the
    /// address of its sender, among its extensions.
    pub fn router(&self) -> Router {
        routes::router(&self.0)
    }
}

/// Serves the console until `stop` is cancelled, then gives the current requests a second.
pub async fn serve(console: Console, listener: TcpListener, stop: CancellationToken) {
    let routes = console.router();
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
                if connections.len() < MAX_CONNECTIONS {
                    connections.spawn(connection(stream, peer, routes.clone(), stop.clone()));
                }
            }
            // No descriptor is free, or the client has already gone.
            Err(_) => tokio::select! {
                () = tokio::time::sleep(backoff.pause()) => {}
                () = stop.cancelled() => break,
            },
        }
    }
    while connections.join_next().await.is_some() {}
    console.0.close().await;
}

async fn connection(stream: TcpStream, peer: SocketAddr, routes: Router, stop: CancellationToken) {
    let routes = routes.layer(Extension(Peer(peer)));
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(PART_TIME));
    stream.set_read_timeout(Some(PART_TIME));
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
