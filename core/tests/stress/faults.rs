//! Random calls on unique keys while replies are lost, the server is killed, and its slot migrates: each call is
//! executed once, and what it was told is so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use leaseq::{Client, WorkQueue};
use leaseq_test_support::{Cluster, Proxy, RedisServer, Then};

use crate::audit::{Auditor, Violations};
use crate::calls::Tally;
use crate::keys::{call_at_random, nothing_is_left};
use crate::support::*;
use crate::{Over, seed, times};

/// Longer than any item of these calls is kept, or reserves its key.
const ALL_OVER: Duration = Duration::from_millis(1_100);

async fn clients(url: &str) -> Vec<WorkQueue> {
    let mut queues = Vec::new();
    for _ in 0..3 {
        let client = Client::connect(&format!("{url}?timeout_ms=30000")).await.unwrap();
        queues.push(client.queue("jobs").unwrap());
    }
    queues
}

/// Disturbs random calls until they are over. Returns how often.
async fn disturbed<T: Send + 'static>(
    queues: &[WorkQueue],
    auditor: Option<Auditor>,
    calls: usize,
    mut thing: T,
    disturb: impl Fn(&mut T) + Send + 'static,
) -> (T, u32) {
    let over = Over::default();
    let disturbing = {
        let over = over.0.clone();
        tokio::task::spawn_blocking(move || {
            let mut times = 0;
            while !over.load(Ordering::Relaxed) {
                disturb(&mut thing);
                times += 1;
            }
            (thing, times)
        })
    };
    let now = || since_1970(SystemTime::now());
    let tally = call_at_random(queues, auditor, now, (seed(), calls * times(), false)).await;
    drop(over);
    let done = disturbing.await.unwrap();
    assert_counted(&queues[0], &tally).await;
    nothing_is_left(&queues[1], |_| std::thread::sleep(ALL_OVER)).await;
    done
}

/// The totals are what the callers were told.
pub(crate) async fn assert_counted(queue: &WorkQueue, tally: &Tally) {
    let totals = queue.counts().await.unwrap().totals;
    let told = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    assert_eq!(totals.added, told(&tally.added), "added");
    // Whoever gets the answer only by a retry does not get leases that have ended by then.
    assert!(totals.leased >= told(&tally.leased), "leased");
    assert_eq!(totals.completed, told(&tally.completed), "completed");
    assert_eq!(totals.failed, told(&tally.failed), "failed");
    assert_eq!(totals.removed, told(&tally.removed), "removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_replies_change_no_answer() {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.port()).await;
    let queues = clients(&proxy.url()).await;
    let auditor = Auditor::new(&server.url());
    // One of 30 replies, so that a retry is rarely hit again.
    let scripts = AtomicU64::new(0);
    let hit = move |args: &[Vec<u8>]| {
        args[0].starts_with(b"EVAL") && scripts.fetch_add(1, Ordering::Relaxed) % 30 == 29
    };
    proxy.drop_replies(hit, usize::MAX, Then::Close);
    let wait = |_: &mut Proxy| std::thread::sleep(ms(10));
    let (proxy, _) = disturbed(&queues, Some(auditor), 4_000, proxy, wait).await;
    assert!(proxy.replies_dropped() > 20, "{} replies", proxy.replies_dropped());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_changes_no_answer() {
    let durable = RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always");
    let server = durable.start();
    let queues = clients(&server.url()).await;
    let (server, kills) = disturbed(&queues, None, 2_000, server, |server| {
        std::thread::sleep(ms(300));
        server.restart();
    })
    .await;
    println!("{kills} kills");
    assert!(kills > 1, "{kills} kills");
    let violations = Auditor::new(&server.url()).look(|| 0);
    assert_eq!(violations, Violations::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_migrates_changes_no_answer() {
    let cluster = tokio::task::spawn_blocking(Cluster::start).await.unwrap();
    let queues = clients(&cluster.url()).await;
    let (_, moves) = disturbed(&queues, None, 1_500, cluster, |cluster| {
        std::thread::sleep(ms(150));
        let slot = cluster.slot_of("leaseq:{jobs}:items");
        let from = cluster.slot_owner(slot);
        let to = cluster.other_than(from);
        cluster.begin_migration(slot, from, to);
        loop {
            let keys = cluster.keys_in_slot(slot, from);
            if keys.is_empty() {
                break;
            }
            for key in keys {
                cluster.migrate_key(&key, from, to);
                std::thread::sleep(ms(3));
            }
        }
        cluster.finish_migration(slot, from, to);
    })
    .await;
    println!("{moves} moves");
    assert!(moves > 1, "{moves} moves");
}
