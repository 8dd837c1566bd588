//! Serves the console, also to slow clients and to many.

use std::time::Duration;

use axum::{Extension, Router};
use leaseq_report::http::{self, Limits};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::access::Peer;
use crate::app::{App, Options};
use crate::routes;

const LIMITS: Limits = Limits {
    connections: 512,
    head_time: Duration::from_secs(20),
    send_time: Some(Duration::from_secs(20)),
    read_time: Duration::from_secs(20),
    lifetime: Duration::from_secs(300),
    head: 32 << 10,
};

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
    let routes = |peer| routes.clone().layer(Extension(Peer(peer)));
    let mut connections = http::serve(listener, LIMITS, routes, |_| (), stop).await;
    while connections.join_next().await.is_some() {}
    console.0.close().await;
}
