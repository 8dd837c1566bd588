//! Many calls, one request: for operations that the engine answers at once.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::flight::{Flight, drive};
use super::order::{Items, Kind, Sent, Turn};
use super::pace::{Company, board, depart, hand_over};
use super::{Lane, Shared};
use crate::engine::{Engine, Stamp};
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_SHARED_BYTES};
use crate::{Error, ErrorKind, Result};

/// Requests in flight at the same time. While one travels the next one fills.
const MAX_FLIGHTS: usize = 2;
/// A request goes on until the last deadline of its calls, and the engine may answer a little later. A
/// call whose own deadline is earlier by less than this is told what has become of the request, if that
/// is known so long after the last deadline, and any other that it is not known.
pub(super) const GRACE: Duration = Duration::from_millis(100);

type Answer<O> = Pin<Box<dyn Future<Output = Result<Vec<O>>> + Send>>;
type Run<I, O> = fn(Arc<dyn Engine>, QueueName, Arc<Vec<I>>, Stamp) -> Answer<O>;

/// Collects the calls of one operation on one queue.
pub(crate) struct Batcher<I, O>(Arc<Inner<I, O>>);

struct Inner<I, O> {
    shared: Arc<Shared>,
    kind: Kind,
    run: Run<I, O>,
    name: fn(&mut Items, &I),
    weigh: fn(&I) -> usize,
    state: Mutex<Waiting<I, O>>,
    /// Held while a request waits for more calls, so that two do not share them out.
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
    /// Its place among the calls of all kinds.
    number: u64,
    inputs: Vec<I>,
    bytes: usize,
    /// Its deadline: the time in line counts.
    until: Instant,
    reply: oneshot::Sender<Result<Vec<O>>>,
}

/// A call that was sent.
struct Caller<O> {
    inputs: usize,
    until: Instant,
    /// `None`: it has been answered.
    reply: Option<oneshot::Sender<Result<Vec<O>>>>,
}

impl<I: Clone + Send + Sync + 'static, O: Send + 'static> Batcher<I, O> {
    /// `name`: adds the items that an input names, as the [`Order`](super::Order) of calls compares them.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        kind: Kind,
        name: fn(&mut Items, &I),
        run: Run<I, O>,
    ) -> Self {
        let state = Waiting {
            calls: VecDeque::new(),
            inputs: 0,
            flights: 0,
            away: 0,
            answered: false,
            company: Company::default(),
        };
        Batcher(Arc::new(Inner {
            shared: shared.clone(),
            kind,
            run,
            name,
            weigh: |_| 0,
            state: Mutex::new(state),
            door: tokio::sync::Mutex::default(),
        }))
    }

    /// Bounds what several calls share a request by the bytes of their inputs as well.
    pub(crate) fn weighed(mut self, weigh: fn(&I) -> usize) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.weigh = weigh;
        }
        self
    }

    /// Sends 1 to [`MAX_BATCH`] inputs in one request, together with those of other calls, and answers
    /// soon after `until` at the latest. The request goes on when this future is dropped.
    pub(crate) async fn call(&self, inputs: Vec<I>, until: Instant) -> Result<Vec<O>> {
        let inner = &self.0;
        let shared = &inner.shared;
        let bytes = inputs.iter().map(inner.weigh).sum();
        let (reply, mut answer) = oneshot::channel();
        let (alone, flights) = {
            let mut state = inner.lock();
            let name =
                |items: &mut Items| inputs.iter().for_each(|input| (inner.name)(items, input));
            let alone = state.flights == 0;
            state.inputs += inputs.len();
            let worth = state.inputs >= shared.context.engine.worth_a_request();
            let full = state.answered && state.flights < MAX_FLIGHTS && worth;
            let own = (alone || full).then(|| {
                state.flights += 1;
                Flight::new(&shared.context, Flying::start(inner).fly())
            });
            let drives = own.clone().filter(|_| alone);
            let (number, first) = shared.order.join(inner.kind, name, drives);
            state.calls.push_back(Call { number, inputs, bytes, until, reply });
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

impl<I, O> Inner<I, O> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting<I, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls in line whose time is over are told so. When the next one's will be.
    fn expire(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut expired = VecDeque::new();
        let next = {
            let mut state = self.lock();
            if state.calls.iter().any(|call| call.until <= now) {
                let calls = std::mem::take(&mut state.calls);
                let (gone, stay): (VecDeque<_>, _) =
                    calls.into_iter().partition(|call| call.until <= now);
                state.calls = stay;
                state.inputs -= gone.iter().map(|call| call.inputs.len()).sum::<usize>();
                expired = gone;
            }
            state.calls.iter().map(|call| call.until).min()
        };
        let numbers: Vec<u64> = expired.iter().map(|call| call.number).collect();
        self.shared.order.leave(self.kind, &numbers);
        for call in expired {
            let _ = call.reply.send(Err(self.shared.late(false)));
        }
        next
    }
}

/// Sends one request after the other until no call is left.
struct Flying<I, O> {
    inner: Arc<Inner<I, O>>,
    lane: Option<Lane>,
    /// Those of the request that is on its way.
    callers: Vec<Caller<O>>,
    /// Those whose request was refused, and who have one of their own to come.
    refused: VecDeque<Caller<O>>,
    away: bool,
}

impl<I: Clone + Send + Sync + 'static, O: Send + 'static> Flying<I, O> {
    fn start(inner: &Arc<Inner<I, O>>) -> Self {
        let lane = Some(inner.shared.lanes.take());
        let (callers, refused) = (Vec::new(), VecDeque::new());
        Flying { inner: inner.clone(), lane, callers, refused, away: false }
    }

    async fn fly(mut self) {
        let inner = self.inner.clone();
        let worth = inner.shared.context.engine.worth_a_request();
        loop {
            let door = inner.door.lock().await;
            board(|| inner.lock().aboard(worth)).await;
            let turn = loop {
                if let Some(turn) = inner.shared.order.try_turn(inner.kind, None) {
                    break turn;
                }
                let next = inner.expire();
                tokio::select! {
                    turn = inner.shared.order.turn(inner.kind, || None) => break turn,
                    () = at(next) => {}
                }
            };
            let Some((batch, turn, until)) = self.take(turn) else { return };
            if batch.is_empty() {
                continue;
            }
            let batch = Arc::new(batch);
            let stamp = self.stamp(until);
            let (engine, queue) = (inner.shared.context.engine.clone(), inner.shared.queue.clone());
            let mut request = (inner.run)(engine, queue, batch.clone(), stamp);
            let departed = depart(request.as_mut()).await;
            let answered = {
                let mut state = inner.lock();
                state.away += 1;
                self.away = true;
                state.answered
            };
            let unanswered: Option<Sent<'_>> = match answered || departed.is_ready() {
                true => {
                    drop(turn);
                    None
                }
                false => Some(turn.end_unanswered()),
            };
            drop(door);
            let answers = match departed {
                Poll::Ready(answers) => answers,
                Poll::Pending => self.answer(request, until).await,
            };
            drop(unanswered);
            {
                let mut state = inner.lock();
                state.away -= 1;
                self.away = false;
                state.answered |= answers.is_ok();
                let waiting = state.calls.len();
                state.company.seen(self.callers.len() + waiting);
            }
            match answers {
                Err(error) if self.callers.len() > 1 && inner.did_nothing(&error) => {
                    self.each_alone(&batch).await;
                }
                answers => self.reply(answers),
            }
        }
    }

    /// The inputs of the next request and its deadline. `None`: there are none, and nobody flies here any
    /// more.
    fn take<'a>(&mut self, mut turn: Turn<'a>) -> Option<(Vec<I>, Turn<'a>, Instant)> {
        let inner = self.inner.clone();
        let mut state = inner.lock();
        let now = Instant::now();
        let (mut batch, mut bytes, mut until) = (Vec::new(), 0, now);
        while let Some(call) = state.calls.front() {
            let full = batch.len() + call.inputs.len() > MAX_BATCH
                || bytes + call.bytes > MAX_SHARED_BYTES;
            if full && !batch.is_empty() || call.number >= turn.limit() {
                break;
            }
            let Some(call) = state.calls.pop_front() else { break };
            state.inputs -= call.inputs.len();
            turn.sends(call.number);
            if call.until <= now {
                let _ = call.reply.send(Err(inner.shared.late(false)));
                continue;
            }
            bytes += call.bytes;
            until = until.max(call.until);
            let (inputs, reply) = (call.inputs.len(), Some(call.reply));
            self.callers.push(Caller { inputs, until: call.until, reply });
            batch.extend(call.inputs);
        }
        // Those that came after the turn had begun are left, perhaps alone.
        if !batch.is_empty() || !state.calls.is_empty() {
            return Some((batch, turn, until));
        }
        if let Some(lane) = self.lane.take() {
            inner.shared.lanes.put_back(lane);
        }
        state.flights -= 1;
        if state.flights == 0 {
            inner.shared.order.rests(inner.kind);
        }
        None
    }

    fn stamp(&mut self, until: Instant) -> Stamp {
        let lanes = &self.inner.shared.lanes;
        self.lane.get_or_insert_with(|| lanes.take()).next(until)
    }

    /// Waits for the answer, however long the engine takes. Calls whose own time is over before are told
    /// so.
    async fn answer(&mut self, mut request: Answer<O>, until: Instant) -> Result<Vec<O>> {
        loop {
            let next = self.expire(until);
            tokio::select! {
                biased;
                answers = &mut request => return answers,
                () = at(Some(next)) => {}
            }
        }
    }

    /// When to do it again.
    fn expire(&mut self, until: Instant) -> Instant {
        let now = Instant::now();
        let mut next = look_again(now, until);
        for caller in &mut self.callers {
            let end = end_of_wait(caller.until, until);
            if end > now {
                next = next.min(end);
            } else if let Some(reply) = caller.reply.take() {
                let _ = reply.send(Err(self.inner.shared.late(true)));
            }
        }
        for caller in self.refused.iter_mut().filter(|caller| caller.reply.is_some()) {
            if caller.until > now {
                next = next.min(caller.until);
            } else if let Some(reply) = caller.reply.take() {
                let _ = reply.send(Err(self.inner.shared.late(false)));
            }
        }
        // Those in line came later: before, their time is not over either.
        if now > until {
            self.inner.expire();
        }
        next
    }

    fn reply(&mut self, answers: Result<Vec<O>>) {
        if answers.as_ref().is_err_and(Error::outcome_unknown)
            && let Some(lane) = &mut self.lane
        {
            lane.unknown();
        }
        let callers = self.callers.drain(..);
        match answers {
            Ok(answers) => {
                let mut answers = answers.into_iter();
                let each = callers.filter_map(|caller| {
                    let own = answers.by_ref().take(caller.inputs).collect();
                    caller.reply.map(|reply| (reply, Ok(own)))
                });
                hand_over(&self.inner.shared.context, each.collect());
            }
            Err(error) => {
                for caller in callers {
                    caller.reply.map(|reply| reply.send(Err(error.clone())));
                }
            }
        }
    }

    /// Nothing happened, and one of the calls may be at fault: none of the others fails for it.
    async fn each_alone(&mut self, batch: &[I]) {
        let inner = self.inner.clone();
        self.refused.extend(self.callers.drain(..));
        let mut batch = batch.iter();
        while let Some(caller) = self.refused.pop_front() {
            let own: Vec<I> = batch.by_ref().take(caller.inputs).cloned().collect();
            if caller.reply.is_none() {
                // Its time was over before its turn came.
                continue;
            }
            let (until, queue) = (caller.until, inner.shared.queue.clone());
            self.callers.push(caller);
            let request = (inner.run)(
                inner.shared.context.engine.clone(),
                queue,
                Arc::new(own),
                self.stamp(until),
            );
            let answers = self.answer(request, until).await;
            self.reply(answers);
        }
    }
}

impl<I, O> Inner<I, O> {
    /// The request has failed as a whole.
    fn did_nothing(&self, error: &Error) -> bool {
        match error.kind() {
            _ if error.outcome_unknown() => false,
            ErrorKind::Invalid | ErrorKind::Incompatible => true,
            ErrorKind::Internal => self.shared.context.engine.undoes_failures(),
            _ => false,
        }
    }
}

/// What is left to do when a panic, or the end of the runtime, has ended the flight.
impl<I, O> Drop for Flying<I, O> {
    fn drop(&mut self) {
        // It has ended by itself.
        if self.lane.is_none() && self.callers.is_empty() {
            return;
        }
        let inner = &self.inner;
        let left = {
            let mut state = inner.lock();
            state.away -= usize::from(self.away);
            state.flights -= 1;
            if state.flights == 0 {
                // Nobody serves those in line. The next call starts anew.
                state.inputs = 0;
                inner.shared.order.rests(inner.kind);
                std::mem::take(&mut state.calls)
            } else {
                VecDeque::new()
            }
        };
        let numbers: Vec<u64> = left.iter().map(|call| call.number).collect();
        inner.shared.order.leave(inner.kind, &numbers);
        for call in left {
            let _ = call.reply.send(Err(inner.shared.stopped(false)));
        }
        let sent = self.callers.drain(..).map(|caller| (caller, true));
        let not_sent = self.refused.drain(..).map(|caller| (caller, false));
        for (caller, sent) in sent.chain(not_sent) {
            caller.reply.map(|reply| reply.send(Err(inner.shared.stopped(sent))));
        }
    }
}

/// When a call with a deadline of its own is told that the time of its request, with that deadline, is
/// over.
pub(super) fn end_of_wait(own: Instant, request: Instant) -> Instant {
    if own + GRACE < request { own } else { request + GRACE }
}

/// When to look for calls whose time is over, at the latest, while a request with this deadline is on
/// its way: others may come to stand in line behind it.
pub(super) fn look_again(now: Instant, request: Instant) -> Instant {
    let end = request + GRACE;
    if now < end { end } else { now + GRACE }
}

/// `None`: never.
pub(super) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
