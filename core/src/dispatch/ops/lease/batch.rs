//! What the first pending calls want together.

use std::time::{Duration, Instant};

use super::args::{Completing, LeaseArgs, LeaseCall, PendingLeases, waits_on};
use crate::dispatch::batcher::Batch;
use crate::dispatch::ops::unclaimed::UnclaimedLeases;
use crate::dispatch::queue_context::QueueContext;
use crate::engine::{Complete, LeaseRequest, Leased};
use crate::options::{MAX_BATCH, MAX_SHARED_BYTES};
use crate::wanted::Wanted;

/// How long the client tries to pass news on that came for calls that are gone.
const PASS_ON: Duration = Duration::from_secs(1);

pub(super) type LeaseBatch = Batch<LeaseArgs, UnclaimedLeases, LeasePayload>;

/// What one request completes and leases.
pub(crate) struct LeasePayload {
    /// Taken by the request.
    pub(super) completes: Vec<Complete>,
    pub(super) completing: Vec<Completing>,
    /// Whether it completes anything.
    pub(super) has_completes: bool,
    /// Taken by the request.
    pub(super) wanted: Vec<LeaseRequest>,
    /// How many items it wants to lease; with the completions, at most [`MAX_BATCH`].
    pub(super) items: usize,
    /// How long the calls wait for news before the client polls again; zero if none waits.
    pub(super) poll_interval: Duration,
    /// Before it was sent: leases are not valid for longer on this process's clock.
    pub(super) begun: Instant,
}

/// The calls up to the first that has something left to complete. What fits into one request is wanted for
/// the first of them. The others are included because, if the queue runs dry, they get nothing either.
pub(super) fn next_batch(
    queue: &QueueContext,
    pending: &mut PendingLeases,
    limit: u64,
) -> LeaseBatch {
    let wants = |call: &LeaseCall| call.args.wanted.as_ref().map(Wanted::get);
    pending.resize(|call| wants(call).unwrap_or(call.size));
    let context = &queue.context;
    let mut request = LeasePayload::new();
    if pending.iter().any(waits_on) {
        request.poll_interval = pending.poll_turn.next(&context.poll_turns, request.begun);
    } else {
        pending.poll_turn.leave();
    }
    pending.counted_on = false;
    let count = request.complete_for(pending, limit);
    let mut calls = pending.take_first(count);
    let until = match calls.iter().map(|call| call.deadline).max() {
        None => request.begun + PASS_ON.min(context.timeout),
        Some(_) if calls.iter().any(|call| call.deadline.is_none()) => {
            request.begun + context.timeout
        }
        Some(latest) => latest.unwrap_or(request.begun),
    };
    let last = request.lease_for(&mut calls);
    Batch { calls, last, until, request }
}

impl LeasePayload {
    fn new() -> Self {
        LeasePayload {
            completes: Vec::new(),
            completing: Vec::new(),
            has_completes: false,
            wanted: Vec::new(),
            items: 0,
            poll_interval: Duration::ZERO,
            begun: Instant::now(),
        }
    }

    /// Takes over what the first calls complete, so that completions never wait until others have what they
    /// wait for. Returns how many calls fit.
    fn complete_for(&mut self, pending: &mut PendingLeases, limit: u64) -> usize {
        let (mut count, mut bytes) = (0, 0);
        for call in pending.iter_mut().take_while(|call| call.unsent() < Some(limit)) {
            let own = call.args.completing.as_ref().map_or(&[][..], |own| &own.leases);
            bytes += own.iter().map(Complete::bytes).sum::<usize>();
            let too_large = count > 0 && bytes > MAX_SHARED_BYTES;
            if self.completes.len() + own.len() > MAX_BATCH || too_large {
                break;
            }
            count += 1;
            if let Some(mut own) = call.args.completing.take() {
                self.completes.append(&mut own.leases);
                self.completing.push(*own);
            }
        }
        self.has_completes = !self.completes.is_empty();
        count
    }

    /// Adds what the first calls want, as far as it fits. Returns the number of the last that was not sent
    /// before.
    fn lease_for(&mut self, calls: &mut [LeaseCall]) -> u64 {
        let mut last = 0;
        for call in calls {
            let count = if call.is_gone() { 0 } else { call.size };
            if self.completes.len() + self.items + count > MAX_BATCH {
                break;
            }
            last = last.max(call.mark_sent().unwrap_or(0));
            self.want(count, call.args.duration_ms);
        }
        last
    }

    fn want(&mut self, count: usize, duration_ms: u64) {
        self.items += count;
        match self.wanted.last_mut() {
            Some(last) if last.duration_ms == duration_ms => last.count += count,
            _ if count > 0 => self.wanted.push(LeaseRequest { count, duration_ms }),
            _ => {}
        }
    }

    /// Whether the engine counts on the client to ask again at the time that it gave, and wakes no other one then.
    pub(super) fn is_counted_on(&self, leased: &Leased) -> bool {
        let look_in = leased.look_in.unwrap_or_default();
        !self.poll_interval.is_zero() && leased.items.is_empty() && !look_in.is_zero()
    }

    /// Which of the engine's three operations it takes: lease, complete, or both.
    pub(super) fn command(&self) -> usize {
        match (self.has_completes, self.items > 0) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::super::args::is_done;
    use super::*;
    use crate::Result;
    use crate::dispatch::batcher::Call;
    use crate::engine::{Generation, Token};

    type Reply = oneshot::Receiver<Result<UnclaimedLeases>>;

    /// A call becomes pending.
    fn push(pending: &mut PendingLeases, completes: u64, count: usize) -> Reply {
        let complete = |count| Complete {
            token: Token { generation: Generation { count, salt: [0; 5] }, delivery: 0 },
            id: "id".into(),
            strict: false,
            added_with: None,
            retain_ms: None,
            result: None,
            add: Arc::default(),
            data_len: 0,
        };
        let completing = (completes > 0).then(|| {
            Box::new(Completing {
                leases: (0..completes).map(complete).collect(),
                handles: Vec::new(),
                reply: oneshot::channel().0,
            })
        });
        let args = LeaseArgs {
            duration_ms: 1,
            until: None,
            completing,
            asked: Arc::default(),
            wanted: None,
        };
        let (reply, replied) = oneshot::channel();
        let number = pending.len() as u64 + 1;
        pending.push(Call::new((number, count), Instant::now(), args, reply));
        replied
    }

    /// How many are completed, and leased for how many calls, of how many that may be answered. All of them
    /// are put back.
    fn next(pending: &mut PendingLeases) -> (usize, usize, usize, usize) {
        let mut request = LeasePayload::new();
        let count = request.complete_for(pending, u64::MAX);
        let mut calls = pending.take_first(count);
        let last = request.lease_for(&mut calls);
        let wanted: usize = request.wanted.iter().map(|wanted| wanted.count).sum();
        assert_eq!(wanted, request.items);
        let sent = calls.iter().filter(|call| call.unsent().is_none()).count();
        assert!(last <= sent as u64);
        calls.into_iter().rev().for_each(|call| pending.put_back(call));
        (request.completes.len(), request.items, sent, count)
    }

    #[test]
    fn a_request_has_1000_items_of_both_kinds_at_most() {
        let mut pending = PendingLeases::default();
        let sizes = [(700, 200), (50, 300), (400, 1)];
        let _replies = sizes.map(|(completes, count)| push(&mut pending, completes, count));
        assert_eq!(next(&mut pending), (750, 200, 1, 2));
        assert_eq!(next(&mut pending), (400, 501, 3, 3));
        assert_eq!(next(&mut pending), (0, 501, 3, 3));
    }

    #[test]
    fn completions_do_not_wait_behind_calls_that_want_many_items() {
        let mut pending = PendingLeases::default();
        let _replies = [push(&mut pending, 0, MAX_BATCH), push(&mut pending, 1, 1)];
        assert_eq!(next(&mut pending), (1, 0, 0, 2));
        assert_eq!(next(&mut pending), (0, MAX_BATCH, 1, 2));
    }

    #[test]
    fn a_call_that_is_gone_completes_and_wants_nothing() {
        let mut pending = PendingLeases::default();
        drop(push(&mut pending, 2, 5));
        assert!(!pending.iter().any(is_done));
        assert_eq!(next(&mut pending), (2, 0, 1, 1));
        assert!(pending.iter().all(is_done));
    }
}
