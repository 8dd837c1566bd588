//! The order of the calls of one queue, whatever their kind: a request does not leave before an earlier
//! call of another kind, unless the two cannot be told apart from the other order.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::flight::Flight;
use crate::engine::Token;

/// What a call does. Calls of one kind share requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Add,
    Complete,
    Extend,
    Release,
    Fail,
    Remove,
    Requeue,
    /// Leases, and perhaps completes before it.
    Lease,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Add,
        Kind::Complete,
        Kind::Extend,
        Kind::Release,
        Kind::Fail,
        Kind::Remove,
        Kind::Requeue,
        Kind::Lease,
    ];
}

/// Whether two calls may change places.
#[derive(Debug, PartialEq)]
enum Swap {
    /// If they name no item in common.
    OfDistinctItems,
    Never,
}

/// Completing an item takes it away and moves no other one. Extending, releasing and failing name leases
/// and not ids, so they are compared with each other and with completions only.
fn swap(one: Kind, other: Kind) -> Swap {
    use Kind::{Add, Complete, Extend, Fail, Lease, Release, Remove, Requeue};
    match (one, other) {
        (Complete, Add | Extend | Release | Fail | Remove | Requeue | Lease)
        | (Add | Extend | Release | Fail | Remove | Requeue | Lease, Complete)
        | (Add | Requeue, Remove)
        | (Remove, Add | Requeue)
        | (Extend, Release | Fail | Add)
        | (Release | Fail | Add, Extend)
        | (Release, Fail | Add)
        | (Fail | Add, Release) => Swap::OfDistinctItems,
        _ => Swap::Never,
    }
}

/// The items that calls name, as hashes. Two that agree by chance are kept in order for nothing.
#[derive(Default)]
pub(crate) struct Items(VecDeque<u64>);

impl Items {
    /// Cheap, since it is done for each call: whoever chooses ids that agree only loses a little time.
    pub(crate) fn by_id(&mut self, id: &[u8]) {
        let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
        let (words, rest) = id.as_chunks();
        let hash =
            words.iter().fold(id.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        self.0.push_back(rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte))));
    }

    pub(crate) fn by_token(&mut self, token: Token) {
        self.0.push_back(token.generation.count);
    }
}

/// Odd, and without a pattern in its bits.
const MULTIPLIER: u64 = 0x517c_c1b7_2722_0a95;

/// Where more items than this wait, they are not compared one by one.
const MAX_COMPARED: usize = 10_000;

#[derive(Default)]
pub(crate) struct Order {
    state: Mutex<State>,
    /// A request has left, or a call is gone.
    changed: Notify,
}

#[derive(Default)]
struct State {
    calls: u64,
    /// Somebody takes calls and sends them. Nothing is waited for meanwhile.
    sending: bool,
    kinds: [Unsent; Kind::ALL.len()],
}

#[derive(Default)]
struct Unsent {
    /// The number of each call that was not sent, and of the items that it names, in their order.
    calls: VecDeque<(u64, usize)>,
    /// The items of all of them: a list for each would cost as much as the rest.
    items: Items,
    /// A request is on its way that may have to be sent again.
    unanswered: bool,
    /// What serves them, while the call that came first drives it.
    driven: Option<Arc<Flight>>,
}

impl Unsent {
    /// Drops the calls that `gone` names.
    fn retain(&mut self, gone: impl Fn(u64) -> bool) {
        let items = &mut self.items.0;
        // Each call's items go from the front to the back, unless it is gone.
        self.calls.retain(|&(number, count)| {
            let stays = !gone(number);
            if stays {
                items.rotate_left(count);
            } else {
                items.drain(..count);
            }
            stays
        });
    }

    /// Drops the calls up to this one.
    fn drop_to(&mut self, last: u64) {
        let calls = self.calls.partition_point(|(number, _)| *number <= last);
        let items: usize = self.calls.drain(..calls).map(|(_, count)| count).sum();
        self.items.0.drain(..items);
    }

    /// The calls with their items.
    fn named(&self) -> impl Iterator<Item = (u64, impl Iterator<Item = u64>)> {
        let mut begin = 0;
        self.calls.iter().map(move |&(number, count)| {
            begin += count;
            (number, self.items.0.range(begin - count..begin).copied())
        })
    }
}

impl State {
    /// The calls of this kind before that number may leave. `None`: the first one may not.
    fn limit(&self, kind: Kind) -> Option<u64> {
        let own = &self.kinds[kind as usize];
        if own.unanswered {
            return None;
        }
        let (Some((first, _)), Some((last, _))) = (own.calls.front(), own.calls.back()) else {
            return Some(self.calls + 1);
        };
        let mut limit = self.calls + 1;
        for other in Kind::ALL {
            let others = &self.kinds[other as usize];
            let Some((earliest, _)) = others.calls.front() else { continue };
            if other == kind || earliest > last || *earliest >= limit {
                continue;
            }
            let compared = own.items.0.len() + others.items.0.len() <= MAX_COMPARED;
            limit = limit.min(match swap(kind, other) {
                Swap::OfDistinctItems if compared => first_of_same(own, others).unwrap_or(limit),
                _ => *earliest,
            });
        }
        (limit > *first).then_some(limit)
    }
}

/// The first of the own calls that names an item which an earlier one of the others names.
fn first_of_same(own: &Unsent, others: &Unsent) -> Option<u64> {
    let mut named = HashMap::with_capacity(others.items.0.len());
    for (number, items) in others.named() {
        for item in items {
            named.entry(item).or_insert(number);
        }
    }
    let earlier = |number, item| named.get(&item).is_some_and(|other| *other < number);
    own.named()
        .find_map(|(number, mut items)| items.any(|item| earlier(number, item)).then_some(number))
}

impl Order {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call is made, which may drive what serves its kind: whoever must wait for the call launches that.
    /// The number of the call, which is higher than that of any call before, and what another call of its
    /// kind drives: that is no longer for that one alone.
    pub(super) fn join(
        &self,
        kind: Kind,
        name: impl FnOnce(&mut Items),
        drives: Option<Arc<Flight>>,
    ) -> (u64, Option<Arc<Flight>>) {
        let mut state = self.lock();
        state.calls += 1;
        let number = state.calls;
        let unsent = &mut state.kinds[kind as usize];
        let before = unsent.items.0.len();
        name(&mut unsent.items);
        unsent.calls.push_back((number, unsent.items.0.len() - before));
        (number, std::mem::replace(&mut unsent.driven, drives))
    }

    /// Nothing serves this kind any more.
    pub(super) fn rests(&self, kind: Kind) {
        self.lock().kinds[kind as usize].driven = None;
    }

    /// Calls of a kind will not be sent.
    pub(super) fn leave(&self, kind: Kind, gone: &[u64]) {
        if !gone.is_empty() {
            self.lock().kinds[kind as usize].retain(|number| gone.contains(&number));
            self.changed.notify_waiters();
        }
    }

    /// Calls that are not sent stand in line again.
    pub(super) fn stand_again(&self) {
        self.changed.notify_waiters();
    }

    /// Waits until calls of this kind may be sent, if there are any. `first`: the first of those that
    /// stand in line, which must be among them; others of the kind may be about to stand there again.
    pub(super) async fn turn(&self, kind: Kind, first: impl Fn() -> Option<u64>) -> Turn<'_> {
        loop {
            let changed = self.changed.notified();
            if let Some(turn) = self.try_turn(kind, first()) {
                return turn;
            }
            self.launch_driven();
            changed.await;
        }
    }

    /// Nothing depends on a call that drives its flight any more: it may not be polled.
    pub(super) fn launch_driven(&self) {
        let flights: Vec<Arc<Flight>> =
            self.lock().kinds.iter().filter_map(|unsent| unsent.driven.clone()).collect();
        flights.iter().for_each(|flight| flight.launch());
    }

    /// The same, unless it would have to be waited for.
    pub(super) fn try_turn(&self, kind: Kind, first: Option<u64>) -> Option<Turn<'_>> {
        let mut state = self.lock();
        if state.sending {
            return None;
        }
        let limit = state.limit(kind).filter(|limit| first.is_none_or(|first| first < *limit))?;
        state.sending = true;
        Some(Turn { order: self, kind, limit, last: 0 })
    }
}

/// The right to send calls of one kind. Nothing may be waited for while it is held.
pub(super) struct Turn<'a> {
    order: &'a Order,
    kind: Kind,
    limit: u64,
    last: u64,
}

impl<'a> Turn<'a> {
    /// Calls with numbers below it may be sent.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// All calls up to this one are sent.
    pub(super) fn sends(&mut self, last: u64) {
        self.last = self.last.max(last);
    }

    /// The turn is over. The calls count as unsent until what this returns is dropped: later ones must
    /// not overtake a request that may have to be sent again.
    pub(super) fn end_unanswered(mut self) -> Sent<'a> {
        self.order.lock().kinds[self.kind as usize].unanswered = true;
        Sent { order: self.order, kind: self.kind, last: std::mem::take(&mut self.last) }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.order.lock();
        state.sending = false;
        state.kinds[self.kind as usize].drop_to(self.last);
        drop(state);
        self.order.changed.notify_waiters();
    }
}

/// Calls that were sent, and have no answer.
pub(super) struct Sent<'a> {
    order: &'a Order,
    kind: Kind,
    last: u64,
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        let mut state = self.order.lock();
        let unsent = &mut state.kinds[self.kind as usize];
        unsent.unanswered = false;
        unsent.drop_to(self.last);
        drop(state);
        self.order.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_two_kinds_change_places_does_not_depend_on_which_is_named_first() {
        for one in Kind::ALL {
            for other in Kind::ALL {
                assert_eq!(swap(one, other), swap(other, one), "{one:?} {other:?}");
            }
        }
    }

    fn join(order: &Order, kind: Kind, items: &[u64]) -> u64 {
        order.join(kind, |named| named.0.extend(items), None).0
    }

    #[test]
    fn a_call_that_is_gone_takes_its_items_along() {
        let order = Order::default();
        let adds = [&[1, 2][..], &[3], &[], &[4, 5]].map(|items| join(&order, Kind::Add, items));
        let items = || -> Vec<(u64, Vec<u64>)> {
            let state = order.lock();
            state.kinds[Kind::Add as usize].named().map(|(n, items)| (n, items.collect())).collect()
        };
        order.leave(Kind::Add, &[adds[1]]);
        assert_eq!(items(), [(adds[0], vec![1, 2]), (adds[2], vec![]), (adds[3], vec![4, 5])]);
        order.try_turn(Kind::Add, None).unwrap().sends(adds[0]);
        assert_eq!(items(), [(adds[2], vec![]), (adds[3], vec![4, 5])]);
    }

    #[test]
    fn a_call_waits_for_an_earlier_one_that_it_must_not_overtake() {
        let order = Order::default();
        let add = join(&order, Kind::Add, &[1]);
        let distinct = join(&order, Kind::Complete, &[2]);
        let same = join(&order, Kind::Complete, &[1]);
        let lease = join(&order, Kind::Lease, &[]);
        assert!(order.try_turn(Kind::Lease, None).is_none());
        let mut turn = order.try_turn(Kind::Complete, None).unwrap();
        assert_eq!(turn.limit(), same);
        assert!(order.try_turn(Kind::Add, None).is_none(), "one sends at a time");
        turn.sends(distinct);
        drop(turn);
        assert!(order.try_turn(Kind::Complete, None).is_none());
        let mut turn = order.try_turn(Kind::Add, None).unwrap();
        assert!(turn.limit() > lease);
        turn.sends(add);
        let sent = turn.end_unanswered();
        assert!(order.try_turn(Kind::Lease, None).is_none(), "it may have to be sent again");
        drop(sent);
        assert!(order.try_turn(Kind::Lease, None).is_some());
        assert!(order.try_turn(Kind::Complete, None).is_some());
        order.leave(Kind::Lease, &[lease]);
        order.leave(Kind::Complete, &[same]);
        let state = order.lock();
        assert!(
            state.kinds.iter().all(|unsent| unsent.calls.is_empty() && unsent.items.0.is_empty())
        );
    }
}
