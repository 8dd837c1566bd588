//! In any time, no more leases are given than the rate of the queue allows.

use super::history_index::HistoryIndex;
use super::violation::Violation;
use crate::faults::history::{BURST, HIGHEST_RATE, ServerClock};

/// How exact deadlines are, in ms.
const EXACT_MS: u64 = 2;

/// A bucket has room for the burst, gets one for each lease, and loses what the highest rate allows in each ms. Leases that
/// no caller received are missing, so it may find less than there is.
pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let history = index.history;
    let is_known = matches!(history.clock, ServerClock::Runs { .. })
        && history.windows.is_empty()
        && !history.two_masters;
    let Some(since) = history.rated_since.filter(|_| is_known) else { return };
    let exact = history.leases.iter().filter(|lease| !lease.keep_alive);
    let mut given: Vec<u64> = exact.map(|lease| lease.given_ms()).collect();
    given.retain(|at| *at > since + EXACT_MS);
    given.sort_unstable();
    // In thousandths of a lease.
    let room = BURST * 1_000 + HIGHEST_RATE * EXACT_MS;
    let (mut level, mut now) = (0_u64, since);
    for at in given {
        level = level.saturating_sub((at - now) * HIGHEST_RATE) + 1_000;
        now = at;
        if level > room {
            let what = format!("more is leased at {at} than the rate allows: {level} of {room}");
            return found.push(Violation { id: None, what });
        }
    }
}
