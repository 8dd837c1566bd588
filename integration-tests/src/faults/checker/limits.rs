//! Which limits keys may have had during a call.

use crate::faults::history::{History, LimitSet, Outcome, Span};

/// The limit of keys for which nobody has set one.
const DEFAULT: u64 = 1;

impl History {
    /// The highest limit that the key may have had at any time of this call.
    pub(super) fn highest_limit(&self, key: &str, during: Span) -> u64 {
        let own = self.possible(Some(key), during);
        let of_queue =
            self.possible(None, during).into_iter().map(|limit| limit.unwrap_or(DEFAULT));
        let of_queue = of_queue.max().unwrap_or(DEFAULT);
        own.into_iter().map(|limit| limit.unwrap_or(of_queue)).max().unwrap_or(of_queue)
    }

    /// The values that one setting may have had during this call; `None` where nothing is set.
    fn possible(&self, key: Option<&str>, during: Span) -> Vec<Option<u64>> {
        let sets: Vec<&LimitSet> = self
            .limits
            .iter()
            .filter(|set| set.key.as_deref() == key && set.outcome.may_be_done())
            .filter(|set| during.ended.is_none_or(|ended| set.span.began <= ended))
            .collect();
        let certain = |set: &&&LimitSet| set.outcome == Outcome::Yes && set.span.before(during);
        // What has no answer may be executed at any later time.
        let replaced = |set: &LimitSet| {
            set.outcome == Outcome::Yes
                && sets.iter().filter(certain).any(|by| set.span.before(by.span))
        };
        let mut values: Vec<_> =
            sets.iter().filter(|set| !replaced(set)).map(|set| set.limit).collect();
        if !sets.iter().any(|set| certain(&set)) {
            values.push(None);
        }
        values
    }
}
