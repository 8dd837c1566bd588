//! Waiting without polling: one connection blocks on the token lists of all queues that are waited
//! on, and on nothing else, so that a lost answer loses a token and never an item. Workers wait on
//! `wake`, cleaners on `due`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Value, cmd};
use tokio::sync::Notify;

use super::connection::Spot;
use super::keys::Keys;
use super::link::Link;
use super::verdict::{Verdict, verdict};
use crate::name::QueueName;

/// After this much more than the block without an answer the connection is given up.
const SLACK: Duration = Duration::from_secs(2);
/// How long to rest after a connection failed, at first.
const MIN_REST: Duration = Duration::from_millis(20);
/// How long to rest when no connection can be had; the queues are looked at now and then anyway.
const REST: Duration = Duration::from_secs(1);

/// What is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum News {
    /// Something may be ready.
    Ready,
    /// Something is due or expires earlier than a cleaner knows.
    Due,
}

impl News {
    /// How long one blocking command lasts. Cleaners listen to all queues, on a Cluster with a
    /// connection for each: less often, to stay quiet.
    fn block(self) -> Duration {
        match self {
            News::Ready => Duration::from_secs(5),
            News::Due => Duration::from_secs(30),
        }
    }

    fn key(self, keys: &Keys) -> Vec<u8> {
        match self {
            News::Ready => keys.wake().to_vec(),
            News::Due => keys.due().to_vec(),
        }
    }
}

/// All waiting of a client for one kind of news. On a Cluster every queue has a connection of its
/// own.
pub(super) struct Wake {
    kind: News,
    link: Arc<Link>,
    namespace: String,
    hubs: Mutex<HashMap<Option<QueueName>, Arc<Hub>>>,
}

/// One connection and the queues it listens to.
#[derive(Default)]
struct Hub {
    waiting: Mutex<HashMap<QueueName, Waiting>>,
    changed: Notify,
}

struct Waiting {
    count: usize,
    key: Vec<u8>,
    news: Arc<Notify>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens for as long as it lives.
struct Ticket<'a> {
    hub: &'a Hub,
    queue: &'a QueueName,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.hub.waiting);
        if let Some(entry) = waiting.get_mut(self.queue) {
            entry.count -= 1;
            if entry.count == 0 {
                waiting.remove(self.queue);
            }
        }
    }
}

impl Wake {
    pub(super) fn new(kind: News, link: Arc<Link>, namespace: &str) -> Self {
        Wake { kind, link, namespace: namespace.to_owned(), hubs: Mutex::default() }
    }

    /// Returns when a token for the queue came, or may have been lost with a connection.
    pub(super) async fn wait(&self, queue: &QueueName) {
        let hub = self.hub(queue);
        let news = {
            let mut waiting = lock(&hub.waiting);
            let entry = waiting.entry(queue.clone()).or_insert_with(|| Waiting {
                count: 0,
                key: self.kind.key(&Keys::new(&self.namespace, queue)),
                news: Arc::default(),
            });
            entry.count += 1;
            if entry.count == 1 {
                hub.changed.notify_one();
            }
            entry.news.clone()
        };
        let ticket = Ticket { hub: &hub, queue };
        news.notified().await;
        drop(ticket);
    }

    fn hub(&self, queue: &QueueName) -> Arc<Hub> {
        let name = self.link.opener.seeds().is_some().then(|| queue.clone());
        let mut hubs = lock(&self.hubs);
        if let Some(hub) = hubs.get(&name) {
            return hub.clone();
        }
        let hub = Arc::<Hub>::default();
        hubs.insert(name, hub.clone());
        let block = self.kind.block();
        let listener = Listener { block, link: self.link.clone(), hub: hub.clone() };
        tokio::spawn(listener.run());
        hub
    }
}

struct Listener {
    block: Duration,
    link: Arc<Link>,
    hub: Arc<Hub>,
}

struct Line {
    connection: MultiplexedConnection,
    id: i64,
    spot: Spot,
}

impl Listener {
    async fn run(self) {
        let closed = self.link.closed.clone();
        let mut line: Option<Line> = None;
        let mut turn = 0;
        let mut pause = MIN_REST;
        let mut broken = false;
        while !closed.is_cancelled() {
            let mut listening: Vec<(QueueName, Vec<u8>)> = lock(&self.hub.waiting)
                .iter()
                .map(|(queue, waiting)| (queue.clone(), waiting.key.clone()))
                .collect();
            if listening.is_empty() {
                tokio::select! {
                    () = self.hub.changed.notified() => {}
                    () = closed.cancelled() => {}
                }
                continue;
            }
            // The command takes the first list that has a token: every queue is first in turn.
            listening.sort();
            turn = (turn + 1) % listening.len();
            listening.rotate_left(turn);
            if line.is_none() {
                line = self.connect(&listening[0].0).await;
            }
            if line.is_some() && std::mem::take(&mut broken) {
                // Tokens, and the promise to send any, may be gone with the old server.
                for waiting in lock(&self.hub.waiting).values() {
                    waiting.news.notify_one();
                }
            }
            let Some(open) = &line else {
                tokio::select! {
                    () = tokio::time::sleep(REST) => {}
                    () = closed.cancelled() => {}
                }
                continue;
            };
            let popped = tokio::select! {
                popped = self.block(open, &listening) => popped,
                () = closed.cancelled() => return,
            };
            match popped {
                Ok(key) => {
                    pause = MIN_REST;
                    if let Some(key) = key {
                        self.deliver(&listening, &key).await;
                    }
                }
                Err(verdict) => {
                    if let Verdict::Moved(node) = verdict {
                        self.link.moved(&listening[0].0, node, &open.spot);
                    }
                    // Whatever else it was: the next connection goes to the right server.
                    line = None;
                    broken = true;
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = closed.cancelled() => {}
                    }
                    // Longer each time: while a slot of a cluster moves, no node lets us listen.
                    pause = (pause * 2).min(REST);
                }
            }
        }
    }

    async fn connect(&self, queue: &QueueName) -> Option<Line> {
        let spot: Spot = self.link.spot(queue);
        let mut connection = match self.link.opener.open(&spot).await {
            Ok(connection) => connection,
            Err(error) => {
                tracing::debug!(?error, "no connection to wait on");
                self.link.forget_route(queue);
                return None;
            }
        };
        let mut ask = cmd("CLIENT");
        ask.arg("ID");
        let id = tokio::time::timeout(SLACK, ask.query_async(&mut connection)).await.ok()?.ok()?;
        Some(Line { connection, id, spot })
    }

    /// Blocks until a token comes (its key), the time is over or the set of queues grows (`None`).
    async fn block(
        &self,
        line: &Line,
        listening: &[(QueueName, Vec<u8>)],
    ) -> Result<Option<Vec<u8>>, Verdict> {
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
                () = self.hub.changed.notified() => {
                    let known = |queue| listening.iter().any(|(name, _)| name == queue);
                    if lock(&self.hub.waiting).keys().all(known) {
                        continue;
                    }
                    tokio::select! {
                        answer = &mut answer => break answer,
                        done = self.unblock(line, &listening[0].0) => if !done {
                            // Not allowed, or too early: a new connection listens to the new set.
                            return Err(Verdict::Unknown);
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
            Ok(Err(error)) => Err(verdict(&error)),
            Err(_) => Err(Verdict::Unknown),
        }
    }

    /// Ends the blocking command from the other connection.
    async fn unblock(&self, line: &Line, queue: &QueueName) -> bool {
        for _ in 0..5 {
            let mut command = cmd("CLIENT");
            command.arg("UNBLOCK").arg(line.id);
            let until = std::time::Instant::now() + SLACK;
            match self.link.command(queue, until, command).await {
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
        let news = lock(&self.hub.waiting).get(queue).map(|waiting| waiting.news.clone());
        match news {
            Some(news) => news.notify_one(),
            None => {
                // Nobody waits here any more: another client may want it.
                let mut command = cmd("RPUSH");
                command.arg(key).arg("1");
                let until = std::time::Instant::now() + SLACK;
                let _ = self.link.command(queue, until, command).await;
            }
        }
    }
}
