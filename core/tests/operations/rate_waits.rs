//! Calls that wait because the rate is used up, on the engine's own clock.

use std::time::Duration;

use leaseq::{Client, Lease, LeaseOptions, Rate, WorkQueue};
use tokio::task::{JoinHandle, JoinSet};

use super::rate::{add, rate, set};
use crate::support::rates::{self, Set, begin_of};
use crate::support::*;

/// Waiting calls poll every 2 s anyway: an earlier answer was a wake-up.
const WOKEN: Duration = Duration::from_millis(1500);
const LEASE: Duration = Duration::from_secs(60);

fn waits() -> LeaseOptions {
    LeaseOptions::new(LEASE).wait(secs(60))
}

/// Uses up the burst, and the time from which on leases are allowed one by one.
async fn use_up(queue: &WorkQueue, rate: Rate) -> Set {
    let set = Set { at: set(queue, rate).await.revision, rate };
    let all = queue.lease_many(rate.burst as usize, at_once()).await.unwrap();
    assert_eq!(all.len(), rate.burst as usize);
    set
}

/// A call that has already asked for an item.
async fn begin(queue: &WorkQueue, options: LeaseOptions) -> JoinHandle<Option<Lease>> {
    let worker = queue.clone();
    let call = tokio::spawn(async move { worker.lease(options).await.unwrap() });
    for _ in 0..3 {
        queue.counts().await.unwrap();
    }
    call
}

/// Leases and completes until `count` items are leased in all, and returns when each lease began.
async fn work(queues: Vec<WorkQueue>, count: usize) -> Vec<u64> {
    let mut workers = JoinSet::new();
    let (sender, mut begins) = tokio::sync::mpsc::unbounded_channel();
    for queue in queues {
        let sender = sender.clone();
        workers.spawn(async move {
            loop {
                let lease = queue.lease(waits()).await.unwrap().expect("there are enough items");
                if sender.send(begin_of(&lease, LEASE)).is_err() {
                    return;
                }
                queue.complete(&lease).await.unwrap();
            }
        });
    }
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(
            tokio::time::timeout(WOKEN, begins.recv()).await.expect("one is allowed").unwrap(),
        );
    }
    all
}

/// How late each lease began that was to begin in a series of one every `each` ms, at the best.
fn lateness(begins: &[u64], each: u64) -> Vec<u64> {
    let mut begins = begins.to_vec();
    begins.sort_unstable();
    let late = |pair: &[u64]| (pair[1] - pair[0]).saturating_sub(each);
    let mut late: Vec<u64> = begins.windows(2).map(late).collect();
    late.sort_unstable();
    late
}

async fn one_client_wakes_each_time(bench: &Bench) {
    let queue = bench.queue_in_real_time().await;
    add(&queue, 60).await;
    let set = use_up(&queue, rate(20, secs(1), 1)).await;
    let begins = work(vec![queue.clone()], 20).await;
    rates::check(&[set], &begins).unwrap();
    let late = lateness(&begins, 50);
    assert!(late[late.len() / 2] <= 10, "{late:?}");
}

/// No token is lost, however many wait: of those that wait, one wakes for each lease.
async fn many_clients_share_it(bench: &Bench) {
    let mut queues = Vec::new();
    for _ in 0..8 {
        let queue = bench.queue_in_real_time().await;
        queues.extend([queue.clone(), queue]);
    }
    add(&queues[0], 200).await;
    let set = use_up(&queues[0], rate(40, secs(1), 1)).await;
    let begins = work(queues, 60).await;
    rates::check(&[set], &begins).unwrap();
    let late = lateness(&begins, 25);
    assert!(late[late.len() / 2] <= 10, "{late:?}");
}

/// Each client gets its turn, although all have calls that wait at any time.
async fn all_clients_get_their_share(bench: &Bench) {
    const CLIENTS: usize = 4;
    let own = bench.queue_in_real_time().await;
    add(&own, 200).await;
    use_up(&own, rate(50, secs(1), 1)).await;
    let (sender, mut leased) = tokio::sync::mpsc::unbounded_channel();
    let mut workers = JoinSet::new();
    for client in 0..CLIENTS {
        let queue = bench.queue_in_real_time().await;
        for _ in 0..3 {
            let (queue, sender) = (queue.clone(), sender.clone());
            workers.spawn(async move {
                while queue.lease(waits()).await.unwrap().is_some() && sender.send(client).is_ok() {
                }
            });
        }
    }
    // Beside other load the shares differ, but nobody goes without.
    let mut shares = [0; CLIENTS];
    while shares.iter().any(|share| *share < 5) {
        let next = tokio::time::timeout(WOKEN, leased.recv()).await;
        shares[next.unwrap_or_else(|_| panic!("{shares:?}")).unwrap()] += 1;
    }
}

async fn another_rate_wakes(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    add(&other, 10).await;
    let hour = secs(3_600);
    use_up(&other, rate(1, hour, 1)).await;
    for faster in [Some(rate(10, secs(1), 1)), Some(rate(1, hour, 2)), None] {
        let waiting = begin(&queue, waits()).await;
        assert!(!waiting.is_finished());
        set(&other, faster).await;
        tokio::time::timeout(WOKEN, waiting).await.expect("it wakes").unwrap().unwrap();
        if faster.is_some() {
            use_up_again(&other, rate(1, hour, 1)).await;
        }
    }
}

async fn use_up_again(queue: &WorkQueue, rate: Rate) {
    set(queue, rate).await;
    queue.lease_many(1, at_once()).await.unwrap();
}

async fn an_add_to_an_empty_queue_wakes(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    add(&other, 1).await;
    use_up(&other, rate(5, secs(1), 1)).await;
    let waiting = begin(&queue, waits()).await;
    add(&other, 1).await;
    tokio::time::timeout(WOKEN, waiting).await.expect("it wakes").unwrap().unwrap();
}

/// A call whose wait ends, or whose caller is gone, lets the next one look.
async fn a_call_that_ends_keeps_nobody_waiting(bench: &Bench) {
    let (first, second) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    add(&first, 9).await;
    for dropped in [false, true] {
        set(&first, None).await;
        use_up(&first, rate(1, ms(700), 1)).await;
        let options = LeaseOptions::new(LEASE).wait(if dropped { secs(60) } else { ms(200) });
        let ending = begin(&first, options).await;
        let waiting = begin(&second, waits()).await;
        match dropped {
            true => ending.abort(),
            false => assert!(ending.await.unwrap().is_none()),
        }
        tokio::time::timeout(WOKEN, waiting).await.expect("it wakes").unwrap().unwrap();
    }
}

/// Who was to look is gone after the pause: another client looks.
async fn a_pause_forgets_who_looks(bench: &Bench) {
    let first = Client::connect(&bench.backend().url()).await.unwrap();
    let (own, queue) = (first.queue("jobs").unwrap(), bench.queue_in_real_time().await);
    add(&queue, 9).await;
    let set = use_up(&queue, rate(1, secs(3), 1)).await;
    let looks = begin(&own, waits()).await;
    let waiting = begin(&queue, waits()).await;
    queue.pause().await.unwrap();
    looks.abort();
    first.close().await;
    queue.resume().await.unwrap();
    let lease = tokio::time::timeout(secs(20), waiting).await.unwrap().unwrap().unwrap();
    // Its polls come 2 s and 4 s after the first.
    let after = begin_of(&lease, LEASE) - set.at;
    assert!((3_000..3_700).contains(&after), "after {after} ms");
}

/// The client that was to look asks when nothing is ready, and does not look any more.
async fn nobody_looks_for_items_that_are_gone(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    add(&other, 2).await;
    use_up(&other, rate(1, secs(1), 1)).await;
    let looks = begin(&queue, waits()).await;
    other.purge(leaseq::State::Ready).await.unwrap();
    let _asks = begin(&queue, waits()).await;
    add(&other, 1).await;
    tokio::time::timeout(WOKEN, looks).await.expect("it wakes").unwrap().unwrap();
}

on_every_engine!(
    one_client_wakes_each_time,
    many_clients_share_it,
    all_clients_get_their_share,
    another_rate_wakes,
    an_add_to_an_empty_queue_wakes,
    a_call_that_ends_keeps_nobody_waiting,
    a_pause_forgets_who_looks,
    nobody_looks_for_items_that_are_gone,
);
