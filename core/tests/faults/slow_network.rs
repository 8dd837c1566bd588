//! While a slow request is in flight, many calls become pending, and two lease requests may be in flight
//! at once.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use leaseq::{Client, Item, Lease, LeaseOptions, WorkQueue};
use leaseq_test_support::{Proxy, RedisServer};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::{all_at_once, at_once, behind_proxy, calls, client, ms, wait};

const CALLERS: usize = 100;
/// The delay in each direction.
const DELAY: Duration = Duration::from_millis(2);
/// Waiting calls poll every 2 s anyway: an item that comes sooner was requested in time.
const WOKEN: Duration = Duration::from_millis(1500);

async fn slow() -> (RedisServer, Proxy, Client) {
    let (server, proxy, client) = behind_proxy(5_000).await;
    proxy.delay(DELAY);
    (server, proxy, client)
}

/// Items whose ids show their order.
async fn add(queue: &WorkQueue, ids: std::ops::Range<usize>) {
    let items: Vec<Item> = ids.map(|i| Item::new("data").with_id(format!("{i:06}"))).collect();
    for items in items.chunks(1000) {
        assert!(queue.add_items(items.to_vec()).await.unwrap().iter().all(|&added| added));
    }
}

fn ids(leases: &[Lease]) -> Vec<usize> {
    leases.iter().map(|lease| lease.id_str().unwrap().parse().unwrap()).collect()
}

/// The time of many single leases, and the time of their requests one after the other.
async fn share_of_one_by_one(server: &RedisServer, queue: &WorkQueue) -> f64 {
    const EACH: usize = 40;
    add(queue, 0..CALLERS * EACH).await;
    let begin = Instant::now();
    for _ in 0..20 {
        queue.counts().await.unwrap();
    }
    let round_trip = begin.elapsed() / 20;
    let before = calls(server)["evalsha"];
    let begin = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let queue = queue.clone();
        callers.spawn(async move {
            for _ in 0..EACH {
                assert!(queue.lease(at_once()).await.unwrap().is_some());
            }
        });
    }
    callers.join_all().await;
    let requests = calls(server)["evalsha"] - before;
    begin.elapsed().as_secs_f64() / (round_trip * requests as u32).as_secs_f64()
}

#[tokio::test]
async fn a_second_request_leaves_while_the_first_is_in_flight() {
    let (server, _proxy, client) = slow().await;
    let mut shares = Vec::new();
    // Other programs may delay one attempt, but not all of them.
    while shares.last().is_none_or(|&share| share > 0.9) {
        assert!(shares.len() < 5, "of the time of one after the other: {shares:?}");
        let queue = client.queue(&format!("q{}", shares.len())).unwrap();
        shares.push(share_of_one_by_one(&server, &queue).await);
    }
}

async fn leases_come_in_the_order_of_the_calls() {
    const CALLS: usize = 25;
    let (_server, _proxy, client) = slow().await;
    for round in 0..20 {
        let queue = client.queue(&format!("q{round}")).unwrap();
        add(&queue, 0..1000).await;
        let mut order = ids(&queue.lease_many(40, at_once()).await.unwrap());
        // A call begins after each group of so many turns.
        let (mut begun, mut turns) = (Vec::new(), 0);
        let mut leased = vec![None; CALLS];
        poll_fn(|task| {
            if begun.len() < CALLS {
                if turns % (round + 1) == 0 {
                    begun.push(Box::pin(queue.lease_many(35, at_once())));
                }
                turns += 1;
                task.waker().wake_by_ref();
            }
            for (call, leased) in begun.iter_mut().zip(&mut leased) {
                if leased.is_none()
                    && let Poll::Ready(leases) = call.as_mut().poll(task)
                {
                    *leased = Some(ids(&leases.unwrap()));
                }
            }
            if leased.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        order.extend(leased.into_iter().flatten().flatten());
        assert_eq!(order, (0..40 + CALLS * 35).collect::<Vec<_>>(), "round {round}");
    }
}

#[tokio::test]
async fn leases_come_in_the_order_of_the_calls_on_one_thread() {
    leases_come_in_the_order_of_the_calls().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn leases_come_in_the_order_of_the_calls_on_threads() {
    leases_come_in_the_order_of_the_calls().await;
}

/// Either of two requests may find too few items: calls without an item then wait like the others.
async fn many_calls_get_all_items() {
    let seed = rand::random();
    let mut rng = StdRng::seed_from_u64(seed);
    let (server, _proxy, slow) = slow().await;
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    let queue = slow.queue("q").unwrap();
    let (leased, mut seen) = watch::channel(0);
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (queue, leased) = (queue.clone(), leased.clone());
        // Most calls want one item, some want many; some complete their items with the next lease call.
        let most = if rng.random_ratio(1, 4) { rng.random_range(2..=40) } else { 1 };
        let at_one_go = rng.random_ratio(1, 2);
        // Not all of them wait without limit.
        let wait =
            if rng.random_ratio(1, 4) { wait().wait(ms(rng.random_range(0..30))) } else { wait() };
        callers.spawn(async move {
            let mut held: Vec<Lease> = Vec::new();
            loop {
                held = next(&queue, &held, at_one_go, most, wait.clone()).await;
                leased.send_modify(|leased| *leased += held.len());
            }
        });
    }
    let mut added = 0;
    for burst in 0..60 {
        let items = rng.random_range(1..=15 * CALLERS);
        add(&other, added..added + items).await;
        added += items;
        let all = tokio::time::timeout(WOKEN, seen.wait_for(|&leased| leased == added)).await;
        assert!(all.is_ok(), "burst {burst} of seed {seed}: {items} items, some not leased");
    }
}

/// The callers of two requests in flight give up. With `lost`, the connection also breaks.
async fn callers_that_give_up_strand_nothing(lost: bool) {
    const ITEMS: usize = 1_000;
    let (server, proxy, client_behind) = slow().await;
    let other = client(&server.url(), 5_000).await;
    for round in 0..10 {
        let name = format!("q{round}");
        let (queue, other) = (client_behind.queue(&name).unwrap(), other.queue(&name).unwrap());
        add(&other, 0..ITEMS).await;
        let held = Arc::new(Mutex::new(Vec::new()));
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let (queue, held) = (queue.clone(), held.clone());
            callers.spawn(async move {
                while let Some(lease) = queue.lease(at_once()).await.unwrap() {
                    held.lock().unwrap().push(lease);
                }
            });
        }
        while held.lock().unwrap().len() < 200 + 40 * round {
            tokio::task::yield_now().await;
        }
        if lost {
            proxy.close_all();
        }
        callers.shutdown().await;
        let held = std::mem::take(&mut *held.lock().unwrap());
        assert!(held.len() < ITEMS, "nobody gave up");
        queue.release_many(&held, Duration::ZERO).await.unwrap();
        all_at_once(&other, ITEMS as u64).await;
    }
}

#[tokio::test]
async fn two_requests_whose_callers_gave_up_strand_nothing() {
    callers_that_give_up_strand_nothing(false).await;
}

#[tokio::test]
async fn two_requests_whose_answers_are_lost_strand_nothing() {
    callers_that_give_up_strand_nothing(true).await;
}

/// Completes the held leases, in a call of their own or in the same call, and leases more.
async fn next(
    queue: &WorkQueue,
    held: &[Lease],
    at_one_go: bool,
    most: usize,
    wait: LeaseOptions,
) -> Vec<Lease> {
    if at_one_go {
        let both = queue.complete_and_lease(held, most, wait).await.unwrap();
        assert_eq!(both.completed, vec![true; held.len()]);
        return both.leases;
    }
    assert_eq!(queue.complete_many(held).await.unwrap(), vec![true; held.len()]);
    queue.lease_many(most, wait).await.unwrap()
}

#[tokio::test]
async fn many_calls_on_one_thread_get_all_items() {
    many_calls_get_all_items().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_calls_on_threads_get_all_items() {
    many_calls_get_all_items().await;
}
