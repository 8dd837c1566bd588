//! Unique keys: never two live items with one key, and never a key that stays taken after its owner has ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use leaseq::{Item, State, WorkQueue};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use crate::audit::{Auditor, Violations};
use crate::calls::{Caller, Tally, names};
use crate::faults::assert_counted;
use crate::support::*;
use crate::{Over, on_threads, queues, run_clock, seed, times};

/// So many calls in all, of so many callers.
const CALLS: usize = 4_000;
const CALLERS: usize = 8;

/// Random calls of many callers, while an auditor looks for violations. Returns what they were told.
pub(crate) async fn call_at_random(
    queues: &[WorkQueue],
    auditor: Option<Auditor>,
    now: impl Fn() -> u64 + Send + 'static,
    (seed, calls, drops): (u64, usize, bool),
) -> Arc<Tally> {
    let (names, tally) = (Arc::new(names()), Arc::new(Tally::default()));
    let leases = Arc::default();
    let mut callers = JoinSet::new();
    for i in 0..CALLERS {
        let mut caller = Caller {
            queue: queues[i % queues.len()].clone(),
            rng: StdRng::seed_from_u64(seed + i as u64),
            names: names.clone(),
            leases: Arc::clone(&leases),
            tally: tally.clone(),
            drops,
        };
        callers.spawn(async move {
            for _ in 0..calls / CALLERS {
                caller.call().await;
            }
        });
    }
    let over = Over::default();
    let looking = auditor.map(|mut auditor| {
        let over = over.0.clone();
        tokio::task::spawn_blocking(move || {
            let mut looks = 0;
            while !over.load(Ordering::Relaxed) {
                assert_eq!(auditor.look(&now), Violations::default());
                looks += 1;
                std::thread::sleep(ms(1));
            }
            looks
        })
    });
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
    drop(over);
    if let Some(looking) = looking {
        let looks: u32 = looking.await.unwrap();
        assert!(looks > 20, "the auditor has looked {looks} times only");
    }
    tally
}

/// What is left when everything has ended is nothing, and each key is free.
pub(crate) async fn nothing_is_left(queue: &WorkQueue, advance: impl Fn(Duration)) {
    assert_sound(queue).await;
    advance(secs(40 * 24 * 3600));
    queue.light_clean().await.unwrap();
    for state in State::ALL {
        queue.purge(state).await.unwrap();
    }
    for name in names() {
        let item = Item::new("").unique(&name).with_id(&name);
        assert!(queue.add_item(item).await.unwrap(), "the key {name:?} is taken");
    }
    assert_sound(queue).await;
    assert_eq!(queue.purge(State::Ready).await.unwrap(), names().len() as u64);
    queue.light_clean().await.unwrap();
    assert!(queue.lease(at_once()).await.unwrap().is_none());
}

/// What the store keeps beside counts.
pub(crate) fn assert_empty(bench: &Bench) {
    let known = [":lanes", ":meta", ":wake", ":due", "leaseq:queues"];
    let left = bench.backend().dump().into_keys().map(|key| String::from_utf8(key).unwrap());
    let left: Vec<_> = left
        .filter(|key| !known.iter().any(|known| key.ends_with(known)) && !key.starts_with("queue "))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

async fn callers_at_random(bench: Arc<Bench>, drops: bool) {
    for round in 0..times() as u64 {
        let seed = seed() + 1_000 * round;
        let queues = queues(&bench, 3).await;
        // Makes the tables.
        queues[0].light_clean().await.unwrap();
        let clock = run_clock(&bench, seed);
        let auditor = Auditor::new(&bench.backend().url());
        let (now, settings) = (bench.clone(), (seed, CALLS, drops));
        let tally = call_at_random(&queues, Some(auditor), move || now.now(), settings).await;
        clock.abort();
        if !drops {
            assert_counted(&queues[0], &tally).await;
        }
        nothing_is_left(&queues[1], |time| bench.advance(time)).await;
        assert_empty(&bench);
        queues[0].drop_queue().await.unwrap();
    }
}

async fn no_two_live_items_have_one_key(bench: Arc<Bench>) {
    callers_at_random(bench, false).await;
}

async fn the_same_in_a_queue_that_is_dropped_at_times(bench: Arc<Bench>) {
    callers_at_random(bench, true).await;
}

on_threads!(no_two_live_items_have_one_key, the_same_in_a_queue_that_is_dropped_at_times);
