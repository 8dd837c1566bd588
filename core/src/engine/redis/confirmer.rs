//! Requests that are answered when replicas or disks have their changes, on a connection of their own.
//!
//! While the server waits for them (WAIT), it reads nothing else from that connection. So the requests that
//! come meanwhile leave together when it is done, in their order, with one WAIT behind them.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use redis::{Cmd, RedisResult, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::confirmation::Confirmation;
use super::connection::Connection;
use super::failure::Failure;
use super::retry_decision::RetryDecision;
use crate::lock::lock;

/// Most requests with one WAIT.
const MOST: usize = 100;

/// Shared by its clones. The connection closes with the last of them.
#[derive(Clone)]
pub(super) struct Confirmer {
    requests: UnboundedSender<Request>,
    _task: Arc<AbortOnDropHandle<()>>,
}

struct Request {
    /// `None`: they were sent, or their caller has given up.
    commands: Arc<Mutex<Option<Vec<Cmd>>>>,
    caller: oneshot::Sender<Result<Value, Failure>>,
    reply_timeout: Duration,
    until: Instant,
}

impl Confirmer {
    pub(super) fn new(connection: Connection, confirmation: Confirmation) -> Self {
        let (requests, pending) = unbounded_channel();
        let task = tokio::spawn(serve(connection, confirmation, pending));
        Confirmer { requests, _task: Arc::new(AbortOnDropHandle::new(task)) }
    }

    /// Whether it sends nothing more: a request was not confirmed, or the connection failed.
    pub(super) fn is_over(&self) -> bool {
        self.requests.is_closed()
    }

    /// Sends commands; returns the reply to the last one when it is confirmed. It takes its place among the
    /// requests when this is first polled. `reply_timeout`: how long the server may take, half of it for being
    /// confirmed, but for the time of disks. `until`: how long the caller waits.
    pub(super) async fn send(
        &self,
        commands: Vec<Cmd>,
        reply_timeout: Duration,
        until: Instant,
    ) -> Result<Value, Failure> {
        let commands = Arc::new(Mutex::new(Some(commands)));
        let (caller, reply) = oneshot::channel();
        // If nobody receives it, its caller is dropped with it.
        let _ = self.requests.send(Request {
            commands: commands.clone(),
            caller,
            reply_timeout,
            until,
        });
        let reply = tokio::time::timeout_at(until.into(), reply).await;
        if let Ok(Ok(reply)) = reply {
            return reply;
        }
        Err(match lock(&commands).take() {
            Some(_) => Failure::new(
                RetryDecision::NotExecuted { reconnect: false },
                "earlier requests are not confirmed yet",
            ),
            None => Failure::new(RetryDecision::Unknown, "the request is not confirmed yet"),
        })
    }
}

/// Ends with the last handle, or when requests may be overtaken: after a failure they are repeated, and the
/// next attempt goes to whoever is the master by then.
async fn serve(
    connection: Connection,
    confirmation: Confirmation,
    mut pending: UnboundedReceiver<Request>,
) {
    let mut requests = Vec::new();
    while pending.recv_many(&mut requests, MOST).await > 0 {
        if !confirm(&connection, confirmation, requests.drain(..)).await {
            return;
        }
    }
}

/// Sends requests with one WAIT behind them, and passes the replies on. False: the connection must not be used
/// any more.
async fn confirm(
    connection: &Connection,
    confirmation: Confirmation,
    requests: impl Iterator<Item = Request>,
) -> bool {
    let (mut commands, mut callers) = (Vec::new(), Vec::new());
    let now = Instant::now();
    let (mut limit, mut until) = (Duration::ZERO, now);
    for request in requests {
        if request.until <= now || request.caller.is_closed() {
            // Its caller has no time left, or was dropped: it is not sent.
        } else if let Some(own) = lock(&request.commands).take() {
            callers.push((own.len(), request.caller));
            commands.extend(own);
            limit = limit.max(request.reply_timeout);
            until = until.max(request.until);
        }
    }
    if callers.is_empty() {
        return true;
    }
    // When the time of all callers is over, nobody receives an answer. A bit earlier, they get the reason.
    let left = until - now;
    let wait = (limit / 2 + confirmation.disk_time()).min(left / 10 * 9);
    let limit = (limit + confirmation.disk_time()).min(left);
    commands.extend(confirmation.commands(wait));
    let Ok(replies) = timeout(limit, send_all(connection, &commands)).await else {
        let failure = Failure::new(RetryDecision::Unknown, format!("no answer for {limit:?}"));
        for (_, caller) in callers {
            let _ = caller.send(Err(failure.clone()));
        }
        return false;
    };
    let mut replies = replies.into_iter();
    let mut own = Vec::with_capacity(callers.len());
    for (count, caller) in callers {
        own.extend(replies.by_ref().take(count).last().map(|reply| (reply, caller)));
    }
    let confirmed = confirmation.judge(replies, wait);
    let mut usable = confirmed.is_ok();
    for (reply, caller) in own {
        let reply = match (reply, &confirmed) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(_), Err(failure)) => Err(failure.clone()),
            (Err(error), _) => Err(Failure::of(&error)),
        };
        usable &= !reply.as_ref().is_err_and(|failure| failure.decision.needs_new_connection());
        let _ = caller.send(reply);
    }
    usable
}

/// Sends the commands in their order and returns the reply to each. They are not one pipeline: the end of the
/// connection would hide the replies that have come before it.
async fn send_all(connection: &Connection, commands: &[Cmd]) -> Vec<RedisResult<Value>> {
    let send = |command| {
        let mut connection = (**connection).clone();
        async move { connection.send_packed_command(command).await?.extract_error() }
    };
    let mut sending: Vec<Pin<Box<_>>> = commands.iter().map(|c| Box::pin(send(c))).collect();
    let mut replies: Vec<Option<RedisResult<Value>>> = sending.iter().map(|_| None).collect();
    poll_fn(|task| {
        for (reply, sending) in replies.iter_mut().zip(&mut sending) {
            if reply.is_none()
                && let Poll::Ready(ready) = sending.as_mut().poll(task)
            {
                *reply = Some(ready);
            }
        }
        if replies.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    replies.into_iter().flatten().collect()
}
