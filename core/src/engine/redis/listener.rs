//! The task that blocks on token lists and notifies the calls that wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Value, cmd};

use super::channel::{Channel, Channels};
use super::connection::{Connection, Endpoint};
use super::connection_manager::ConnectionManager;
use super::retry_decision::{RetryDecision, retry_decision};
use super::scripts::Script;
use crate::backoff::Backoff;
use crate::lock::lock;
use crate::name::QueueName;

/// How much longer than its block a command may take before the connection is discarded.
const SLACK: Duration = Duration::from_secs(2);
/// Longest pause after a connection failed, or while a slot of a Cluster moves and no node accepts the
/// command. Clients look at their queues now and then anyway.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// How long a connection is kept on which no call waits. If this were shorter than the usual pause
/// between two jobs, workers would connect for each job.
const IDLE: Duration = Duration::from_secs(10);

/// Ends, and closes its connection, when no call has waited for a while.
pub(super) struct Listener {
    pub(super) block: Duration,
    pub(super) manager: Arc<ConnectionManager>,
    pub(super) channels: Arc<Channels>,
    pub(super) name: Option<QueueName>,
    pub(super) channel: Arc<Channel>,
}

/// A connection to block on.
struct BlockingConnection {
    connection: Connection,
    client_id: i64,
    endpoint: Endpoint,
}

/// A queue, and the key of its list of tokens.
type TokenList = (QueueName, Vec<u8>);

impl Listener {
    pub(super) async fn run(self) {
        let _closed = self.listen().await;
    }

    /// `None`: the client was closed.
    async fn listen(&self) -> Option<()> {
        let mut open: Option<BlockingConnection> = None;
        let mut first = 0;
        let mut backoff = Backoff::up_to(MAX_PAUSE);
        let mut broken = false;
        loop {
            let mut lists = self.lists();
            if lists.is_empty() {
                if self.is_over().await? {
                    return Some(());
                }
                continue;
            }
            // The command takes the first list that has a token: every queue is first in turn.
            lists.sort();
            first = (first + 1) % lists.len();
            lists.rotate_left(first);
            if open.is_none() {
                open = self.unless_closed(self.connect(&lists[0].0)).await?;
            }
            if open.is_some() && std::mem::take(&mut broken) {
                // Tokens, and the promise to push any, may be gone with the old server.
                self.notify_all();
            }
            let popped = match &open {
                Some(open) => self.unless_closed(self.pop(open, &lists)).await?,
                None => Err(RetryDecision::NotExecuted { reconnect: true }),
            };
            match popped {
                Ok(key) => {
                    backoff.reset();
                    if let Some(key) = key {
                        self.deliver(&lists, &key).await;
                    }
                }
                Err(decision) => {
                    // Whatever the error: the next connection goes to the right server.
                    if let Some(open) = open.take() {
                        broken = true;
                        if let RetryDecision::Moved(node) = decision {
                            self.manager.moved(&lists[0].0, node, &open.endpoint);
                        }
                    }
                    self.unless_closed(tokio::time::sleep(backoff.pause())).await?;
                }
            }
        }
    }

    fn lists(&self) -> Vec<TokenList> {
        let waiting = self.channel.waiting();
        waiting.iter().map(|(queue, waiting)| (queue.clone(), waiting.key.clone())).collect()
    }

    fn notify_all(&self) {
        for waiting in self.channel.waiting().values() {
            waiting.notify.notify_one();
        }
    }

    /// Waits for a call. True: none came, and the listener must end.
    async fn is_over(&self) -> Option<bool> {
        if !self.is_current(&lock(&self.channels)) {
            return Some(true);
        }
        let called = tokio::time::timeout(IDLE, self.channel.changed.notified());
        Some(self.unless_closed(called).await?.is_err() && self.leave())
    }

    fn is_current(&self, channels: &HashMap<Option<QueueName>, Arc<Channel>>) -> bool {
        channels.get(&self.name).is_some_and(|channel| Arc::ptr_eq(channel, &self.channel))
    }

    /// Removes the channel, unless a call has come. True: the next call gets another channel.
    fn leave(&self) -> bool {
        let mut channels = lock(&self.channels);
        if !self.is_current(&channels) {
            return true;
        }
        let is_unused = self.channel.waiting().is_empty();
        if is_unused {
            channels.remove(&self.name);
        }
        is_unused
    }

    async fn unless_closed<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            output = future => Some(output),
            () = self.manager.closed.cancelled() => None,
        }
    }

    async fn connect(&self, queue: &QueueName) -> Option<BlockingConnection> {
        let endpoint = self.manager.endpoint(queue);
        let mut connection = match self.manager.opener.open(&endpoint).await {
            Ok(connection) => connection,
            Err(error) => {
                tracing::debug!(?error, "no connection to wait on");
                self.manager.forget_route(queue);
                return None;
            }
        };
        let mut ask = cmd("CLIENT");
        ask.arg("ID");
        let client_id =
            tokio::time::timeout(SLACK, ask.query_async(&mut *connection)).await.ok()?.ok()?;
        Some(BlockingConnection { connection, client_id, endpoint })
    }

    /// Pops a token, and returns its key; `None` if the time is over, or a queue is new.
    async fn pop(
        &self,
        open: &BlockingConnection,
        lists: &[TokenList],
    ) -> Result<Option<Vec<u8>>, RetryDecision> {
        let mut command = cmd("BLPOP");
        for (_, key) in lists {
            command.arg(key);
        }
        command.arg(self.block.as_secs());
        let mut connection = open.connection.clone();
        let reply = connection.send_packed_command(&command);
        let reply = tokio::time::timeout(self.block + SLACK, reply);
        tokio::pin!(reply);
        let reply = loop {
            tokio::select! {
                reply = &mut reply => break reply,
                () = self.channel.changed.notified() => {}
            }
            let known = |queue| lists.iter().any(|(name, _)| name == queue);
            if self.channel.waiting().keys().all(known) {
                continue;
            }
            tokio::select! {
                reply = &mut reply => break reply,
                done = self.unblock(open, &lists[0].0) => if !done {
                    // Not allowed, or too early: a new connection listens to the new queues too.
                    return Err(RetryDecision::Unknown);
                }
            }
        };
        match reply.map(|reply| reply.and_then(Value::extract_error)) {
            Ok(Ok(Value::Array(pair))) => match pair.into_iter().next() {
                Some(Value::BulkString(key)) => Ok(Some(key)),
                _ => Ok(None),
            },
            Ok(Ok(_)) => Ok(None),
            Ok(Err(error)) => Err(retry_decision(&error)),
            Err(_) => Err(RetryDecision::Unknown),
        }
    }

    /// Ends the blocking command from another connection.
    async fn unblock(&self, open: &BlockingConnection, queue: &QueueName) -> bool {
        for _ in 0..5 {
            let mut command = cmd("CLIENT");
            command.arg("UNBLOCK").arg(open.client_id);
            match self.manager.command(queue, Instant::now() + SLACK, command).await {
                Ok(Value::Int(1)) => return true,
                // The blocking command has not reached the server yet, or is just over.
                Ok(_) => tokio::time::sleep(Duration::from_millis(1)).await,
                Err(_) => return false,
            }
        }
        false
    }

    /// Notifies the calls that wait for a token from this list.
    async fn deliver(&self, lists: &[TokenList], key: &[u8]) {
        let Some((queue, key)) = lists.iter().find(|(_, listed)| listed == key) else {
            return;
        };
        let notify = self.channel.waiting().get(queue).map(|waiting| waiting.notify.clone());
        match notify {
            Some(notify) => notify.notify_one(),
            None => {
                // No call waits here any more: another client may want the token.
                let mut command = self.manager.scripts.by_text(Script::PutBack);
                command.arg(1).arg(key);
                let _ = self.manager.command(queue, Instant::now() + SLACK, command).await;
            }
        }
    }
}
