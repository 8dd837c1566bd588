//! Many calls, one request: for operations that the engine answers at once.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Instant;

use tokio::sync::oneshot;

use super::flight::{Flight, drive};
use super::pace::{Company, board, depart, hand_over};
use super::{Context, Lane};
use crate::engine::{Engine, Stamp};
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES};
use crate::{Error, Result};

/// Requests in flight at the same time. While one travels the next one fills.
const MAX_FLIGHTS: usize = 2;

type Answer<O> = Pin<Box<dyn Future<Output = Result<Vec<O>>> + Send>>;
type Run<I, O> = fn(Arc<dyn Engine>, QueueName, Vec<I>, Stamp) -> Answer<O>;

/// Collects the calls of one operation on one queue.
pub(crate) struct Batcher<I, O>(Arc<Inner<I, O>>);

struct Inner<I, O> {
    context: Arc<Context>,
    queue: QueueName,
    run: Run<I, O>,
    weigh: fn(&I) -> usize,
    state: Mutex<Waiting<I, O>>,
    /// Held from taking calls to sending them, so that requests leave in the order of the calls.
    door: tokio::sync::Mutex<()>,
}

struct Waiting<I, O> {
    calls: VecDeque<Call<I, O>>,
    inputs: usize,
    flights: usize,
    /// How many of them were sent and not answered.
    away: usize,
    /// Until there was an answer, requests go one by one: the engine may have to send the first one
    /// again, since a server learns its script, and the next would overtake it.
    answered: bool,
    company: Company,
    /// The one that its first call drives, if there is one.
    driven: Option<Arc<Flight>>,
    idle_lanes: Vec<Lane>,
}

impl<I, O> Waiting<I, O> {
    /// How many calls a request would carry now; `None` if it need not wait for more: nobody else
    /// calls, or they are enough for an engine that has nothing to do.
    fn aboard(&self, worth_a_request: usize) -> Option<usize> {
        let enough = !self.company.is_likely() || self.away == 0 && self.inputs >= worth_a_request;
        (!enough).then_some(self.calls.len())
    }
}

struct Call<I, O> {
    inputs: Vec<I>,
    bytes: usize,
    /// Its deadline: the time in line counts.
    until: Instant,
    reply: oneshot::Sender<Result<Vec<O>>>,
}

impl<I: Send + 'static, O: Send + 'static> Batcher<I, O> {
    pub(crate) fn new(context: &Arc<Context>, queue: &QueueName, run: Run<I, O>) -> Self {
        let state = Waiting {
            calls: VecDeque::new(),
            inputs: 0,
            flights: 0,
            away: 0,
            answered: false,
            company: Company::default(),
            driven: None,
            idle_lanes: Vec::new(),
        };
        Batcher(Arc::new(Inner {
            context: context.clone(),
            queue: queue.clone(),
            run,
            weigh: |_| 0,
            state: Mutex::new(state),
            door: tokio::sync::Mutex::default(),
        }))
    }

    /// Bounds the requests by the bytes of their inputs as well.
    pub(crate) fn weighed(mut self, weigh: fn(&I) -> usize) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.weigh = weigh;
        }
        self
    }

    /// Sends 1 to [`MAX_BATCH`] inputs in one request, together with those of other calls. The
    /// request goes on when this future is dropped.
    pub(crate) async fn call(&self, inputs: Vec<I>) -> Result<Vec<O>> {
        let inner = &self.0;
        let bytes = inputs.iter().map(inner.weigh).sum();
        let until = inner.context.until();
        let (reply, mut answer) = oneshot::channel();
        let (alone, flights) = {
            let mut state = inner.lock();
            state.inputs += inputs.len();
            state.calls.push_back(Call { inputs, bytes, until, reply });
            let alone = state.flights == 0;
            let worth = state.inputs >= inner.context.engine.worth_a_request();
            let full = state.answered && state.flights < MAX_FLIGHTS && worth;
            let own = (alone || full).then(|| {
                state.flights += 1;
                let inner = inner.clone();
                Flight::new(&inner.context.clone(), async move { inner.fly().await })
            });
            // What the first call drives is no longer for that one alone.
            let first = std::mem::replace(&mut state.driven, own.clone().filter(|_| alone));
            (alone, [first, own])
        };
        let answer = match flights {
            [_, Some(own)] if alone => drive(own, &mut answer).await,
            flights => {
                flights.iter().flatten().for_each(|flight| flight.launch());
                answer.await
            }
        };
        // The sender is dropped only when the runtime shuts down.
        answer.unwrap_or_else(|_| Err(Error::closed()))
    }
}

impl<I: Send + 'static, O: Send + 'static> Inner<I, O> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting<I, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends one request after the other until no call is left.
    async fn fly(&self) {
        let worth = self.context.engine.worth_a_request();
        let mut lane = self.lock().idle_lanes.pop().unwrap_or_else(|| self.context.lanes.make());
        loop {
            let door = self.door.lock().await;
            board(|| self.lock().aboard(worth)).await;
            let mut batch = Vec::new();
            let mut callers = Vec::new();
            let now = Instant::now();
            let mut until = now;
            {
                let mut state = self.lock();
                let mut bytes = 0;
                while let Some(call) = state.calls.front() {
                    let full = batch.len() + call.inputs.len() > MAX_BATCH
                        || bytes + call.bytes > MAX_BATCH_BYTES;
                    if full && !batch.is_empty() {
                        break;
                    }
                    let Some(call) = state.calls.pop_front() else { break };
                    state.inputs -= call.inputs.len();
                    if call.until <= now {
                        let late = format_args!("queue {}: no answer in time", self.queue);
                        let _ = call.reply.send(Err(Error::unavailable(late, false)));
                        continue;
                    }
                    bytes += call.bytes;
                    until = until.max(call.until);
                    callers.push((call.inputs.len(), call.reply));
                    batch.extend(call.inputs);
                }
                if batch.is_empty() {
                    state.flights -= 1;
                    if state.flights == 0 {
                        state.driven = None;
                    }
                    state.idle_lanes.push(lane);
                    return;
                }
            }
            let stamp = lane.next(until);
            let sent = stamp.clone();
            let engine = self.context.engine.clone();
            let mut answers = (self.run)(engine, self.queue.clone(), batch, stamp);
            let answered = depart(answers.as_mut()).await;
            self.lock().away += 1;
            drop(door);
            let answers = match answered {
                Poll::Ready(answers) => answers,
                Poll::Pending => answers.await,
            };
            {
                let mut state = self.lock();
                state.away -= 1;
                state.answered |= answers.is_ok();
                let waiting = state.calls.len();
                state.company.seen(callers.len() + waiting);
            }
            match answers {
                Ok(answers) => {
                    let mut answers = answers.into_iter();
                    let each = callers
                        .into_iter()
                        .map(|(count, reply)| (reply, Ok(answers.by_ref().take(count).collect())));
                    hand_over(&self.context, each.collect());
                }
                Err(error) => {
                    if error.outcome_unknown() {
                        self.context.lanes.keep(&sent);
                    }
                    for (_, reply) in callers {
                        let _ = reply.send(Err(error.clone()));
                    }
                }
            }
        }
    }
}
