//! In any time, no more leases are given than the rate of the queue allows, and that of each key.

use std::collections::BTreeMap;

use super::history_index::HistoryIndex;
use super::violation::Violation;
use crate::faults::history::{
    BURST, HIGHEST_KEY_RATE, HIGHEST_RATE, KEY_BURST, Lease, ServerClock,
};

/// How exact deadlines are, in ms.
const EXACT_MS: u64 = 2;

/// Leases that no caller received are missing, so it may find less than there is.
pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let history = index.history;
    let is_known = matches!(history.clock, ServerClock::Runs { .. })
        && history.windows.is_empty()
        && !history.two_masters;
    if !is_known {
        return;
    }
    if let Some(since) = history.rated_since {
        let rate = Rate { of: "the queue".into(), since, per_second: HIGHEST_RATE, burst: BURST };
        found.extend(rate.exceeded_by(history.leases.iter()));
    }
    let Some(since) = history.key_rated_since else { return };
    let mut by_key: BTreeMap<&str, Vec<&Lease>> = BTreeMap::new();
    for life in index.lives.values() {
        if let Some(key) = &life.add.options.limit_key {
            let leases = life.leases.iter().map(|lease| index.lease(*lease));
            by_key.entry(key).or_default().extend(leases);
        }
    }
    for (key, leases) in by_key {
        let of = format!("the key {key:?}");
        let rate = Rate { of, since, per_second: HIGHEST_KEY_RATE, burst: KEY_BURST };
        found.extend(rate.exceeded_by(leases.into_iter()));
    }
}

/// The highest one that is set.
struct Rate {
    of: String,
    /// Since when there is one, by the server's clock.
    since: u64,
    per_second: u64,
    burst: u64,
}

impl Rate {
    /// A bucket has room for the burst, gets one for each lease, and loses what the rate allows in each ms.
    fn exceeded_by<'a>(&self, leases: impl Iterator<Item = &'a Lease>) -> Option<Violation> {
        let exact = leases.filter(|lease| !lease.keep_alive);
        let mut given: Vec<u64> = exact.map(Lease::given_ms).collect();
        given.retain(|at| *at > self.since + EXACT_MS);
        given.sort_unstable();
        // In thousandths of a lease.
        let room = self.burst * 1_000 + self.per_second * EXACT_MS;
        let (mut level, mut now) = (0_u64, self.since);
        for at in given {
            level = level.saturating_sub((at - now) * self.per_second) + 1_000;
            now = at;
            if level > room {
                let of = &self.of;
                let what = format!(
                    "more of {of} is leased at {at} than the rate allows: {level} of {room}"
                );
                return Some(Violation { id: None, what });
            }
        }
        None
    }
}
