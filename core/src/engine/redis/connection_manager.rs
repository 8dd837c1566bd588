//! The servers of a client: which one has a queue, and one attempt at a request. `retry.rs` makes more
//! of them.

use std::time::{Duration, Instant};

use redis::{Cmd, Pipeline, Value, cmd};
use tokio_util::sync::CancellationToken;

use super::connection::Endpoint;
use super::connection_pool::ConnectionPool;
use super::failure::Failure;
use super::open_error::OpenError;
use super::opener::Opener;
use super::place::Node;
use super::retry_decision::RetryDecision;
use super::routes::{Routes, on_same_host};
use super::scripts::Scripts;
use crate::backoff::Backoff;
use crate::name::QueueName;
use crate::{Error, Result};

pub(super) struct ConnectionManager {
    pub(super) opener: Opener,
    pub(super) scripts: Scripts,
    pub(super) closed: CancellationToken,
    timeout: Duration,
    /// How long to wait for a reply before the next attempt; doubled each time.
    pub(super) reply_timeout: Duration,
    connections: ConnectionPool,
    /// For requests that wait for confirmation, which nothing else must wait behind. `None`: none does.
    confirming: Option<ConnectionPool>,
    routes: Routes,
}

impl ConnectionManager {
    pub(super) fn new(opener: Opener, scripts: Scripts, timeout: Duration) -> Self {
        let confirmation = opener.confirmation();
        ConnectionManager {
            opener,
            scripts,
            closed: CancellationToken::new(),
            timeout,
            reply_timeout: (timeout / 5).clamp(Duration::from_millis(25), Duration::from_secs(2)),
            connections: ConnectionPool::new(None),
            confirming: confirmation.map(|asked| ConnectionPool::new(Some(asked))),
            routes: Routes::default(),
        }
    }

    /// Makes one attempt to reach each server, so that a wrong address is reported at once.
    pub(super) async fn probe(&self) -> Result<()> {
        let limit = self.timeout.max(self.opener.connect_timeout());
        tokio::time::timeout(limit, self.reach_any()).await.unwrap_or_else(|_| {
            let servers = self.opener.servers();
            Err(Error::unavailable(format_args!("{servers}: no answer within {limit:?}"), false))
        })
    }

    async fn reach_any(&self) -> Result<()> {
        let endpoints = match self.opener.seeds() {
            Some(seeds) => seeds.iter().cloned().map(Endpoint::Node).collect(),
            None => vec![Endpoint::Main],
        };
        let mut last = Error::unavailable("no server is named", false);
        for endpoint in endpoints {
            match self.connections.get(&self.opener, &endpoint).await {
                Ok(_) => return Ok(()),
                Err(OpenError::Lasting(error) | OpenError::Unconfirmable(error)) => {
                    return Err(error);
                }
                Err(OpenError::Passing(message)) => last = Error::unavailable(message, false),
            }
        }
        Err(last)
    }

    /// Sends a command once. `asking`: to a node that has the queue only for this request. `confirmed`: returns
    /// when it is confirmed, if the client asks for that. `left`: how long connecting may take.
    pub(super) async fn attempt(
        &self,
        endpoint: &Endpoint,
        command: &Cmd,
        asking: bool,
        confirmed: bool,
        reply_timeout: Duration,
        left: Duration,
    ) -> Result<Value, Failure> {
        let not_executed = |message: String| {
            Failure::new(RetryDecision::NotExecuted { reconnect: false }, message)
        };
        let until = Instant::now() + left;
        let confirming = self.confirming.as_ref().filter(|_| confirmed);
        let connections = confirming.unwrap_or(&self.connections);
        let opening = connections.get(&self.opener, endpoint);
        let mut pooled = match tokio::time::timeout(left, opening).await {
            Ok(Ok(pooled)) => pooled,
            Ok(Err(OpenError::Passing(message))) => return Err(not_executed(message)),
            // The cause, such as a changed password, may still be undone before the deadline.
            Ok(Err(OpenError::Lasting(error))) => return Err(not_executed(error.to_string())),
            Ok(Err(OpenError::Unconfirmable(error))) => {
                let decision = RetryDecision::Unconfirmable { executed: false };
                return Err(Failure::new(decision, error.to_string()));
            }
            Err(_) => {
                let server = self.opener.describe(endpoint);
                return Err(not_executed(format!("{server}: connecting takes too long")));
            }
        };
        if let Some(confirmer) = &pooled.confirmer {
            let asking = asking.then(|| cmd("ASKING"));
            let commands = asking.into_iter().chain([command.clone()]).collect();
            // Boxed: otherwise the future of every request would have the size of those that wait.
            let reply = Box::pin(confirmer.send(commands, reply_timeout, until)).await;
            return reply.map_err(|failure| self.failed(endpoint, failure));
        }
        let reply_timeout = reply_timeout.min(left);
        let reply = async {
            if asking {
                let mut pipeline = Pipeline::with_capacity(2);
                pipeline.cmd("ASKING").ignore().add_command(command.clone());
                let replies = pooled.connection.send_packed_commands(&pipeline, 1, 1).await?;
                replies.into_iter().next().unwrap_or(Value::Nil).extract_error()
            } else {
                pooled.connection.send_packed_command(command).await?.extract_error()
            }
        };
        let error = match tokio::time::timeout(reply_timeout, reply).await {
            Ok(Ok(value)) => {
                pooled.note_reply();
                return Ok(value);
            }
            Ok(Err(error)) => error,
            Err(_) => {
                if pooled.note_timeout() {
                    connections.discard(endpoint, &pooled).await;
                }
                let message = format!("no answer for {reply_timeout:?}");
                return Err(self.failed(endpoint, Failure::new(RetryDecision::Unknown, message)));
            }
        };
        let failure = Failure::of(&error);
        if failure.decision.needs_new_connection() {
            connections.discard(endpoint, &pooled).await;
        }
        Err(self.failed(endpoint, failure))
    }

    /// The failure with the name of the server, for people.
    fn failed(&self, endpoint: &Endpoint, failure: Failure) -> Failure {
        let Failure { decision, message } = failure;
        let message = format!("{}: {message}", self.opener.describe(endpoint));
        tracing::debug!(%message, ?decision, "attempt failed");
        Failure { decision, message }
    }

    pub(super) fn in_a_cluster(&self) -> bool {
        self.opener.seeds().is_some()
    }

    /// The server to ask for a queue.
    pub(super) fn endpoint(&self, queue: &QueueName) -> Endpoint {
        match self.opener.seeds() {
            Some(seeds) => Endpoint::Node(self.routes.node(queue, seeds)),
            None => Endpoint::Main,
        }
    }

    /// Notes where the queue is, as the node that was `asked` said.
    pub(super) fn moved(&self, queue: &QueueName, node: Node, asked: &Endpoint) {
        self.routes.set(queue, on_same_host(node, asked));
    }

    /// Makes the next attempt ask another node.
    pub(super) fn forget_route(&self, queue: &QueueName) {
        if self.in_a_cluster() {
            self.routes.forget(queue);
        }
    }

    /// Pauses before the next attempt.
    pub(super) async fn back_off(&self, backoff: &mut Backoff, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        tokio::select! {
            () = tokio::time::sleep(backoff.pause().min(left)) => {}
            () = self.closed.cancelled() => {}
        }
    }

    pub(super) async fn close(&self) {
        self.closed.cancel();
        for connections in [&self.connections].into_iter().chain(&self.confirming) {
            connections.clear();
        }
    }
}
