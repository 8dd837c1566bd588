//! The rate of the queue. See [`super`] for how to read the histories.

use crate::faults::checker::history_builder::{CLOCK, HistoryBuilder};
use crate::faults::history::Outcome::Yes;
use crate::faults::history::{How, Options, ServerClock};

/// Items that are leased at these times and completed.
fn leased_at(times: &[u64]) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    builder.0.rated_since = Some(CLOCK);
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
    early.0.rated_since = Some(CLOCK + 60);
    early.is_clean();
    let mut jumps = leased_at(&[50; 30]);
    jumps.0.clock = ServerClock::Jumps;
    jumps.is_clean();
}

/// Items of keys that are leased at these times and completed.
fn of_keys(leases: &[(&str, u64)]) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    builder.0.key_limit = 1_000;
    builder.0.key_rated_since = Some(CLOCK);
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
    early.0.key_rated_since = Some(CLOCK + 110);
    early.is_clean();
}
