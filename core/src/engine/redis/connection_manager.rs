//! One connection to each server, replaced when it is no good, and requests retried on it until
//! their deadline.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::{Arg, Cmd, Pipeline, Value};
use tokio_util::sync::CancellationToken;

use super::address::Node;
use super::connection::{Connection, Endpoint, OpenError, Opener};
use super::retry_decision::{RetryDecision, retry_decision, shown};
use super::routes::{Routes, on_same_host};
use super::scripts::{Script, Scripts};
use crate::backoff::Backoff;
use crate::name::QueueName;
use crate::{Error, ErrorKind, Result};

/// Time-outs in a row after which a connection is given up.
const MAX_TIMEOUTS: u32 = 2;
const MAX_PAUSE: Duration = Duration::from_millis(250);
/// How often in one call another node, or the script's text, is tried without a pause: a node with an
/// old map, one to which the slot is moving, and a server that does not know the script. More means
/// nodes that send clients in a circle.
const MAX_AT_ONCE: u32 = 3;
/// How long a connection is kept that nothing is sent on, if others are opened: to a node that has left
/// a cluster, or only had a slot for a while.
const UNUSED: Duration = Duration::from_secs(60);

pub(super) struct ConnectionManager {
    pub(super) opener: Opener,
    pub(super) scripts: Scripts,
    pub(super) closed: CancellationToken,
    timeout: Duration,
    /// How long to wait for an answer before trying again; doubled each time.
    patience: Duration,
    places: Mutex<HashMap<Endpoint, Place>>,
    routes: Routes,
}

/// The connection to one server, if there is one; its lock is held while connecting.
type Current = tokio::sync::Mutex<Option<Live>>;

struct Place {
    current: Arc<Current>,
    used: Instant,
}

#[derive(Clone)]
struct Live {
    connection: Connection,
    timeouts: Arc<AtomicU32>,
}

/// What became of one attempt, when there was no answer.
struct Failure {
    decision: RetryDecision,
    message: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command as the server's list of rights names it.
fn command_name(command: &Cmd) -> String {
    let mut words = command.args_iter().map_while(|arg| match arg {
        Arg::Simple(word) => Some(String::from_utf8_lossy(word).to_ascii_lowercase()),
        _ => None,
    });
    let name = words.next().unwrap_or_default();
    match words.next() {
        Some(subcommand) if name == "client" => format!("{name}|{subcommand}"),
        _ => name,
    }
}

impl ConnectionManager {
    pub(super) fn new(opener: Opener, scripts: Scripts, timeout: Duration) -> Self {
        ConnectionManager {
            opener,
            scripts,
            closed: CancellationToken::new(),
            timeout,
            patience: (timeout / 5).clamp(Duration::from_millis(25), Duration::from_secs(2)),
            places: Mutex::default(),
            routes: Routes::default(),
        }
    }

    /// One attempt to reach each server, so that a wrong address is told at once.
    pub(super) async fn probe(&self) -> Result<()> {
        let limit = self.timeout.max(self.opener.connect_timeout());
        tokio::time::timeout(limit, self.reach_any()).await.unwrap_or_else(|_| {
            Err(Error::unavailable(format_args!("no server answers within {limit:?}"), false))
        })
    }

    async fn reach_any(&self) -> Result<()> {
        let endpoints = match self.opener.seeds() {
            Some(seeds) => seeds.iter().cloned().map(Endpoint::Node).collect(),
            None => vec![Endpoint::Main],
        };
        let mut last = Error::unavailable("no server is named", false);
        for endpoint in endpoints {
            match self.connection(&endpoint).await {
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
        late_copy: Option<&AtomicBool>,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        let mut command = self.scripts.by_digest(script);
        fill(&mut command);
        let mut text = None;
        self.retry(
            queue,
            script.name(),
            until,
            late_copy,
            |load_script| {
                if load_script && text.is_none() {
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
        self.retry(queue, "command", until, None, |_| None, Arc::new(command)).await
    }

    async fn retry(
        &self,
        queue: &QueueName,
        what: &str,
        until: Instant,
        late_copy: Option<&AtomicBool>,
        mut by_text: impl FnMut(bool) -> Option<Arc<Cmd>> + Send,
        by_digest: Arc<Cmd>,
    ) -> Result<Value> {
        let mut command = by_digest;
        let mut unknown = false;
        let mut patience = self.patience;
        let mut backoff = Backoff::up_to(MAX_PAUSE);
        let mut at_once = 0;
        let mut ask: Option<Node> = None;
        let mut last = String::from("no time was left to try");
        loop {
            if self.closed.is_cancelled() {
                return Err(Error::closed().or_unknown(unknown));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = format_args!("queue {queue}, {what}: {last}");
                return Err(Error::unavailable(message, unknown));
            }
            let asking = ask.is_some();
            let endpoint = ask.take().map_or_else(|| self.endpoint(queue), Endpoint::Node);
            let failure =
                match self.attempt(&endpoint, &command, asking, patience.min(left), left).await {
                    Ok(value) => return Ok(value),
                    Err(failure) => failure,
                };
            last = failure.message;
            if matches!(
                failure.decision,
                RetryDecision::LoadScript | RetryDecision::Moved(_) | RetryDecision::Ask(_)
            ) {
                at_once += 1;
                if at_once > MAX_AT_ONCE {
                    self.rest(&mut backoff, until).await;
                }
            }
            match failure.decision {
                RetryDecision::LoadScript => match by_text(true) {
                    // Not again by digest in this call: the server might forget it once more.
                    Some(text) => command = text,
                    None => {
                        let error = Error::internal(format_args!("queue {queue}, {what}: {last}"));
                        return Err(error.or_unknown(unknown));
                    }
                },
                RetryDecision::Moved(node) => self.moved(queue, node, &endpoint),
                RetryDecision::Ask(node) => ask = Some(on_same_host(node, &endpoint)),
                RetryDecision::Superseded if unknown => {
                    return Err(Error::unavailable(
                        format_args!("queue {queue}, {what}: {last}"),
                        true,
                    ));
                }
                RetryDecision::Superseded => {
                    return Err(Error::internal(format_args!("queue {queue}, {what}: {last}")));
                }
                RetryDecision::OtherFormat => {
                    let error = Error::new(
                        ErrorKind::Incompatible,
                        format_args!(
                            "queue {queue}, {what}: the storage format is another one now: {last}"
                        ),
                    );
                    return Err(error.or_unknown(unknown));
                }
                RetryDecision::Denied => {
                    let name = command_name(&command);
                    return Err(Error::invalid(format_args!(
                        "queue {queue}, {what}: the user may not run {name}: {last}; grant +{name} \
                         on the keys of the queue"
                    ))
                    .or_unknown(unknown));
                }
                RetryDecision::TooLarge => {
                    let size = command.args_iter().map(|arg| match arg {
                        Arg::Simple(bytes) => bytes.len(),
                        _ => 0,
                    });
                    let limit = self.bulk_limit(&endpoint, left).await;
                    return Err(Error::invalid(format_args!(
                        "queue {queue}, {what}: an item takes {} bytes, and the server at most {limit} \
                         (proto-max-bulk-len)",
                        size.max().unwrap_or(0)
                    ))
                    .or_unknown(unknown));
                }
                RetryDecision::PartiallyApplied => {
                    let error = Error::internal(format_args!(
                        "queue {queue}, {what}: {last}; the operation may have stopped half-way: run check"
                    ));
                    return Err(error.or_unknown(unknown));
                }
                RetryDecision::NotExecuted { .. } => {
                    self.forget_route(queue);
                    self.rest(&mut backoff, until).await;
                }
                RetryDecision::Unknown => {
                    unknown = true;
                    // It is sent again on another connection, and the first one may deliver it later.
                    if let Some(late_copy) = late_copy {
                        late_copy.store(true, Ordering::Relaxed);
                    }
                    patience = patience.saturating_mul(2);
                    self.forget_route(queue);
                    self.rest(&mut backoff, until).await;
                }
            }
        }
    }

    /// How large an argument may be, for people.
    async fn bulk_limit(&self, endpoint: &Endpoint, left: Duration) -> String {
        let mut get = redis::cmd("CONFIG");
        get.arg("GET").arg("proto-max-bulk-len");
        let answer = self.attempt(endpoint, &get, false, self.patience.min(left), left).await.ok();
        let limit =
            answer.and_then(|answer| redis::from_redis_value::<(String, String)>(answer).ok());
        limit.map_or_else(|| "fewer".into(), |(_, limit)| limit)
    }

    /// Sends the command once.
    async fn attempt(
        &self,
        endpoint: &Endpoint,
        command: &Cmd,
        asking: bool,
        patience: Duration,
        left: Duration,
    ) -> Result<Value, Failure> {
        let not_executed = |message| Failure {
            decision: RetryDecision::NotExecuted { reconnect: false },
            message,
        };
        let mut live = match tokio::time::timeout(left, self.connection(endpoint)).await {
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
                    self.discard(endpoint, &live).await;
                }
                let message =
                    format!("{}: no answer for {patience:?}", self.opener.describe(endpoint));
                return Err(Failure { decision: RetryDecision::Unknown, message });
            }
        };
        let decision = retry_decision(&error);
        if matches!(
            decision,
            RetryDecision::Unknown
                | RetryDecision::TooLarge
                | RetryDecision::NotExecuted { reconnect: true }
        ) {
            self.discard(endpoint, &live).await;
        }
        let message = format!("{}: {}", self.opener.describe(endpoint), shown(&error));
        tracing::debug!(%message, ?decision, "attempt failed");
        Err(Failure { decision, message })
    }

    async fn connection(&self, endpoint: &Endpoint) -> Result<Live, OpenError> {
        let current = self.place(endpoint);
        let mut current = current.lock().await;
        if let Some(live) = &*current {
            return Ok(live.clone());
        }
        // In a box: every request would carry, and move, all that opening takes.
        let connection = Box::pin(self.opener.open(endpoint)).await?;
        let live = Live { connection, timeouts: Arc::default() };
        *current = Some(live.clone());
        Ok(live)
    }

    fn place(&self, endpoint: &Endpoint) -> Arc<Current> {
        let (now, mut places) = (Instant::now(), lock(&self.places));
        if let Some(place) = places.get_mut(endpoint) {
            place.used = now;
            return place.current.clone();
        }
        // Nodes come and go: what is no longer used makes room.
        places.retain(|_, place| now.saturating_duration_since(place.used) < UNUSED);
        let current = Arc::<Current>::default();
        places.insert(endpoint.clone(), Place { current: current.clone(), used: now });
        current
    }

    /// Gives up a connection, if it is still the one in use.
    async fn discard(&self, endpoint: &Endpoint, live: &Live) {
        let Some(current) = lock(&self.places).get(endpoint).map(|place| place.current.clone())
        else {
            return;
        };
        let mut current = current.lock().await;
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(&current.timeouts, &live.timeouts)) {
            *current = None;
        }
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

    /// The node that was `asked` said where the queue is.
    pub(super) fn moved(&self, queue: &QueueName, node: Node, asked: &Endpoint) {
        self.routes.set(queue, on_same_host(node, asked));
    }

    /// The server was no good: the next attempt asks another node.
    pub(super) fn forget_route(&self, queue: &QueueName) {
        if self.in_a_cluster() {
            self.routes.forget(queue);
        }
    }

    async fn rest(&self, backoff: &mut Backoff, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        tokio::select! {
            () = tokio::time::sleep(backoff.pause().min(left)) => {}
            () = self.closed.cancelled() => {}
        }
    }

    pub(super) async fn close(&self) {
        self.closed.cancel();
        lock(&self.places).clear();
    }
}
