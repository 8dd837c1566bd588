//! One connection to each server, replaced when it is no good, and requests retried on it until
//! their deadline.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::Rng;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, Value};
use tokio_util::sync::CancellationToken;

use super::address::Node;
use super::connection::{OpenError, Opener, Spot};
use super::scripts::{Script, Scripts};
use super::verdict::{Verdict, verdict};
use crate::name::QueueName;
use crate::{Error, ErrorKind, Result};

/// Time-outs in a row after which a connection is given up.
const MAX_TIMEOUTS: u32 = 2;
const MIN_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(250);

pub(super) struct Link {
    pub(super) opener: Opener,
    pub(super) scripts: Scripts,
    pub(super) closed: CancellationToken,
    /// How long to wait for an answer before trying again; doubled each time.
    patience: Duration,
    slots: Mutex<HashMap<Spot, Arc<Slot>>>,
    /// Which node of a cluster a queue was last found on.
    routes: Mutex<HashMap<QueueName, Node>>,
    next_seed: AtomicUsize,
}

/// Place for the connection to one server; its lock is held while connecting.
#[derive(Default)]
struct Slot(tokio::sync::Mutex<Option<Live>>);

#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    timeouts: Arc<AtomicU32>,
}

/// What became of one attempt, when there was no answer.
struct Failure {
    verdict: Verdict,
    message: String,
}

/// A node that does not know its name, or keeps it to itself, means the one that was asked.
fn on_same_host((host, port): Node, asked: &Spot) -> Node {
    match asked {
        Spot::Node((asked, _)) if host.is_empty() => (asked.clone(), port),
        _ => (host, port),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    pub(super) fn new(opener: Opener, scripts: Scripts, timeout: Duration) -> Self {
        Link {
            opener,
            scripts,
            closed: CancellationToken::new(),
            patience: (timeout / 5).clamp(Duration::from_millis(25), Duration::from_secs(2)),
            slots: Mutex::default(),
            routes: Mutex::default(),
            next_seed: AtomicUsize::new(0),
        }
    }

    /// One attempt to reach the server, so that a wrong address is told at once.
    pub(super) async fn probe(&self) -> Result<()> {
        let spots = match self.opener.seeds() {
            Some(seeds) => seeds.iter().cloned().map(Spot::Node).collect(),
            None => vec![Spot::Main],
        };
        let mut last = Error::unavailable("no server is named", false);
        for spot in spots {
            match self.connection(&spot).await {
                Ok(_) => return Ok(()),
                Err(OpenError::Lasting(error)) => return Err(error),
                Err(OpenError::Passing(message)) => last = Error::unavailable(message, false),
            }
        }
        Err(last)
    }

    /// Runs a script on the queue's server until it answers or `until` has passed. `fill` adds
    /// the number of keys, the keys and the arguments.
    pub(super) async fn run(
        &self,
        queue: &QueueName,
        script: Script,
        until: Instant,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        let mut command = self.scripts.by_digest(script);
        fill(&mut command);
        let mut text = None;
        self.retry(
            queue,
            script.name(),
            until,
            |teach| {
                if teach && text.is_none() {
                    let mut command = self.scripts.by_text(script);
                    fill(&mut command);
                    text = Some(Arc::new(command));
                }
                text.clone()
            },
            Arc::new(command),
        )
        .await
    }

    /// Runs a plain command on the queue's server.
    pub(super) async fn command(
        &self,
        queue: &QueueName,
        until: Instant,
        command: Cmd,
    ) -> Result<Value> {
        self.retry(queue, "command", until, |_| None, Arc::new(command)).await
    }

    async fn retry(
        &self,
        queue: &QueueName,
        what: &str,
        until: Instant,
        mut by_text: impl FnMut(bool) -> Option<Arc<Cmd>> + Send,
        by_digest: Arc<Cmd>,
    ) -> Result<Value> {
        let mut command = by_digest;
        let mut unknown = false;
        let mut patience = self.patience;
        let mut pause = MIN_PAUSE;
        let mut ask: Option<Node> = None;
        let mut last = String::from("no time was left to try");
        loop {
            if self.closed.is_cancelled() {
                return Err(Error::closed());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = format_args!("queue {queue}, {what}: {last}");
                return Err(Error::unavailable(message, unknown));
            }
            let asking = ask.is_some();
            let spot = ask.take().map_or_else(|| self.spot(queue), Spot::Node);
            let failure =
                match self.attempt(&spot, &command, asking, patience.min(left), left).await {
                    Ok(value) => return Ok(value),
                    Err(failure) => failure,
                };
            last = failure.message;
            match failure.verdict {
                Verdict::Teach => match by_text(true) {
                    // Not again by digest in this call: the server might forget it once more.
                    Some(text) => command = text,
                    None => {
                        return Err(Error::internal(format_args!("queue {queue}, {what}: {last}")));
                    }
                },
                Verdict::Moved(node) => self.moved(queue, node, &spot),
                Verdict::Ask(node) => ask = Some(on_same_host(node, &spot)),
                Verdict::Overtaken if unknown => {
                    return Err(Error::unavailable(
                        format_args!("queue {queue}, {what}: {last}"),
                        true,
                    ));
                }
                Verdict::Overtaken => {
                    return Err(Error::internal(format_args!("queue {queue}, {what}: {last}")));
                }
                Verdict::OtherFormat => {
                    return Err(Error::new(
                        ErrorKind::Incompatible,
                        format_args!(
                            "queue {queue}, {what}: the storage format is another one now: {last}"
                        ),
                    ));
                }
                Verdict::Torn => {
                    return Err(Error::internal(format_args!(
                        "queue {queue}, {what}: {last}; the operation may have stopped half-way: run check"
                    )));
                }
                Verdict::NotExecuted { .. } => {
                    self.forget_route(queue);
                    self.rest(&mut pause, until).await;
                }
                Verdict::Unknown => {
                    unknown = true;
                    patience *= 2;
                    self.forget_route(queue);
                    self.rest(&mut pause, until).await;
                }
            }
        }
    }

    /// Sends the command once.
    async fn attempt(
        &self,
        spot: &Spot,
        command: &Cmd,
        asking: bool,
        patience: Duration,
        left: Duration,
    ) -> Result<Value, Failure> {
        let not_executed =
            |message| Failure { verdict: Verdict::NotExecuted { reconnect: false }, message };
        let mut live = match tokio::time::timeout(left, self.connection(spot)).await {
            Ok(Ok(live)) => live,
            Ok(Err(OpenError::Passing(message))) => return Err(not_executed(message)),
            // A password or a server may be changed back; until then this is why.
            Ok(Err(OpenError::Lasting(error))) => return Err(not_executed(error.to_string())),
            Err(_) => return Err(not_executed("connecting takes too long".into())),
        };
        let answer = async {
            if asking {
                let mut pipeline = Pipeline::with_capacity(2);
                pipeline.cmd("ASKING").ignore().add_command(command.clone());
                let answers = live.connection.send_packed_commands(&pipeline, 1, 1).await?;
                answers.into_iter().next().unwrap_or(Value::Nil).extract_error()
            } else {
                live.connection.send_packed_command(command).await?.extract_error()
            }
        };
        let error = match tokio::time::timeout(patience, answer).await {
            Ok(Ok(value)) => {
                live.timeouts.store(0, Ordering::Relaxed);
                return Ok(value);
            }
            Ok(Err(error)) => error,
            Err(_) => {
                if live.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TIMEOUTS {
                    self.discard(spot, &live).await;
                }
                let message = format!("{}: no answer for {patience:?}", self.opener.describe(spot));
                return Err(Failure { verdict: Verdict::Unknown, message });
            }
        };
        let verdict = verdict(&error);
        if matches!(verdict, Verdict::Unknown | Verdict::NotExecuted { reconnect: true }) {
            self.discard(spot, &live).await;
        }
        let message = format!("{}: {error}", self.opener.describe(spot));
        tracing::debug!(%message, ?verdict, "attempt failed");
        Err(Failure { verdict, message })
    }

    async fn connection(&self, spot: &Spot) -> Result<Live, OpenError> {
        let slot = lock(&self.slots).entry(spot.clone()).or_default().clone();
        let mut place = slot.0.lock().await;
        if let Some(live) = &*place {
            return Ok(live.clone());
        }
        let connection = self.opener.open(spot).await?;
        let live = Live { connection, timeouts: Arc::default() };
        *place = Some(live.clone());
        Ok(live)
    }

    /// Gives up a connection, if it is still the one in use.
    async fn discard(&self, spot: &Spot, live: &Live) {
        let Some(slot) = lock(&self.slots).get(spot).cloned() else { return };
        let mut place = slot.0.lock().await;
        if place.as_ref().is_some_and(|current| Arc::ptr_eq(&current.timeouts, &live.timeouts)) {
            *place = None;
        }
    }

    pub(super) fn in_a_cluster(&self) -> bool {
        self.opener.seeds().is_some()
    }

    /// The server to ask for a queue.
    pub(super) fn spot(&self, queue: &QueueName) -> Spot {
        let Some(seeds) = self.opener.seeds() else { return Spot::Main };
        if let Some(node) = lock(&self.routes).get(queue) {
            return Spot::Node(node.clone());
        }
        let next = self.next_seed.load(Ordering::Relaxed);
        Spot::Node(seeds[next % seeds.len()].clone())
    }

    /// The node that was `asked` said where the queue is.
    pub(super) fn moved(&self, queue: &QueueName, node: Node, asked: &Spot) {
        lock(&self.routes).insert(queue.clone(), on_same_host(node, asked));
    }

    /// The server was no good: the next attempt asks another node.
    pub(super) fn forget_route(&self, queue: &QueueName) {
        if self.in_a_cluster() && lock(&self.routes).remove(queue).is_none() {
            self.next_seed.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn rest(&self, pause: &mut Duration, until: Instant) {
        let jittered = pause.mul_f64(rand::rng().random_range(0.5..1.5));
        let left = until.saturating_duration_since(Instant::now());
        tokio::select! {
            () = tokio::time::sleep(jittered.min(left)) => {}
            () = self.closed.cancelled() => {}
        }
        *pause = (*pause * 2).min(MAX_PAUSE);
    }

    pub(super) async fn close(&self) {
        self.closed.cancel();
        lock(&self.slots).clear();
    }
}
