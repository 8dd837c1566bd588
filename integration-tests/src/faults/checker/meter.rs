//! How many leases a rate allows in a time.

use crate::faults::history::{
    BURST, HIGHEST_KEY_RATE, HIGHEST_RATE, History, KEY_BURST, Lease, Outcome, RateSet,
    ServerClock, Time,
};

use super::clock::CLOCK_MS;

/// How exact deadlines are, in ms.
const EXACT_MS: u64 = 2;

/// A bucket has room for the burst, gets some for each lease, and loses some in each ms.
///
/// - That of the queue is measured in thousandths of leases: another rate keeps how many are used up.
/// - That of a key in µs: another rate keeps how long it takes to refill.
pub(super) struct Meter {
    of_keys: bool,
    highest: u64,
    burst: u64,
    /// Since when, by the server's clock, a rate holds.
    steps: Vec<(u64, u64)>,
    /// The same of rates whose calls have no answer: they may hold at any time from then on.
    possible: Vec<(u64, u64)>,
}

impl Meter {
    /// The highest rate, all the time.
    pub(super) fn of_highest(of_keys: bool) -> Self {
        let (highest, burst) =
            if of_keys { (HIGHEST_KEY_RATE, KEY_BURST) } else { (HIGHEST_RATE, BURST) };
        Meter { of_keys, highest, burst, steps: vec![(0, highest)], possible: Vec::new() }
    }

    /// What operators have set, when the server's clock runs.
    pub(super) fn new(history: &History, of_keys: bool) -> Self {
        let ServerClock::Runs { from_ms } = history.clock else {
            return Meter::of_highest(of_keys);
        };
        let sets = || history.rates.iter().filter(|set| set.of_keys == of_keys);
        let answered = sets().filter_map(|set| Some((set.revision?, set.per_second)));
        let mut steps: Vec<_> = answered.collect();
        steps.sort_unstable();
        let open = sets().filter(|set| set.outcome == Outcome::Unknown);
        let began =
            |set: &RateSet| (from_ms + set.span.began.as_millis() as u64).saturating_sub(CLOCK_MS);
        let possible = open.map(|set| (began(set), set.per_second)).collect();
        Meter { steps, possible, ..Meter::of_highest(of_keys) }
    }

    /// The highest rate that may hold at any time between these.
    fn highest(&self, from: u64, until: u64) -> u64 {
        // The last one before that still holds.
        let first = self.steps.iter().rposition(|(at, _)| *at < from).unwrap_or(0);
        let steps = self.steps[first..].iter().chain(&self.possible);
        let rates = steps.filter(|(at, _)| *at <= until).map(|(_, rate)| *rate);
        rates.max().unwrap_or(self.highest)
    }

    /// What a lease at this time adds at least.
    fn cost(&self, at: u64) -> u64 {
        if !self.of_keys {
            return 1_000;
        }
        1_000_000 / self.highest(at.saturating_sub(EXACT_MS), at + EXACT_MS)
    }

    /// What is lost between these times at most.
    fn lost(&self, from: u64, until: u64) -> u64 {
        if self.of_keys {
            return (until - from) * 1_000;
        }
        let changes = self.steps.iter().chain(&self.possible).map(|(at, _)| *at);
        let mut times: Vec<u64> = changes.filter(|at| (from..until).contains(at)).collect();
        times.extend([from, until]);
        times.sort_unstable();
        times.dedup();
        let part = |pair: &[u64]| (pair[1] - pair[0]) * self.highest(pair[0] + 1, pair[1] - 1);
        times.windows(2).map(part).sum()
    }

    fn room(&self) -> u64 {
        if self.of_keys {
            (1_000 * self.burst / self.highest + EXACT_MS) * 1_000
        } else {
            self.burst * 1_000 + EXACT_MS * self.highest
        }
    }

    /// By the server's clock.
    pub(super) fn exceeded_by(&self, leases: &[&Lease]) -> Option<String> {
        let since = self.steps.first()?.0;
        let exact = leases.iter().filter(|lease| !lease.keep_alive);
        let mut given: Vec<u64> = exact.map(|lease| lease.given_ms()).collect();
        given.retain(|at| *at > since + EXACT_MS);
        given.sort_unstable();
        let room = self.room();
        let (mut level, mut now) = (0_u64, since);
        for at in given {
            level = level.saturating_sub(self.lost(now, at)) + self.cost(at);
            now = at;
            if level > room {
                return Some(format!("at {at} than the rate allows: {level} of {room}"));
            }
        }
        None
    }

    /// By the clock of calls: no time has more whole calls that were given a lease than the rate allows. A jump allows a burst.
    pub(super) fn exceeded_in_calls(&self, leases: &[&Lease], jumps: &[Time]) -> Option<String> {
        let mut calls: Vec<(Time, Time)> =
            leases.iter().filter_map(|lease| Some((lease.span.began, lease.span.ended?))).collect();
        calls.sort_unstable();
        let mut ends: Vec<Time> = Vec::new();
        for (from, ended) in calls.into_iter().rev() {
            let place = ends.partition_point(|end| *end < ended);
            ends.insert(place, ended);
            for (before, until) in ends.iter().enumerate().skip(place) {
                let jumps = jumps.iter().filter(|at| **at >= from && *at <= until).count();
                let bursts = self.burst * (1 + jumps as u64);
                let refilled = (*until - from).as_millis() as u64 + 1;
                let most = bursts + refilled * self.highest / 1_000 + 1;
                if before as u64 >= most {
                    let leases = before + 1;
                    return Some(format!(
                        "between {from:?} and {until:?} than the rate allows: {leases} of {most}"
                    ));
                }
            }
        }
        None
    }
}
