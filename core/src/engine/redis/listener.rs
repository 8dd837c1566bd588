//! The task that blocks on token lists, and tells those that wait.

use std::sync::Arc;
use std::time::Duration;

use redis::{Value, cmd};

use super::connection::{Connection, Endpoint};
use super::connection_manager::ConnectionManager;
use super::retry_decision::{RetryDecision, retry_decision};
use super::wake::{Notifier, Notifiers, lock};
use crate::backoff::Backoff;
use crate::name::QueueName;

/// After this much more than the block without an answer the connection is given up.
const SLACK: Duration = Duration::from_secs(2);
/// Longest pause after a connection failed or could not be had, or while a slot of a Cluster moves and
/// no node lets us listen; the queues are looked at now and then anyway.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// How long a connection is kept on which nobody waits. Shorter than most pauses between two jobs would
/// have workers connect for each.
const IDLE: Duration = Duration::from_secs(10);
const PUT_BACK: &str = concat!("#!lua flags=allow-oom\n", include_str!("scripts/put_back.lua"));

/// Ends when nobody has waited for a while, and with it its connection.
pub(super) struct Listener {
    pub(super) block: Duration,
    pub(super) manager: Arc<ConnectionManager>,
    pub(super) notifiers: Arc<Notifiers>,
    pub(super) name: Option<QueueName>,
    pub(super) notifier: Arc<Notifier>,
}

struct Line {
    connection: Connection,
    id: i64,
    endpoint: Endpoint,
}

impl Listener {
    pub(super) async fn run(self) {
        let closed = self.manager.closed.clone();
        let mut line: Option<Line> = None;
        let mut turn = 0;
        let mut backoff = Backoff::up_to(MAX_PAUSE);
        let mut broken = false;
        while !closed.is_cancelled() {
            let mut listening: Vec<(QueueName, Vec<u8>)> = lock(&self.notifier.waiting)
                .iter()
                .map(|(queue, waiting)| (queue.clone(), waiting.key.clone()))
                .collect();
            if listening.is_empty() {
                if !self.is_current() {
                    return;
                }
                tokio::select! {
                    () = self.notifier.changed.notified() => {}
                    () = closed.cancelled() => {}
                    () = tokio::time::sleep(IDLE) => if self.leave() {
                        return;
                    }
                }
                continue;
            }
            // The command takes the first list that has a token: every queue is first in turn.
            listening.sort();
            turn = (turn + 1) % listening.len();
            listening.rotate_left(turn);
            if line.is_none() {
                line = tokio::select! {
                    line = self.connect(&listening[0].0) => line,
                    () = closed.cancelled() => return,
                };
            }
            if line.is_some() && std::mem::take(&mut broken) {
                // Tokens, and the promise to send any, may be gone with the old server.
                for waiting in lock(&self.notifier.waiting).values() {
                    waiting.news.notify_one();
                }
            }
            let popped = match &line {
                Some(open) => tokio::select! {
                    popped = self.block(open, &listening) => popped,
                    () = closed.cancelled() => return,
                },
                None => Err(RetryDecision::NotExecuted { reconnect: true }),
            };
            match popped {
                Ok(key) => {
                    backoff.reset();
                    if let Some(key) = key {
                        self.deliver(&listening, &key).await;
                    }
                }
                Err(decision) => {
                    // Whatever it was: the next connection goes to the right server.
                    if let Some(open) = line.take() {
                        broken = true;
                        if let RetryDecision::Moved(node) = decision {
                            self.manager.moved(&listening[0].0, node, &open.endpoint);
                        }
                    }
                    tokio::select! {
                        () = tokio::time::sleep(backoff.pause()) => {}
                        () = closed.cancelled() => {}
                    }
                }
            }
        }
    }

    fn is_current(&self) -> bool {
        lock(&self.notifiers)
            .get(&self.name)
            .is_some_and(|notifier| Arc::ptr_eq(notifier, &self.notifier))
    }

    /// Gives the notifier up, unless somebody has come. True: whoever comes now gets another one.
    fn leave(&self) -> bool {
        let mut notifiers = lock(&self.notifiers);
        let is_current =
            notifiers.get(&self.name).is_some_and(|notifier| Arc::ptr_eq(notifier, &self.notifier));
        if !is_current || !lock(&self.notifier.waiting).is_empty() {
            return !is_current;
        }
        notifiers.remove(&self.name);
        true
    }

    async fn connect(&self, queue: &QueueName) -> Option<Line> {
        let endpoint: Endpoint = self.manager.endpoint(queue);
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
        let id = tokio::time::timeout(SLACK, ask.query_async(&mut *connection)).await.ok()?.ok()?;
        Some(Line { connection, id, endpoint })
    }

    /// Blocks until a token comes (its key), the time is over or the set of queues grows (`None`).
    async fn block(
        &self,
        line: &Line,
        listening: &[(QueueName, Vec<u8>)],
    ) -> Result<Option<Vec<u8>>, RetryDecision> {
        let mut command = cmd("BLPOP");
        for (_, key) in listening {
            command.arg(key);
        }
        command.arg(self.block.as_secs());
        let mut connection = line.connection.clone();
        let answer = connection.send_packed_command(&command);
        let answer = tokio::time::timeout(self.block + SLACK, answer);
        tokio::pin!(answer);
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                () = self.notifier.changed.notified() => {
                    let known = |queue| listening.iter().any(|(name, _)| name == queue);
                    if lock(&self.notifier.waiting).keys().all(known) {
                        continue;
                    }
                    tokio::select! {
                        answer = &mut answer => break answer,
                        done = self.unblock(line, &listening[0].0) => if !done {
                            // Not allowed, or too early: a new connection listens to the new set.
                            return Err(RetryDecision::Unknown);
                        }
                    }
                }
            }
        };
        match answer.map(|answer| answer.and_then(Value::extract_error)) {
            Ok(Ok(Value::Array(pair))) => match pair.into_iter().next() {
                Some(Value::BulkString(key)) => Ok(Some(key)),
                _ => Ok(None),
            },
            Ok(Ok(_)) => Ok(None),
            Ok(Err(error)) => Err(retry_decision(&error)),
            Err(_) => Err(RetryDecision::Unknown),
        }
    }

    /// Ends the blocking command from the other connection.
    async fn unblock(&self, line: &Line, queue: &QueueName) -> bool {
        for _ in 0..5 {
            let mut command = cmd("CLIENT");
            command.arg("UNBLOCK").arg(line.id);
            let until = std::time::Instant::now() + SLACK;
            match self.manager.command(queue, until, command).await {
                Ok(Value::Int(1)) => return true,
                // The blocking command has not reached the server yet, or is just over.
                Ok(_) => tokio::time::sleep(Duration::from_millis(1)).await,
                Err(_) => return false,
            }
        }
        false
    }

    async fn deliver(&self, listening: &[(QueueName, Vec<u8>)], key: &[u8]) {
        let Some((queue, key)) = listening.iter().find(|(_, listened)| listened == key) else {
            return;
        };
        let news = lock(&self.notifier.waiting).get(queue).map(|waiting| waiting.news.clone());
        match news {
            Some(news) => news.notify_one(),
            None => {
                // Nobody waits here any more: another client may want it.
                let mut command = cmd("EVAL");
                command.arg(PUT_BACK).arg(1).arg(key);
                let until = std::time::Instant::now() + SLACK;
                let _ = self.manager.command(queue, until, command).await;
            }
        }
    }
}
