//! A TCP proxy that distinguishes commands and replies, and discards them on request.

mod connection;
mod faults;
mod resp;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

pub use faults::Then;
use faults::{Faults, Open, Reach};

use crate::eventually_blocking;
use crate::port::Port;

/// A proxy on a loopback port in front of a server on another, with faults to switch on.
///
/// The proxy runs on a thread of its own, so it continues while a test blocks its thread or stops the
/// clock of its runtime. Faults affect every byte that is forwarded after the call returns. It supports
/// plain RESP 2 and 3: no `MONITOR`, no `CLIENT REPLY OFF`; confirmations of `SUBSCRIBE` and similar
/// commands are never discarded. For everything else, such as TLS, use
/// [`start_opaque`](Self::start_opaque).
pub struct Proxy {
    faults: Arc<Faults>,
    port: Port,
    upstream: u16,
    accepting: Mutex<Option<JoinHandle<()>>>,
    runtime: Option<Runtime>,
}

impl Proxy {
    /// A proxy without faults in front of `127.0.0.1:upstream_port`.
    pub async fn start(upstream_port: u16) -> Self {
        Self::start_blocking(upstream_port)
    }

    /// [`start`](Self::start) for code without a runtime.
    pub fn start_blocking(upstream_port: u16) -> Self {
        Self::start_as(upstream_port, false)
    }

    /// A proxy that forwards bytes unchanged, for code without a runtime. It knows no commands, so it counts
    /// none and cannot [`drop_replies`](Self::drop_replies). All other faults work on bytes.
    pub fn start_opaque(upstream_port: u16) -> Self {
        Self::start_as(upstream_port, true)
    }

    fn start_as(upstream_port: u16, opaque: bool) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("proxy")
            .enable_all()
            .build()
            .expect("a thread can be started");
        let (port, listener) = Port::listen();
        let proxy = Self {
            faults: Arc::new(Faults::new(opaque)),
            port,
            upstream: upstream_port,
            accepting: Mutex::default(),
            runtime: Some(runtime),
        };
        proxy.accept(listener);
        proxy
    }

    /// `redis://127.0.0.1:PORT/`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port())
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The server executes the next `n` commands that `matches` accepts, but their replies are discarded.
    /// `matches` gets a command's name and arguments as sent: for a script `EVALSHA`, its hash, the number of
    /// keys and so on. It must not call the proxy.
    ///
    /// Several calls add up; a command counts for the first one that accepts it.
    pub fn drop_replies(
        &self,
        matches: impl Fn(&[Vec<u8>]) -> bool + Send + 'static,
        n: usize,
        then: Then,
    ) {
        self.faults.add_drops(Box::new(matches), n, then);
    }

    /// Cancels [`drop_replies`](Self::drop_replies) for commands that have not arrived yet.
    pub fn keep_replies(&self) {
        self.faults.clear_drops();
    }

    /// From now on existing connections carry nothing in either direction, and stay open even if the server
    /// closes. New connections work.
    pub fn black_hole(&self) {
        let opened = self.connections_opened();
        self.faults.reach.send_modify(|reach| reach.hole_below = opened);
    }

    /// Whether connections made from now on are accepted into a black hole.
    pub fn black_hole_new(&self, on: bool) {
        let opened = self.connections_opened();
        self.faults.reach.send_modify(|reach| reach.hole_from = on.then_some(opened));
    }

    /// Ends every black hole. As after a network partition, delayed bytes then arrive.
    pub fn heal(&self) {
        self.faults.reach.send_modify(|reach| {
            *reach = Reach { hole_below: 0, hole_from: None, ..*reach };
        });
    }

    /// From now on existing connections discard everything from the server, while commands still arrive and
    /// are executed. That lasts until they are closed, because a stream with a gap is useless. New
    /// connections work.
    pub fn mute(&self) {
        let opened = self.connections_opened();
        self.faults.reach.send_modify(|reach| reach.mute_below = opened);
    }

    /// Resets every existing connection.
    pub fn close_all(&self) {
        let opened = self.connections_opened();
        self.faults.reach.send_modify(|reach| reach.reset_below = opened);
    }

    /// Whether new connections are refused, as on a port without a listener. Existing connections continue.
    pub fn refuse(&self, on: bool) {
        let accepting = self.accepting.lock().unwrap().take();
        if let Some(task) = accepting {
            task.abort();
            // The listener closes when the task has ended, which takes microseconds.
            assert!(eventually_blocking(Duration::from_secs(5), || task.is_finished()));
        }
        if !on {
            let mut listener = None;
            assert!(
                eventually_blocking(Duration::from_secs(5), || {
                    listener = std::net::TcpListener::bind(("127.0.0.1", self.port())).ok();
                    listener.is_some()
                }),
                "port {} was taken by another process",
                self.port()
            );
            self.accept(listener.unwrap());
        }
    }

    /// Whether replies are forwarded one byte at a time.
    pub fn split_bytes(&self, on: bool) {
        self.faults.state().split = on;
    }

    /// The delay of each command and each reply; initially zero.
    pub fn delay(&self, each_way: Duration) {
        self.faults.state().delay = each_way;
    }

    /// Connections accepted so far.
    pub fn connections_opened(&self) -> u64 {
        self.faults.state().opened
    }

    /// Connections that neither side has closed so far.
    pub fn connections_open(&self) -> u64 {
        self.faults.state().open
    }

    /// Commands received from clients so far, including those that open a connection.
    pub fn commands(&self) -> u64 {
        self.faults.state().commands
    }

    /// Commands received so far under this name: `commands_named("EVALSHA")`.
    pub fn commands_named(&self, name: &str) -> u64 {
        self.faults.state().by_name.get(&name.to_ascii_uppercase()).copied().unwrap_or(0)
    }

    /// Replies discarded by [`drop_replies`](Self::drop_replies) so far, and replies or pieces of them
    /// discarded by [`mute`](Self::mute).
    pub fn replies_dropped(&self) -> u64 {
        *self.faults.dropped.borrow()
    }

    /// Waits until `n` replies in all were discarded, so that the server has executed their commands. False
    /// after `timeout`.
    #[must_use = "false means that it did not happen"]
    pub async fn wait_for_dropped(&self, n: u64, timeout: Duration) -> bool {
        let mut dropped = self.faults.dropped.subscribe();
        tokio::time::timeout(timeout, dropped.wait_for(|dropped| *dropped >= n)).await.is_ok()
    }

    fn accept(&self, listener: std::net::TcpListener) {
        let (faults, upstream) = (self.faults.clone(), self.upstream);
        let task = async move {
            listener.set_nonblocking(true).expect("a listener can be made non-blocking");
            let listener = TcpListener::from_std(listener).expect("the runtime has a driver");
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connection::run(Open::new(&faults), client, upstream));
            }
        };
        let runtime = self.runtime.as_ref().expect("it is there until the drop");
        *self.accepting.lock().unwrap() = Some(runtime.spawn(task));
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({} -> {})", self.port(), self.upstream)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // A plain drop would block, which an asynchronous test does not permit.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
