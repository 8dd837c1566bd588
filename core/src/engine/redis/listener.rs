//! The task that blocks on token lists, or on streams, and notifies the calls that wait.

use std::collections::HashMap;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use redis::{RedisError, Value, cmd};

use super::channel::{Channel, Channels, Waiting};
use super::connection::{Connection, Endpoint};
use super::connection_manager::ConnectionManager;
use super::endings::{place_text, read_streams};
use super::notification::Notification;
use super::retry_decision::{RetryDecision, retry_decision, shown};
use super::scripts::Script;
use crate::backoff::Backoff;
use crate::engine::EndingPlace;
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

/// How many entries of a stream one command reads. An entry has up to 1,000 ids.
const MAX_ENTRIES: usize = 100;

/// Ends, and closes its connection, when no call has waited for a while.
pub(super) struct Listener {
    pub(super) kind: Notification,
    pub(super) manager: Arc<ConnectionManager>,
    pub(super) channels: Arc<Channels>,
    pub(super) name: Option<QueueName>,
    pub(super) channel: Arc<Channel>,
    pub(super) warning: Once,
}

/// A connection to block on.
struct BlockingConnection {
    connection: Connection,
    client_id: i64,
    endpoint: Endpoint,
}

/// What the listener waits for in a queue.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    queue: QueueName,
    /// Of its list of tokens, or of its stream.
    key: Vec<u8>,
    /// Of a stream: the place behind which to read.
    after: EndingPlace,
}

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
            let mut sources = self.sources();
            if sources.is_empty() {
                if self.is_over().await? {
                    return Some(());
                }
                continue;
            }
            // The command takes the first list that has a token: every queue is first in turn.
            sources.sort();
            first = (first + 1) % sources.len();
            sources.rotate_left(first);
            if open.is_none() {
                open = self.unless_closed(self.connect(&sources[0].queue)).await?;
            }
            if open.is_some() && std::mem::take(&mut broken) {
                // Tokens, and the promise to push any, may be gone with the old server.
                self.notify_all();
            }
            let reply = match &open {
                Some(open) => self.unless_closed(self.block(open, &sources)).await?,
                None => Err(RetryDecision::NotExecuted { reconnect: true }),
            };
            match reply {
                Ok(reply) => {
                    backoff.reset();
                    match self.kind {
                        Notification::Ended => self.deliver_endings(&sources, reply),
                        _ => self.deliver_token(&sources, reply).await,
                    }
                }
                Err(decision) => {
                    // Whatever the error: the next connection goes to the right server.
                    if let Some(open) = open.take() {
                        broken = true;
                        if let RetryDecision::Moved(node) = decision {
                            self.manager.moved(&sources[0].queue, node, &open.endpoint);
                        }
                    }
                    self.unless_closed(tokio::time::sleep(backoff.pause())).await?;
                }
            }
        }
    }

    fn sources(&self) -> Vec<Source> {
        let waiting = self.channel.waiting();
        let source = |(queue, waiting): (&QueueName, &Waiting)| Source {
            queue: queue.clone(),
            key: waiting.key.clone(),
            after: waiting.after,
        };
        waiting.iter().map(source).collect()
    }

    fn notify_all(&self) {
        for waiting in self.channel.waiting().values_mut() {
            waiting.endings.lost = true;
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
        let answer = tokio::time::timeout(SLACK, ask.query_async(&mut *connection)).await.ok()?;
        let client_id = answer.inspect_err(|error| self.warn_if_denied(queue, error)).ok()?;
        Some(BlockingConnection { connection, client_id, endpoint })
    }

    /// Calls still look now and then, so they are only late.
    fn warn_if_denied(&self, queue: &QueueName, error: &RedisError) {
        if retry_decision(error) == RetryDecision::Denied {
            self.warning.call_once(|| {
                let error = shown(error);
                tracing::warn!(%queue, error, "the user may not wait for notifications, so calls that wait are late");
            });
        }
    }

    /// Pops a token, or reads streams. The reply is `Nil` if the time is over, or a queue is new.
    async fn block(
        &self,
        open: &BlockingConnection,
        sources: &[Source],
    ) -> Result<Value, RetryDecision> {
        let block = self.kind.block();
        let keys: Vec<&[u8]> = sources.iter().map(|source| &*source.key).collect();
        let command = match self.kind {
            Notification::Ended => {
                let mut command = cmd("XREAD");
                command.arg("COUNT").arg(MAX_ENTRIES).arg("BLOCK").arg(block.as_millis() as u64);
                command.arg("STREAMS").arg(keys);
                for source in sources {
                    command.arg(place_text(source.after));
                }
                command
            }
            _ => {
                let mut command = cmd("BLPOP");
                command.arg(keys).arg(block.as_secs());
                command
            }
        };
        let mut connection = open.connection.clone();
        let reply = connection.send_packed_command(&command);
        let reply = tokio::time::timeout(block + SLACK, reply);
        tokio::pin!(reply);
        let reply = loop {
            tokio::select! {
                reply = &mut reply => break reply,
                () = self.channel.changed.notified() => {}
            }
            // A call may want to read from an earlier place.
            let known = |(queue, waiting): (&QueueName, &Waiting)| {
                let is_it = |s: &Source| s.queue == *queue && s.after <= waiting.after;
                sources.iter().any(is_it)
            };
            if self.channel.waiting().iter().all(known) {
                continue;
            }
            tokio::select! {
                reply = &mut reply => break reply,
                done = self.unblock(open, &sources[0].queue) => if !done {
                    // Not allowed, or too early: a new connection listens to the new queues too.
                    return Err(RetryDecision::Unknown);
                }
            }
        };
        match reply.map(|reply| reply.and_then(Value::extract_error)) {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => {
                self.warn_if_denied(&sources[0].queue, &error);
                Err(retry_decision(&error))
            }
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

    /// Notifies the calls that wait for a token from the list that had one.
    async fn deliver_token(&self, sources: &[Source], reply: Value) {
        let Value::Array(pair) = reply else { return };
        let Some(Value::BulkString(key)) = pair.first() else { return };
        let Some(Source { queue, key, .. }) = sources.iter().find(|source| source.key == *key)
        else {
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

    /// Hands over what the streams had. If no call waits for it any more, the next one reads it again.
    fn deliver_endings(&self, sources: &[Source], reply: Value) {
        let mut waiting = self.channel.waiting();
        for (key, endings) in read_streams(reply) {
            let source = sources.iter().find(|source| source.key == key);
            let Some(waiting) = source.and_then(|source| waiting.get_mut(&source.queue)) else {
                continue;
            };
            let (after, source) = (waiting.after, source.map(|source| source.after));
            if source <= Some(after) && endings.last > Some(after) {
                let new = endings.reports.into_iter().filter(|report| report.place > after);
                waiting.endings.reports.extend(new);
                waiting.endings.last = endings.last;
                waiting.after = endings.last.unwrap_or(after);
                waiting.notify.notify_one();
            }
        }
    }
}
