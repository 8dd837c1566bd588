//! The rate of the queue. See [`super`] for how to read the histories.

use crate::faults::checker::history_builder::{CLOCK, HistoryBuilder, span};
use crate::faults::history::Outcome::{self, NotDone, Unknown, Yes};
use crate::faults::history::{How, LimitSet, Options, RateSet, ServerClock};

/// Somebody sets a rate at this time.
fn set(builder: &mut HistoryBuilder, at: u64, of_keys: bool, per_second: u64, outcome: Outcome) {
    let revision = (outcome == Yes).then_some(CLOCK + at);
    let span = span(at, at + 1);
    builder.0.rates.push(RateSet { span, of_keys, per_second, revision, outcome });
}

/// Items that are leased at these times and completed.
fn leased_at(times: &[u64]) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    set(&mut builder, 0, false, 200, Yes);
    for (n, at) in times.iter().enumerate() {
        let id = format!("item {n}");
        builder.add(0, &id, n as u64, Yes);
        let lease = builder.lease(*at, &id, n as u64);
        builder.settle(at + 2, lease, How::Complete, Yes);
    }
    builder
}

#[test]
fn leases_beyond_the_rate_are_caught() {
    let burst = [100; 10];
    // One more each 5 ms; deadlines are exact to 2 ms.
    leased_at(&[&burst[..], &[105, 110, 115, 1_000]].concat()).is_clean();
    for more in [&[100][..], &[102], &[105, 106], &[105, 110, 115, 116]] {
        leased_at(&[&burst[..], more].concat()).is_caught("than the rate allows");
    }
    let late: Vec<u64> = (0..400).map(|n| 500 + 4 * n).collect();
    leased_at(&late).is_caught("than the rate allows");
    // Before it was set, and whatever a clock that jumps says.
    let mut early = leased_at(&[50; 30]);
    early.0.rates.clear();
    set(&mut early, 60, false, 200, Yes);
    early.is_clean();
    early.0.rates[0].outcome = NotDone;
    early.0.rates[0].revision = None;
    early.is_clean();
}

#[test]
fn the_rate_is_the_one_of_that_time() {
    // After a burst one each 8 ms: too many for the lower rate, not for the higher one.
    let leased: Vec<u64> = [100; 10].into_iter().chain((1..40).map(|n| 100 + 8 * n)).collect();
    let with = |sets: &[(u64, u64, Outcome)]| {
        let mut builder = leased_at(&leased);
        builder.0.rates.clear();
        for (at, rate, outcome) in sets {
            set(&mut builder, *at, false, *rate, *outcome);
        }
        builder
    };
    with(&[(0, 200, Yes)]).is_clean();
    with(&[(0, 100, Yes)]).is_caught("than the rate allows");
    with(&[(0, 100, Yes), (101, 200, Yes)]).is_clean();
    with(&[(0, 200, Yes), (101, 100, Yes)]).is_caught("than the rate allows");
    with(&[(0, 200, Yes), (300, 100, Yes)]).is_clean();
    with(&[(0, 200, Yes), (130, 100, Yes)]).is_caught("than the rate allows");
    // Without an answer it may hold from then on, or never.
    with(&[(0, 100, Yes), (50, 200, Unknown)]).is_clean();
    with(&[(0, 200, Yes), (50, 100, Unknown)]).is_clean();
    with(&[(0, 100, Yes), (50, 200, NotDone)]).is_caught("than the rate allows");
    with(&[(0, 100, Yes), (300, 200, Unknown)]).is_caught("than the rate allows");
}

#[test]
fn a_clock_that_jumps_excuses_a_burst_each_time() {
    let with = |leased: &[u64], jumps: &[u64]| {
        let mut builder = leased_at(leased);
        builder.0.clock = ServerClock::Jumps;
        builder.0.jumps = jumps.iter().map(|at| span(*at, *at)).collect();
        builder
    };
    let (one, two) = ([100; 10], [100; 20]);
    with(&one, &[]).is_clean();
    with(&two, &[]).is_caught("than the rate allows");
    with(&two, &[50]).is_caught("than the rate allows");
    let beside = [[100; 10], [110; 10]].concat();
    with(&beside, &[]).is_caught("than the rate allows");
    with(&beside, &[105]).is_clean();
    // Calls that are not between two jumps, by the clock of calls.
    let across = |leases: usize, jumps: usize| {
        let mut builder = with(&vec![100; leases], &vec![105; jumps]);
        for lease in &mut builder.0.leases {
            (lease.span, lease.deadline_ms) = (span(100, 110), 5);
        }
        for settle in &mut builder.0.settles {
            settle.span = span(120, 121);
        }
        builder
    };
    across(20, 1).is_clean_except("at the same time");
    across(30, 1).is_caught("between 100ms and 110ms than the rate allows");
    across(30, 2).is_clean_except("at the same time");
}

/// Items of keys that are leased at these times and completed.
fn of_keys(leases: &[(&str, u64)]) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    let (limit, outcome) = (Some(1_000), Yes);
    builder.0.limits.push(LimitSet { span: span(0, 1), key: None, limit, outcome });
    set(&mut builder, 0, true, 100, Yes);
    for (n, (key, at)) in leases.iter().enumerate() {
        let id = format!("item {n}");
        let options = Options { limit_key: Some((*key).into()), ..Options::default() };
        builder.add_with(0, &id, n as u64, Yes, options);
        let lease = builder.lease(*at, &id, n as u64);
        builder.settle(at + 2, lease, How::Complete, Yes);
    }
    builder
}

#[test]
fn leases_beyond_the_rate_of_a_key_are_caught() {
    let burst = [("a", 100), ("a", 100), ("a", 100), ("a", 100)];
    // One more each 10 ms, for each key.
    let fine = [("a", 110), ("a", 120), ("b", 120), ("b", 120), ("b", 120), ("b", 120), ("a", 500)];
    of_keys(&[&burst[..], &fine].concat()).is_clean();
    for more in [&[("a", 100)][..], &[("a", 105)], &[("a", 110), ("a", 115)]] {
        of_keys(&[&burst[..], more].concat()).is_caught("of the key \"a\" is leased");
    }
    let mut early = of_keys(&[&burst[..], &burst[..]].concat());
    early.0.rates.clear();
    set(&mut early, 110, true, 100, Yes);
    early.is_clean();
    // Half the rate: half the burst, and one each 20 ms.
    let half = |leases: &[(&str, u64)]| {
        let mut builder = of_keys(leases);
        builder.0.rates[0].per_second = 50;
        builder
    };
    half(&[("a", 100), ("a", 100), ("a", 120), ("a", 140)]).is_clean();
    half(&burst[..3]).is_caught("of the key \"a\" is leased");
    half(&[("a", 100), ("a", 100), ("a", 110)]).is_caught("of the key \"a\" is leased");
}
