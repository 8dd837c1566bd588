//! The calls of one kind that wait to be sent, and the poll loops that send them.

use std::collections::VecDeque;
use std::time::Instant;

use super::call::Call;
use super::linger::ConcurrencyHint;
use crate::dispatch::poll_turns::PollTurn;

/// So many poll loops at most: while the request of one is in flight, the other collects calls.
const MAX_LOOPS: usize = 2;
/// How many engine operations an [`Op`](super::op::Op) uses at most.
pub(crate) const MAX_COMMANDS: usize = 3;

/// In the order in which they were made, without those of requests in flight.
pub(crate) struct PendingCalls<A, R> {
    calls: VecDeque<Call<A, R>>,
    /// The sum of their sizes.
    size: usize,
    pub(super) loops: usize,
    /// Requests in flight.
    pub(super) in_flight: usize,
    /// The engine had enough for the last request.
    pub(super) served_in_full: bool,
    /// The engine counts on this client to ask again at a time that it gave. If the calls that wait are gone, one more
    /// request passes that on to other clients.
    pub(crate) counted_on: bool,
    /// When it asks again for the calls that wait.
    pub(crate) poll_turn: PollTurn,
    /// Which engine operations have succeeded once. Until then a request may have to be sent again, since
    /// a server learns its script.
    pub(super) answered: [bool; MAX_COMMANDS],
    pub(super) hint: ConcurrencyHint,
}

impl<A, R> Default for PendingCalls<A, R> {
    fn default() -> Self {
        PendingCalls {
            calls: VecDeque::new(),
            size: 0,
            loops: 0,
            in_flight: 0,
            served_in_full: false,
            counted_on: false,
            poll_turn: PollTurn::default(),
            answered: [false; MAX_COMMANDS],
            hint: ConcurrencyHint::default(),
        }
    }
}

impl<A, R> PendingCalls<A, R> {
    pub(crate) fn push(&mut self, call: Call<A, R>) {
        self.size += call.size;
        self.calls.push_back(call);
    }

    /// Puts a call back to its place among the others.
    pub(crate) fn put_back(&mut self, call: Call<A, R>) {
        self.size += call.size;
        let place = self.calls.partition_point(|other| other.number < call.number);
        self.calls.insert(place, call);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Call<A, R>> {
        self.calls.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Call<A, R>> {
        self.calls.iter_mut()
    }

    /// Calls are about other numbers of items than when they were made.
    pub(crate) fn resize(&mut self, size: impl Fn(&Call<A, R>) -> usize) {
        self.size = 0;
        for call in &mut self.calls {
            call.size = size(call);
            self.size += call.size;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes the first `count` calls.
    pub(crate) fn take_first(&mut self, count: usize) -> Vec<Call<A, R>> {
        let taken: Vec<_> = self.calls.drain(..count.min(self.calls.len())).collect();
        self.size -= taken.iter().map(|call| call.size).sum::<usize>();
        taken
    }

    /// Takes out the calls that match.
    pub(crate) fn take_matching(
        &mut self,
        matches: impl Fn(&Call<A, R>) -> bool,
    ) -> Vec<Call<A, R>> {
        if !self.calls.iter().any(&matches) {
            return Vec::new();
        }
        let calls = std::mem::take(&mut self.calls);
        let (taken, left): (Vec<_>, Vec<_>) = calls.into_iter().partition(matches);
        self.calls = left.into();
        self.size -= taken.iter().map(|call| call.size).sum::<usize>();
        taken
    }

    /// Takes out the calls whose deadline has passed.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<Call<A, R>> {
        self.take_matching(|call| call.deadline.is_some_and(|deadline| deadline <= now))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.calls.iter().filter_map(|call| call.deadline).min()
    }

    /// The number of the first call that was not sent yet.
    pub(super) fn first_unsent(&self) -> Option<u64> {
        self.calls.iter().find_map(Call::unsent)
    }

    /// Whether a second request should be sent while the first is in flight. Where some calls get nothing,
    /// a second request would get nothing either.
    pub(super) fn needs_another_loop(&self, min_batch: usize) -> bool {
        self.loops + 1 == MAX_LOOPS
            && self.in_flight == 1
            && self.served_in_full
            && self.size >= min_batch
    }

    /// Whether a poll loop should end. `passes_on`: it sends a request even without calls.
    pub(super) fn is_done(&self, min_batch: usize, passes_on: bool) -> bool {
        let enough = self.size >= min_batch;
        self.loops > 1 && !enough || self.calls.is_empty() && !passes_on
    }

    /// How many calls a request would carry; `None`: it should not linger for more, because nobody else
    /// calls, or because they are enough for an engine that has nothing to do.
    pub(super) fn to_linger_for(&self, min_batch: usize) -> Option<usize> {
        let enough = self.in_flight == 0 && self.size >= min_batch;
        (self.hint.is_concurrent() && !enough).then_some(self.calls.len())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    type Pending = PendingCalls<(), ()>;

    fn pending(sizes: impl IntoIterator<Item = usize>) -> Pending {
        let mut pending = Pending::default();
        sizes.into_iter().for_each(|size| push(&mut pending, size));
        pending
    }

    fn push(pending: &mut Pending, size: usize) {
        let number = pending.len() as u64 + 1;
        pending.push(Call::new((number, size), Instant::now(), (), oneshot::channel().0));
    }

    #[test]
    fn a_call_that_gets_nothing_goes_back_to_its_place_whichever_reply_comes_first() {
        let mut pending = pending(1..=5);
        let mut first = pending.take_first(3);
        let others = pending.take_first(1);
        others.into_iter().rev().for_each(|call| pending.put_back(call));
        // The second of them was answered.
        first.remove(1);
        first.into_iter().rev().for_each(|call| pending.put_back(call));
        let sizes: Vec<usize> = pending.iter().map(|call| call.size).collect();
        assert_eq!(sizes, [1, 3, 4, 5]);
        assert_eq!(pending.size, 13);
    }

    #[test]
    fn a_second_loop_starts_only_while_there_is_enough_for_two() {
        let mut pending = pending([30, 1]);
        (pending.loops, pending.in_flight, pending.served_in_full) = (1, 1, true);
        assert!(!pending.needs_another_loop(32));
        push(&mut pending, 1);
        assert!(pending.needs_another_loop(32));
        for other in [
            |pending: &mut Pending| pending.served_in_full = false,
            |pending: &mut Pending| pending.in_flight = 0,
            |pending: &mut Pending| pending.loops = 2,
        ] {
            let before = (pending.served_in_full, pending.in_flight, pending.loops);
            other(&mut pending);
            assert!(!pending.needs_another_loop(32));
            (pending.served_in_full, pending.in_flight, pending.loops) = before;
        }
    }
}
