//! Many calls, one request: for operations that the engine answers at once.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::{Context, Lane};
use crate::engine::{Engine, Stamp};
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES};
use crate::{Error, Result};

/// Requests in flight at the same time. While one travels the next one fills.
const MAX_FLIGHTS: usize = 2;
/// A second request leaves only when it is at least this full; else calls made in a row by many
/// tasks would fall apart into many small requests, which cost the server several times as much.
const WORTH_A_FLIGHT: usize = 256;

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
}

struct Waiting<I, O> {
    calls: VecDeque<Call<I, O>>,
    inputs: usize,
    flights: usize,
    idle_lanes: Vec<Lane>,
}

struct Call<I, O> {
    inputs: Vec<I>,
    bytes: usize,
    reply: oneshot::Sender<Result<Vec<O>>>,
}

impl<I: Send + 'static, O: Send + 'static> Batcher<I, O> {
    pub(crate) fn new(context: &Arc<Context>, queue: &QueueName, run: Run<I, O>) -> Self {
        let state =
            Waiting { calls: VecDeque::new(), inputs: 0, flights: 0, idle_lanes: Vec::new() };
        Batcher(Arc::new(Inner {
            context: context.clone(),
            queue: queue.clone(),
            run,
            weigh: |_| 0,
            state: Mutex::new(state),
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
        let (reply, answer) = oneshot::channel();
        let depart = {
            let mut state = inner.lock();
            state.inputs += inputs.len();
            state.calls.push_back(Call { inputs, bytes, reply });
            let depart = state.flights == 0
                || (state.flights < MAX_FLIGHTS && state.inputs >= WORTH_A_FLIGHT);
            state.flights += usize::from(depart);
            depart
        };
        if depart {
            let flight = inner.clone();
            inner.context.spawn(async move { flight.fly().await });
        }
        // The sender is dropped only when the runtime shuts down.
        answer.await.unwrap_or_else(|_| Err(Error::closed()))
    }
}

impl<I: Send + 'static, O: Send + 'static> Inner<I, O> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting<I, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends one request after the other until no call is left.
    async fn fly(&self) {
        let mut lane = self.lock().idle_lanes.pop().unwrap_or_else(|| self.context.lanes.make());
        loop {
            // Tasks that are about to make the same call get on board; with none, this is nothing.
            tokio::task::yield_now().await;
            let mut batch = Vec::new();
            let mut callers = Vec::new();
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
                    bytes += call.bytes;
                    callers.push((call.inputs.len(), call.reply));
                    batch.extend(call.inputs);
                }
                if batch.is_empty() {
                    state.flights -= 1;
                    state.idle_lanes.push(lane);
                    return;
                }
            }
            let stamp = lane.next(self.context.until());
            let engine = self.context.engine.clone();
            match (self.run)(engine, self.queue.clone(), batch, stamp).await {
                Ok(answers) => {
                    let mut answers = answers.into_iter();
                    for (count, reply) in callers {
                        let _ = reply.send(Ok(answers.by_ref().take(count).collect()));
                    }
                }
                Err(error) => {
                    for (_, reply) in callers {
                        let _ = reply.send(Err(error.clone()));
                    }
                }
            }
        }
    }
}
