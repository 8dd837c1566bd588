//! Retrying requests until their deadline.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use redis::{Arg, Cmd, Value, cmd, from_redis_value};

use super::connection::Endpoint;
use super::connection_manager::ConnectionManager;
use super::place::Node;
use super::retry_decision::RetryDecision;
use super::routes::on_same_host;
use super::scripts::Script;
use crate::backoff::Backoff;
use crate::name::QueueName;
use crate::{Error, ErrorKind, Result};

const MAX_PAUSE: Duration = Duration::from_millis(250);
/// How often one call tries another node, or sends the script's text, without a pause: after a node
/// with an old map, one to which the slot is moving, and a server that does not know the script. More
/// means nodes that send clients in a circle.
const MAX_AT_ONCE: u32 = 3;

impl ConnectionManager {
    /// Runs a script on the queue's server until it answers or `until` has passed. `fill` adds
    /// the number of keys, the keys and the arguments, for this variant of the script; it may refuse that.
    pub(super) async fn run(
        &self,
        queue: &QueueName,
        script: Script,
        until: Instant,
        late_copy: Option<&AtomicBool>,
        fill: impl Fn(&mut Cmd, Script) -> Result<()> + Send + Sync,
    ) -> Result<Value> {
        let make = |script, by_text| {
            let mut command = match by_text {
                true => self.scripts.by_text(script),
                false => self.scripts.by_digest(script),
            };
            fill(&mut command, script)?;
            Ok(command)
        };
        // Nobody waits for the first answer of an extended variant: the plain one may have been answered.
        let mut by_text = script.is_extended() && !self.scripts.is_known(script);
        let (mut variant, by_text_first) = (script, by_text);
        let instead = |decision: &RetryDecision| {
            match decision {
                // For the rest of the call: the server may forget the script again.
                RetryDecision::LoadScript => by_text = true,
                RetryDecision::Extended => variant = variant.extended()?,
                _ => return None,
            }
            Some(make(variant, by_text))
        };
        let mut call = Call::new(self, queue, script.name(), until, late_copy);
        call.confirmed = script.is_confirmed();
        let reply = call.retry(make(script, by_text_first)?, instead).await?;
        self.scripts.set_known(variant);
        Ok(reply)
    }

    /// Runs a plain command on the queue's server.
    pub(super) async fn command(
        &self,
        queue: &QueueName,
        until: Instant,
        command: Cmd,
    ) -> Result<Value> {
        Call::new(self, queue, "command", until, None).retry(command, |_| None).await
    }
}

/// One call, and what its attempts so far have shown.
struct Call<'a> {
    manager: &'a ConnectionManager,
    queue: &'a QueueName,
    /// The operation, for messages.
    what: &'a str,
    until: Instant,
    late_copy: Option<&'a AtomicBool>,
    /// It must be confirmed, if the client asks for that.
    confirmed: bool,
    /// An attempt may have been executed.
    outcome_unknown: bool,
    reply_timeout: Duration,
    backoff: Backoff,
    at_once: u32,
    /// The node that has the queue only for the next attempt.
    ask: Option<Node>,
    last_failure: String,
}

impl<'a> Call<'a> {
    fn new(
        manager: &'a ConnectionManager,
        queue: &'a QueueName,
        what: &'a str,
        until: Instant,
        late_copy: Option<&'a AtomicBool>,
    ) -> Self {
        Call {
            manager,
            queue,
            what,
            until,
            late_copy,
            confirmed: false,
            outcome_unknown: false,
            reply_timeout: manager.reply_timeout,
            backoff: Backoff::up_to(MAX_PAUSE),
            at_once: 0,
            ask: None,
            last_failure: String::from("no time was left to try"),
        }
    }

    /// `instead`: the command to send next, if the decision asks for another one.
    async fn retry(
        mut self,
        mut command: Cmd,
        mut instead: impl FnMut(&RetryDecision) -> Option<Result<Cmd>> + Send,
    ) -> Result<Value> {
        loop {
            if self.manager.closed.is_cancelled() {
                return Err(Error::closed().or_unknown(self.outcome_unknown));
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::unavailable(self.message(), self.outcome_unknown));
            }
            let asking = self.ask.is_some();
            let endpoint = match self.ask.take() {
                Some(node) => Endpoint::Node(node),
                None => self.manager.endpoint(self.queue),
            };
            let Call { manager, confirmed, reply_timeout, .. } = self;
            let attempt =
                manager.attempt(&endpoint, &command, asking, confirmed, reply_timeout, left);
            let failure = match attempt.await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            // The last attempt may have been cut short, also while it was connecting. An earlier one has found the
            // reason, which is never that the server did not know the script.
            let is_cut = self.outcome_unknown && Instant::now() >= self.until;
            let says_why = match failure.decision {
                RetryDecision::Unknown | RetryDecision::NotExecuted { .. } => !is_cut,
                RetryDecision::LoadScript => false,
                _ => true,
            };
            if says_why {
                self.last_failure = failure.message;
            }
            if failure.decision.retries_at_once() {
                self.limit_at_once().await;
            }
            if let Some(next) = instead(&failure.decision) {
                command = next.map_err(|error| error.or_unknown(self.outcome_unknown))?;
                continue;
            }
            let error = match failure.decision {
                RetryDecision::TooLarge => self.too_large(&endpoint, &command, left).await,
                RetryDecision::Denied => self.denied(&command),
                RetryDecision::Unconfirmable { executed } => {
                    self.outcome_unknown |= executed;
                    Error::invalid(self.message())
                }
                decision => match self.prepare_next(decision, &endpoint).await {
                    None => continue,
                    Some(error) => error,
                },
            };
            return Err(error.or_unknown(self.outcome_unknown));
        }
    }

    /// Prepares the next attempt, or returns the error that ends the call.
    async fn prepare_next(&mut self, decision: RetryDecision, asked: &Endpoint) -> Option<Error> {
        match decision {
            RetryDecision::Moved(node) => self.manager.moved(self.queue, node, asked),
            RetryDecision::Ask(node) => self.ask = Some(on_same_host(node, asked)),
            RetryDecision::NotExecuted { .. } => self.back_off().await,
            RetryDecision::Unknown => {
                self.outcome_unknown = true;
                // The request is sent again, on another connection: the first copy may arrive later.
                if let Some(late_copy) = self.late_copy {
                    late_copy.store(true, Ordering::Relaxed);
                }
                self.reply_timeout = self.reply_timeout.saturating_mul(2);
                self.back_off().await;
            }
            RetryDecision::Unconfirmed => {
                self.outcome_unknown = true;
                // Waiting even longer, the client would be late to find another master.
                let most = self.manager.reply_timeout.saturating_mul(4).max(self.reply_timeout);
                self.reply_timeout = self.reply_timeout.saturating_mul(2).min(most);
                self.back_off().await;
            }
            RetryDecision::Superseded if self.outcome_unknown => {
                return Some(Error::unavailable(self.message(), true));
            }
            RetryDecision::OtherFormat => {
                let Call { queue, what, last_failure, .. } = self;
                let message = format_args!(
                    "queue {queue}, {what}: the storage format is another one now: {last_failure}"
                );
                return Some(Error::new(ErrorKind::Incompatible, message));
            }
            RetryDecision::PartiallyApplied => {
                let message = self.message();
                return Some(Error::internal(format_args!(
                    "{message}; the operation may have stopped half-way: run check"
                )));
            }
            _ => return Some(Error::internal(self.message())),
        }
        None
    }

    async fn back_off(&mut self) {
        self.manager.forget_route(self.queue);
        self.manager.back_off(&mut self.backoff, self.until).await;
    }

    async fn limit_at_once(&mut self) {
        self.at_once += 1;
        if self.at_once > MAX_AT_ONCE {
            self.manager.back_off(&mut self.backoff, self.until).await;
        }
    }

    fn message(&self) -> String {
        format!("queue {}, {}: {}", self.queue, self.what, self.last_failure)
    }

    fn denied(&self, command: &Cmd) -> Error {
        let name = command_name(command);
        let Call { queue, what, last_failure, .. } = self;
        Error::invalid(format_args!(
            "queue {queue}, {what}: the user may not run {name}: {last_failure}; grant +{name} \
             on the keys of the queue"
        ))
    }

    async fn too_large(&self, endpoint: &Endpoint, command: &Cmd, left: Duration) -> Error {
        let size = command.args_iter().map(|arg| match arg {
            Arg::Simple(bytes) => bytes.len(),
            _ => 0,
        });
        let size = size.max().unwrap_or(0);
        let limit = self.max_argument(endpoint, left).await;
        Error::invalid(format_args!(
            "queue {}, {}: an item takes {size} bytes, and the server at most {limit} \
             (proto-max-bulk-len)",
            self.queue, self.what
        ))
    }

    /// How large an argument may be, for people.
    async fn max_argument(&self, endpoint: &Endpoint, left: Duration) -> String {
        let mut get = cmd("CONFIG");
        get.arg("GET").arg("proto-max-bulk-len");
        let timeout = self.manager.reply_timeout;
        let reply = self.manager.attempt(endpoint, &get, false, false, timeout, left).await.ok();
        let limit = reply.and_then(|reply| from_redis_value::<(String, String)>(reply).ok());
        limit.map_or_else(|| "fewer".into(), |(_, limit)| limit)
    }
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
