//! The rate of a queue. See `rate_waits.rs` for calls that wait.

use std::time::Duration;

use leaseq::{Counts, LeaseOptions, Rate, SettingsChange, WorkQueue};

use crate::support::rates::{self, Set, begin_of};
use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

pub(super) fn rate(count: u32, period: Duration, burst: u32) -> Rate {
    Rate::new(count, period).burst(burst)
}

pub(super) async fn set(queue: &WorkQueue, rate: impl Into<Option<Rate>>) -> leaseq::Settings {
    queue.configure(SettingsChange::new().rate(rate)).await.unwrap().unwrap()
}

pub(super) async fn add(queue: &WorkQueue, count: usize) {
    let items = (0..count).map(|_| leaseq::Item::new("data"));
    assert!(queue.add_items(items).await.unwrap().into_iter().all(|added| added));
}

async fn got(queue: &WorkQueue) -> usize {
    queue.lease_many(1000, at_once()).await.unwrap().len()
}

async fn counts(queue: &WorkQueue) -> Counts {
    queue.counts().await.unwrap()
}

async fn no_more_than_the_burst_and_then_one_at_a_time(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    add(&queue, 100).await;
    let settings = set(&queue, rate(3, ms(10), 4)).await;
    assert_eq!(settings.rate, Some(rate(3, ms(10), 4)));
    assert_eq!(other.settings().await.unwrap(), settings);
    assert_eq!((got(&queue).await, got(&other).await, got(&queue).await), (4, 0, 0));
    assert_eq!(counts(&queue).await.ready, 96);
    // One after 10/3 ms, another one after 20/3 ms.
    let mut seen = Vec::new();
    for _ in 0..20 {
        bench.advance(ms(1));
        seen.push(got(&other).await);
    }
    assert_eq!(seen, [0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1]);
    bench.advance(ms(7));
    assert_eq!(got(&queue).await, 2);
    bench.advance(HOUR);
    assert_eq!((got(&queue).await, got(&queue).await), (4, 0), "no more than the burst");
    assert_sound(&queue).await;
}

async fn whatever_leases_counts_once_and_nothing_is_refunded(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, 20).await;
    set(&queue, rate(1, secs(1), 3)).await;
    let first = take(&queue).await;
    let second = take(&queue).await;
    queue.release(&first, Duration::ZERO).await.unwrap();
    queue.fail(&second, "no", Duration::ZERO).await.unwrap();
    let leases = queue.lease_many(5, at_once()).await.unwrap();
    assert_eq!(leases.len(), 1);
    // Completing goes on, however little may be leased.
    let done = queue.complete_and_lease(&leases, 5, at_once()).await.unwrap();
    assert_eq!((done.completed, done.leases.len()), (vec![true], 0));
    bench.advance(secs(2));
    let done = queue.complete_and_lease(&leases, 5, at_once()).await.unwrap();
    assert_eq!((done.completed, done.leases.len()), (vec![false], 2));
    // An empty queue uses up nothing.
    bench.advance(secs(3));
    queue.purge(leaseq::State::Ready).await.unwrap();
    assert_eq!(got(&queue).await, 0);
    add(&queue, 20).await;
    assert_eq!(got(&queue).await, 3);
    assert_sound(&queue).await;
}

async fn operators_see_that_the_rate_is_used_up(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, 9).await;
    assert!(!counts(&queue).await.rate_limited);
    let settings = set(&queue, rate(2, secs(3), 2)).await;
    assert_eq!(settings.rate_limited_until, None);
    take(&queue).await;
    assert!(!counts(&queue).await.rate_limited);
    assert_eq!(queue.settings().await.unwrap().rate_limited_until, None);
    take(&queue).await;
    assert!(counts(&queue).await.rate_limited);
    let until = queue.settings().await.unwrap().rate_limited_until.map(since_1970);
    assert_eq!(until, Some(bench.now() + 1500));
    bench.advance(ms(1499));
    assert!(counts(&queue).await.rate_limited);
    bench.advance(ms(1));
    assert!(!counts(&queue).await.rate_limited);
    assert_eq!(queue.settings().await.unwrap().rate_limited_until, None);
    take(&queue).await;
    assert!(counts(&queue).await.rate_limited);
    let settings = set(&queue, None).await;
    assert_eq!((settings.rate, settings.rate_limited_until), (None, None));
    assert!(!counts(&queue).await.rate_limited);
    assert_sound(&queue).await;
}

async fn a_change_holds_at_once_and_keeps_what_is_used_up(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    add(&queue, 200).await;
    set(&queue, rate(1, HOUR, 10)).await;
    assert_eq!(got(&queue).await, 10);
    // Faster, with the same burst: the burst is used up.
    set(&other, rate(10, secs(1), 10)).await;
    assert_eq!(got(&queue).await, 0);
    bench.advance(ms(300));
    assert_eq!(got(&queue).await, 3);
    // A higher burst adds to it, a lower one cuts.
    set(&other, rate(10, secs(1), 15)).await;
    assert_eq!(got(&queue).await, 5);
    set(&other, rate(10, secs(1), 2)).await;
    assert_eq!(got(&queue).await, 0);
    bench.advance(ms(100));
    assert_eq!((got(&queue).await, got(&other).await), (1, 0));
    // Another setting changes nothing, and neither does the same rate.
    queue.configure(SettingsChange::new().max_dead(5)).await.unwrap();
    let settings = set(&queue, rate(10, secs(1), 2)).await;
    assert_eq!((settings.max_dead, got(&queue).await), (Some(5), 0));
    bench.advance(ms(150));
    assert_eq!(got(&queue).await, 1);
    // Half a lease of another period is half a lease again; it is rounded up.
    set(&queue, rate(1, secs(10), 2)).await;
    bench.advance(ms(5000));
    assert_eq!(got(&queue).await, 0);
    bench.advance(ms(1));
    assert_eq!(got(&queue).await, 1);
    set(&queue, None).await;
    assert_eq!(got(&queue).await, 200 - 21);
    assert_sound(&queue).await;
}

async fn a_new_rate_begins_with_its_burst(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1, HOUR, 2)).await;
    add(&queue, 9).await;
    assert_eq!(got(&queue).await, 2);
    set(&queue, None).await;
    set(&queue, rate(1, HOUR, 2)).await;
    assert_eq!(got(&queue).await, 2);
    // So does a queue of the same name.
    assert!(queue.drop_queue().await.unwrap());
    add(&queue, 9).await;
    assert_eq!(got(&queue).await, 9);
    set(&queue, rate(1, HOUR, 1)).await;
    add(&queue, 9).await;
    assert_eq!(got(&queue).await, 1);
    assert_sound(&queue).await;
}

async fn everything_else_goes_on(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("first").max_attempts(1)).await.unwrap();
    set(&queue, rate(1, HOUR, 1)).await;
    take(&queue).await;
    queue.add_item(item("due").delay(secs(5))).await.unwrap();
    queue.add_item(item("late").expires_in(secs(5))).await.unwrap();
    bench.advance(secs(11));
    assert_eq!(got(&queue).await, 0);
    assert_eq!(state(&queue, "first").await, Some(leaseq::State::Dead), "its lease has expired");
    assert_eq!(state(&queue, "due").await, Some(leaseq::State::Ready));
    assert_eq!(counts(&queue).await.totals.expired_unleased, 1);
    assert_eq!(got(&queue).await, 0);
    bench.advance(HOUR);
    assert_eq!(drain(&queue).await, ["due"]);
    // A pause and a rate: both must allow it.
    add(&queue, 3).await;
    queue.pause().await.unwrap();
    bench.advance(HOUR);
    assert_eq!(got(&queue).await, 0);
    queue.resume().await.unwrap();
    assert_eq!(got(&queue).await, 1);
    assert_sound(&queue).await;
}

/// A queue without ready items has nothing to look for, whatever else it has.
async fn an_empty_queue_answers_at_once(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1, secs(1), 2)).await;
    queue.add_item(item("done").retain(HOUR).unique("key")).await.unwrap();
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    for _ in 0..3 {
        let begin = std::time::Instant::now();
        assert_eq!(got(&queue).await, 0);
        assert!(begin.elapsed() < secs(5), "it asks again and again until its time-out");
        bench.advance(secs(1));
    }
    assert!(!counts(&queue).await.rate_limited);
}

/// The order of items, and that of several calls, stays as it is.
async fn the_order_stays(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b", "c", "d"].map(item)).await.unwrap();
    queue.add_item(item("high").priority(5)).await.unwrap();
    set(&queue, rate(1, secs(1), 2)).await;
    assert_eq!(drain(&queue).await, ["high", "a"]);
    bench.advance(secs(1));
    assert_eq!(drain(&queue).await, ["b"]);
    queue.add_item(item("higher").priority(9)).await.unwrap();
    bench.advance(secs(2));
    assert_eq!(drain(&queue).await, ["higher", "c"]);
}

async fn the_highest_values(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, 12).await;
    let month = HOUR * 24 * 31;
    set(&queue, rate(1_000_000, month, 1_000_000)).await;
    assert_eq!(got(&queue).await, 12);
    add(&queue, 5).await;
    // 2678.4 ms each.
    set(&queue, rate(1_000_000, month, 1)).await;
    bench.advance(ms(2678));
    assert_eq!(got(&queue).await, 0);
    bench.advance(ms(1));
    assert_eq!(got(&queue).await, 1);
    set(&queue, rate(1_000_000, ms(1), 1_000_000)).await;
    assert_eq!(got(&queue).await, 4);
    set(&queue, rate(1, ms(1), 1)).await;
    add(&queue, 5).await;
    bench.advance(ms(1));
    assert_eq!((got(&queue).await, got(&queue).await), (1, 0));
    assert_sound(&queue).await;
}

/// A file of the embedded engine never lets its clock go back.
async fn the_clock_is_set(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, 20).await;
    set(&queue, rate(1, secs(10), 2)).await;
    assert_eq!(got(&queue).await, 2);
    bench.advance(HOUR);
    assert_eq!(got(&queue).await, 2);
    let early = bench.now() - 1_800_000;
    bench.backend().set_clock(early);
    assert_eq!(got(&queue).await, 0);
    // It opens as long after that as if the clock had not been set, and not half an hour later.
    bench.backend().set_clock(early + 9_999);
    assert_eq!(got(&queue).await, 0);
    bench.backend().set_clock(early + 10_000);
    assert_eq!((got(&queue).await, got(&queue).await), (1, 0));
    assert_sound(&queue).await;
}

/// Leases at random times, with another rate now and then, keep to the rate; and those of a queue that is used whenever
/// the rate allows it are as many as it allows.
async fn random_leases_keep_to_the_rate(bench: &Bench) {
    let queue = bench.queue().await;
    let mut choose = {
        let seed: u64 = rand::random();
        println!("seed {seed}");
        let mut state = seed | 1;
        move |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        }
    };
    let mut leases = Vec::new();
    let mut sets = Vec::new();
    for step in 0..400 {
        if step % 50 == 0 {
            let period = ms([7, 100, 1000][choose(3) as usize]);
            let rate = rate(1 + choose(5) as u32, period, 1 + choose(4) as u32);
            set(&queue, rate).await;
            sets.push(Set { at: bench.now(), rate });
        }
        add(&queue, 3).await;
        let duration = secs(10);
        let options = LeaseOptions::new(duration).wait(Duration::ZERO);
        let count = 1 + choose(4) as usize;
        let some = queue.lease_many(count, options).await.unwrap();
        leases.extend(some.iter().map(|lease| begin_of(lease, duration)));
        queue.complete_many(&some).await.unwrap();
        bench.advance(ms(choose(60)));
    }
    rates::check(&sets, &leases).unwrap();
    // One more at any time when the rate was used up is found.
    let slow = Set { at: 0, rate: rate(1, secs(10), 2) };
    assert!(rates::check(&[slow], &leases).is_err());
    assert_sound(&queue).await;
}

#[test]
fn the_checker_finds_a_lease_too_many() {
    let slow = Set { at: 0, rate: rate(1, ms(10), 2) };
    let check = |leases: &[u64]| rates::check(&[slow], leases);
    check(&[5, 5, 15, 25, 35, 100, 100, 110]).unwrap();
    for wrong in [&[5, 5, 5][..], &[5, 5, 14], &[5, 5, 15, 24], &[0, 100, 100, 109], &[9, 10, 11]] {
        assert!(check(wrong).is_err(), "{wrong:?}");
    }
    // With another rate from 50 on.
    let sets = [slow, Set { at: 50, rate: rate(2, ms(10), 3) }];
    rates::check(&sets, &[40, 40, 50, 51, 56]).unwrap();
    assert!(rates::check(&sets, &[48, 48, 49]).is_err());
    assert!(rates::check(&sets, &[48, 48, 51, 52]).is_err());
    // A lower burst cuts what is used up, and no more may be used up then.
    let sets = [Set { at: 0, rate: rate(1, ms(10), 5) }, Set { at: 50, rate: rate(1, ms(10), 1) }];
    rates::check(&sets, &[49, 49, 49, 49, 49, 60]).unwrap();
    assert!(rates::check(&sets, &[49, 49, 49, 49, 49, 58]).is_err());
    assert!(rates::check(&sets, &[70, 70]).is_err());
}

on_every_engine!(
    no_more_than_the_burst_and_then_one_at_a_time,
    whatever_leases_counts_once_and_nothing_is_refunded,
    operators_see_that_the_rate_is_used_up,
    a_change_holds_at_once_and_keeps_what_is_used_up,
    a_new_rate_begins_with_its_burst,
    everything_else_goes_on,
    an_empty_queue_answers_at_once,
    the_order_stays,
    the_highest_values,
    random_leases_keep_to_the_rate,
);

#[tokio::test]
async fn the_clock_of_a_server_is_set() {
    the_clock_is_set(&redis::bench()).await;
}
