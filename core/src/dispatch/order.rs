//! The order of the calls of one queue, whatever their kind. A request is not sent before an earlier call of
//! another kind, unless their order makes no difference.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use super::kind::{Items, Kind, Swap, swap};
use super::shared_request::SharedRequest;
use crate::lock::lock;

/// With more items than this waiting, they are not compared one by one.
const MAX_COMPARED: usize = 10_000;

#[derive(Default)]
pub(crate) struct Order {
    state: Mutex<State>,
    /// A request was sent, or a call was discarded.
    changed: Notify,
}

#[derive(Default)]
struct State {
    calls: u64,
    /// There is a [`SendPermit`].
    sending: bool,
    kinds: [Unsent; Kind::ALL.len()],
}

#[derive(Default)]
struct Unsent {
    /// The number of each call that was not sent, and of the items that it names, in their order.
    calls: VecDeque<(u64, usize)>,
    /// The items of all of them: a list for each would cost as much as the rest.
    items: Items,
    /// A request is in flight that may have to be sent again.
    unanswered: bool,
    /// Their poll loop, while the first call drives it.
    driven: Option<Arc<SharedRequest>>,
}

impl Unsent {
    /// Discards the calls that `gone` names.
    fn discard(&mut self, gone: impl Fn(u64) -> bool) {
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

    /// Discards the calls up to this one.
    fn discard_to(&mut self, last: u64) {
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
        lock(&self.state)
    }

    /// Adds a call, which drives `drives` if that is given; a request that must wait for the call spawns it.
    /// Returns the number of the call, higher than any before, and the shared request that another call of
    /// its kind has driven so far: the caller spawns that.
    pub(super) fn enqueue(
        &self,
        kind: Kind,
        name: impl FnOnce(&mut Items),
        drives: Option<Arc<SharedRequest>>,
    ) -> (u64, Option<Arc<SharedRequest>>) {
        let mut state = self.lock();
        state.calls += 1;
        let number = state.calls;
        let unsent = &mut state.kinds[kind as usize];
        let before = unsent.items.0.len();
        name(&mut unsent.items);
        unsent.calls.push_back((number, unsent.items.0.len() - before));
        (number, std::mem::replace(&mut unsent.driven, drives))
    }

    /// The last poll loop of this kind has ended.
    pub(super) fn clear_driven(&self, kind: Kind) {
        self.lock().kinds[kind as usize].driven = None;
    }

    /// Calls of a kind will not be sent.
    pub(super) fn discard(&self, kind: Kind, gone: &[u64]) {
        if !gone.is_empty() {
            self.lock().kinds[kind as usize].discard(|number| gone.contains(&number));
            self.changed.notify_waiters();
        }
    }

    /// Calls that were not sent are pending again.
    pub(super) fn put_back(&self) {
        self.changed.notify_waiters();
    }

    /// Waits until calls of this kind may be sent. `first`: the first of the pending ones, which must be among
    /// them; others of the kind may be about to be put back.
    pub(super) async fn acquire(
        &self,
        kind: Kind,
        first: impl Fn() -> Option<u64>,
    ) -> SendPermit<'_> {
        loop {
            let changed = self.changed.notified();
            if let Some(permit) = self.try_acquire(kind, first()) {
                return permit;
            }
            self.spawn_driven();
            changed.await;
        }
    }

    /// Moves each poll loop that a call drives to a task of its own, since the call may not be polled.
    pub(super) fn spawn_driven(&self) {
        let driven: Vec<Arc<SharedRequest>> =
            self.lock().kinds.iter().filter_map(|unsent| unsent.driven.clone()).collect();
        driven.iter().for_each(|request| request.spawn());
    }

    /// [`acquire`](Order::acquire), without waiting.
    pub(super) fn try_acquire(&self, kind: Kind, first: Option<u64>) -> Option<SendPermit<'_>> {
        let mut state = self.lock();
        if state.sending {
            return None;
        }
        let limit = state.limit(kind).filter(|limit| first.is_none_or(|first| first < *limit))?;
        state.sending = true;
        Some(SendPermit { order: self, kind, limit, last: 0 })
    }
}

/// The right to send calls of one kind. Its holder must not wait for anything.
pub(super) struct SendPermit<'a> {
    order: &'a Order,
    kind: Kind,
    limit: u64,
    last: u64,
}

impl<'a> SendPermit<'a> {
    /// Calls with numbers below it may be sent.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// All calls up to this one are sent.
    pub(super) fn mark_sent(&mut self, last: u64) {
        self.last = self.last.max(last);
    }

    /// Releases the permit. The calls count as unsent until the result is dropped, since later ones must not
    /// overtake a request that may have to be sent again.
    pub(super) fn release_unanswered(mut self) -> Unanswered<'a> {
        self.order.lock().kinds[self.kind as usize].unanswered = true;
        Unanswered { order: self.order, kind: self.kind, last: std::mem::take(&mut self.last) }
    }
}

impl Drop for SendPermit<'_> {
    fn drop(&mut self) {
        let mut state = self.order.lock();
        state.sending = false;
        state.kinds[self.kind as usize].discard_to(self.last);
        drop(state);
        self.order.changed.notify_waiters();
    }
}

/// Calls that were sent and have no reply.
pub(super) struct Unanswered<'a> {
    order: &'a Order,
    kind: Kind,
    last: u64,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let mut state = self.order.lock();
        let unsent = &mut state.kinds[self.kind as usize];
        unsent.unanswered = false;
        unsent.discard_to(self.last);
        drop(state);
        self.order.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enqueue(order: &Order, kind: Kind, items: &[u64]) -> u64 {
        order.enqueue(kind, |named| named.0.extend(items), None).0
    }

    #[test]
    fn a_discarded_call_takes_its_items_along() {
        let order = Order::default();
        let adds = [&[1, 2][..], &[3], &[], &[4, 5]].map(|items| enqueue(&order, Kind::Add, items));
        let items = || -> Vec<(u64, Vec<u64>)> {
            let state = order.lock();
            state.kinds[Kind::Add as usize].named().map(|(n, items)| (n, items.collect())).collect()
        };
        order.discard(Kind::Add, &[adds[1]]);
        assert_eq!(items(), [(adds[0], vec![1, 2]), (adds[2], vec![]), (adds[3], vec![4, 5])]);
        order.try_acquire(Kind::Add, None).unwrap().mark_sent(adds[0]);
        assert_eq!(items(), [(adds[2], vec![]), (adds[3], vec![4, 5])]);
    }

    #[test]
    fn a_call_waits_for_an_earlier_one_that_it_must_not_overtake() {
        let order = Order::default();
        let add = enqueue(&order, Kind::Add, &[1]);
        let distinct = enqueue(&order, Kind::Complete, &[2]);
        let same = enqueue(&order, Kind::Complete, &[1]);
        let lease = enqueue(&order, Kind::Lease, &[]);
        assert!(order.try_acquire(Kind::Lease, None).is_none());
        let mut permit = order.try_acquire(Kind::Complete, None).unwrap();
        assert_eq!(permit.limit(), same);
        assert!(order.try_acquire(Kind::Add, None).is_none(), "one sends at a time");
        permit.mark_sent(distinct);
        drop(permit);
        assert!(order.try_acquire(Kind::Complete, None).is_none());
        let mut permit = order.try_acquire(Kind::Add, None).unwrap();
        assert!(permit.limit() > lease);
        permit.mark_sent(add);
        let sent = permit.release_unanswered();
        assert!(order.try_acquire(Kind::Lease, None).is_none(), "it may have to be sent again");
        drop(sent);
        assert!(order.try_acquire(Kind::Lease, None).is_some());
        assert!(order.try_acquire(Kind::Complete, None).is_some());
        order.discard(Kind::Lease, &[lease]);
        order.discard(Kind::Complete, &[same]);
        let state = order.lock();
        assert!(
            state.kinds.iter().all(|unsent| unsent.calls.is_empty() && unsent.items.0.is_empty())
        );
    }
}
