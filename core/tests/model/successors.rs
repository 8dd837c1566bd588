//! Successors: items that take the places of leased ones when their leases end.

use leaseq::{Item, State};

use crate::ends::More;
use crate::model::Model;

/// An item as it is added, now or later.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) generation: u64,
    pub(crate) added_at: u64,
    pub(crate) item: Item,
    /// Priority, delay and limit of attempts.
    pub(crate) options: (u8, u64, Option<u32>),
    pub(crate) more: More,
}

impl Model {
    /// The leased item that has a successor of which this is so.
    pub(crate) fn leased_before(&self, is_so: impl Fn(&Waiting) -> bool) -> Option<u64> {
        self.waiting.iter().find(|(_, waiting)| is_so(waiting)).map(|(leased, _)| *leased)
    }

    /// The leases of these items have ended, of some perhaps: their successors take their places.
    pub(crate) fn follow(&mut self, ended: impl IntoIterator<Item = u64>) {
        for leased in ended {
            if self.items.get(&leased).is_some_and(|entry| entry.state == State::Leased) {
                continue;
            }
            let Some(waiting) = self.waiting.remove(&leased) else { continue };
            if self.forget(leased) {
                self.replaced += 1;
            }
            let more = &waiting.more;
            let reserved = if more.unique_for > 0 { self.now + more.unique_for } else { 0 };
            let owner = more.unique.as_ref().and_then(|key| self.keys.get(key));
            self.insert(&waiting, owner.map_or(0, |owner| owner.until).max(reserved));
        }
    }
}
