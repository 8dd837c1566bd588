//! Sends one request after the other, until no call is pending or another loop is enough.

use std::sync::Arc;
use std::task::Poll;

use super::linger::{linger, start_send};
use super::op::{BatchOf, Next, Op, PendingOf};
use super::request_lane::RequestLane;
use super::state::State;
use crate::dispatch::order::SendPermit;

pub(super) struct PollLoop<O: Op> {
    state: Arc<State<O>>,
    requests: RequestLane<O>,
    has_ended: bool,
}

enum Taken<O: Op> {
    Batch(BatchOf<O>),
    Nothing,
    /// The loop has ended.
    End,
}

impl<O: Op> PollLoop<O> {
    /// The caller counts it among the loops.
    pub(super) fn new(state: &Arc<State<O>>) -> Self {
        let requests = RequestLane::new(state);
        PollLoop { state: state.clone(), requests, has_ended: false }
    }

    pub(super) async fn run(mut self) {
        let state = self.state.clone();
        let min_batch = state.min_batch();
        let mut rested = false;
        loop {
            let send_lock = state.send_lock.lock().await;
            linger(|| state.pending().to_linger_for(min_batch)).await;
            let mut permit = state.permit().await;
            let batch = match self.take_batch(&mut permit, rested) {
                Taken::Batch(batch) => batch,
                Taken::Nothing => continue,
                Taken::End => return,
            };
            let mut request = self.requests.prepare(batch);
            let started = start_send(request.as_mut()).await;
            let unanswered = if started.is_ready() || self.requests.is_in_order() {
                drop(permit);
                None
            } else {
                Some(permit.release_unanswered())
            };
            drop(send_lock);
            let reply = match started {
                Poll::Ready(reply) => reply,
                Poll::Pending => self.requests.reply(request).await,
            };
            drop(unanswered);
            let next = self.requests.finish(reply).await;
            rested = matches!(next, Next::Rest(_));
            let Next::Rest(time) = next else { continue };
            if self.leave_to_another() {
                // What the other loop knows may be older.
                return state.news.notify_one();
            }
            state.rest(time).await;
        }
    }

    fn take_batch(&mut self, permit: &mut SendPermit<'_>, rested: bool) -> Taken<O> {
        let state = self.state.clone();
        state.expire();
        let mut pending = state.pending();
        let discarded = state.op.discard(&state.queue, &mut pending);
        state.discard(&discarded);
        // The loop may have had news for calls that are gone.
        let passes_on = rested || pending.counted_on;
        if pending.is_done(state.min_batch(), passes_on) {
            if !pending.is_empty() {
                // The other loop may be resting.
                state.news.notify_one();
            }
            self.end(&mut pending);
            return Taken::End;
        }
        let batch = state.op.next_batch(&state.queue, &mut pending, permit.limit());
        if batch.calls.is_empty() && !passes_on {
            return Taken::Nothing;
        }
        permit.mark_sent(batch.last);
        Taken::Batch(batch)
    }

    /// Ends if there is another loop.
    fn leave_to_another(&mut self) -> bool {
        let state = self.state.clone();
        let mut pending = state.pending();
        let another = pending.loops > 1;
        if another {
            self.end(&mut pending);
        }
        another
    }

    fn end(&mut self, pending: &mut PendingOf<O>) {
        self.has_ended = true;
        self.requests.end();
        pending.loops -= 1;
        if pending.loops == 0 {
            pending.poll_turn.leave();
            self.state.queue.order.clear_driven(self.state.op.kind());
        }
    }
}

/// Cleans up when a panic, or the end of the runtime, has ended the loop.
impl<O: Op> Drop for PollLoop<O> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let state = &self.state;
        let orphaned = {
            let mut pending = state.pending();
            pending.loops -= 1;
            if pending.loops > 0 {
                return;
            }
            state.queue.order.clear_driven(state.op.kind());
            pending.poll_turn.leave();
            // No loop serves them. The next call starts a new one.
            let all = pending.len();
            pending.take_first(all)
        };
        state.discard(&orphaned);
        for mut call in orphaned {
            call.fail(state.queue.stopped(false));
        }
    }
}
