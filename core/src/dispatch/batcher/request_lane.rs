//! Sends the requests of one poll loop, one after the other, and answers their calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::deadline::{end_of_wait, next_check, sleep_until};
use super::op::{BatchOf, Next, Op, RequestFuture};
use super::replies::deliver_replies;
use super::state::State;
use crate::dispatch::lane::Lane;
use crate::engine::RequestId;
use crate::{Error, ErrorKind, Result};

pub(super) struct RequestLane<O: Op> {
    state: Arc<State<O>>,
    /// `None`: the next request takes one.
    lane: Option<Lane>,
    /// The request in flight.
    current: Option<Current<O>>,
    /// Calls whose common request was refused, in batches of one, that are still to be sent.
    refused: VecDeque<BatchOf<O>>,
    /// It counts among the requests in flight.
    is_counted: bool,
}

struct Current<O: Op> {
    batch: BatchOf<O>,
    id: RequestId,
}

impl<O: Op> RequestLane<O> {
    pub(super) fn new(state: &Arc<State<O>>) -> Self {
        RequestLane {
            state: state.clone(),
            lane: None,
            current: None,
            refused: VecDeque::new(),
            is_counted: false,
        }
    }

    /// The request for a batch, which is sent when it is first polled.
    pub(super) fn prepare(&mut self, mut batch: BatchOf<O>) -> RequestFuture<O::Reply> {
        let state = &self.state;
        if !std::mem::replace(&mut self.is_counted, true) {
            state.pending().in_flight += 1;
        }
        let lane = self.lane.get_or_insert_with(|| state.queue.lanes.take());
        let id = lane.next(batch.until);
        let request = state.op.send(&state.queue, &mut batch, id.clone());
        self.current = Some(Current { batch, id });
        request
    }

    /// Whether requests that must not overtake the current one can be sent before its reply: it is not sent
    /// again.
    pub(super) fn is_in_order(&self) -> bool {
        let (state, Some(current)) = (&self.state, &self.current) else { return true };
        let command = state.op.command(&current.batch);
        state.op.keeps_order(&state.queue) && state.pending().answered[command]
    }

    /// Waits for the reply, however long the engine takes. Calls whose deadlines pass meanwhile get errors.
    pub(super) async fn reply(&mut self, mut request: RequestFuture<O::Reply>) -> Result<O::Reply> {
        loop {
            let sent = self.expire();
            let next = self.state.expire().map_or(sent, |pending| sent.min(pending));
            tokio::select! {
                biased;
                reply = &mut request => return reply,
                () = sleep_until(Some(next)) => {}
            }
        }
    }

    /// Answers the calls whose deadlines have passed. Returns when to do it again.
    fn expire(&mut self) -> Instant {
        let (now, queue) = (Instant::now(), &self.state.queue);
        let until = self.current.as_ref().map_or(now, |current| current.batch.until);
        let mut next = next_check(now, until);
        for call in self.current.iter_mut().flat_map(|current| &mut current.batch.calls) {
            // A call that waits for an item has no deadline for this reply.
            let end = end_of_wait(call.deadline.unwrap_or(until), until);
            if end > now {
                next = next.min(end);
            } else {
                call.fail(queue.late(true));
            }
        }
        for call in self.refused.iter_mut().flat_map(|batch| &mut batch.calls) {
            match call.deadline {
                Some(deadline) if deadline <= now => call.fail(queue.late(false)),
                Some(deadline) => next = next.min(deadline),
                None => {}
            }
        }
        next
    }

    /// Answers the calls of the request, or puts them back.
    pub(super) async fn finish(&mut self, reply: Result<O::Reply>) -> Next {
        let Some(current) = self.current.take() else { return Next::Send };
        match reply {
            Err(error) if current.batch.calls.len() > 1 && self.did_nothing(&error) => {
                self.retry_alone(current, &error).await;
                self.uncount();
                Next::Send
            }
            reply => {
                self.uncount();
                self.finish_batch(current, reply)
            }
        }
    }

    /// The request is not in flight any more.
    fn uncount(&mut self) {
        if std::mem::take(&mut self.is_counted) {
            self.state.pending().in_flight -= 1;
        }
    }

    /// Whether a request that has failed as a whole has changed nothing.
    fn did_nothing(&self, error: &Error) -> bool {
        match error.kind() {
            _ if error.outcome_unknown() => false,
            ErrorKind::Invalid | ErrorKind::Incompatible => true,
            ErrorKind::Internal => self.state.queue.context.engine.undoes_failures(),
            _ => false,
        }
    }

    /// Sends the calls of a refused request one by one. One of them may be at fault, and the others must not
    /// fail for it.
    async fn retry_alone(&mut self, current: Current<O>, error: &Error) {
        match self.state.op.split(current.batch) {
            Ok(batches) => self.refused.extend(batches),
            Err(batch) => return self.fail(Current { batch, ..current }, error),
        }
        while let Some(batch) = self.refused.pop_front() {
            if batch.calls.iter().all(|call| call.is_answered()) {
                // Its deadline passed before it could be sent.
                continue;
            }
            let request = self.prepare(batch);
            let reply = self.reply(request).await;
            if let Some(current) = self.current.take() {
                self.finish_batch(current, reply);
            }
        }
    }

    fn finish_batch(&mut self, current: Current<O>, reply: Result<O::Reply>) -> Next {
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                self.fail(current, &error);
                return Next::Send;
            }
        };
        let Current { batch, .. } = current;
        let state = &self.state;
        let distributed = {
            let mut pending = state.pending();
            pending.answered[state.op.command(&batch)] = true;
            let calls = batch.calls.len() + pending.len();
            pending.hint.observe(calls);
            let distributed = state.op.distribute(&state.queue, &mut pending, batch, reply);
            pending.served_in_full = distributed.served_in_full;
            distributed
        };
        deliver_replies(&state.queue.context, distributed.deliveries);
        distributed.next
    }

    fn fail(&mut self, current: Current<O>, error: &Error) {
        if error.outcome_unknown() {
            self.recover(&current);
        }
        self.state.discard(&current.batch.calls);
        for mut call in current.batch.calls {
            call.fail(error.clone());
        }
    }

    /// The outcome of the request is unknown.
    fn recover(&mut self, Current { batch, id }: &Current<O>) {
        if self.state.op.recover(&self.state.queue, batch, id) {
            self.lane = None;
        } else if let Some(lane) = &mut self.lane {
            lane.unknown();
        }
    }

    /// Gives the lane back after the last request.
    pub(super) fn end(&mut self) {
        if let Some(lane) = self.lane.take() {
            self.state.queue.lanes.put_back(lane);
        }
    }
}

/// Cleans up when a panic, or the end of the runtime, has ended the poll loop. The lane of a request in flight
/// is not used again.
impl<O: Op> Drop for RequestLane<O> {
    fn drop(&mut self) {
        self.uncount();
        let queue = self.state.queue.clone();
        if let Some(mut current) = self.current.take() {
            self.recover(&current);
            self.state.discard(&current.batch.calls);
            for call in &mut current.batch.calls {
                call.fail(queue.stopped(true));
            }
        }
        for call in self.refused.iter_mut().flat_map(|batch| &mut batch.calls) {
            call.fail(queue.stopped(false));
        }
    }
}
