//! A cleaner alone makes the item of a killed worker ready again when its lease expires.

use std::time::{Duration, Instant, SystemTime};

use leaseq::{State, WorkQueue};
use leaseq_test_support::{Cluster, eventually};

use crate::support::{Cleaner, Place, SOON, item, lease, ms, secs};

/// The promise: an item is ready this long after its deadline.
const LATE: Duration = Duration::from_millis(100);

/// Leases an item and forgets it, like a killed worker. Returns how long after its deadline the
/// item was ready.
async fn lateness(queue: &WorkQueue, duration: Duration) -> Duration {
    let held = lease(queue, duration).await;
    let deadline = held.deadline();
    // Read-only: this process must not reclaim the item.
    let mut seen = SystemTime::now();
    let ready = eventually(SOON, async || {
        let info = queue.get(held.id()).await.unwrap().unwrap();
        seen = SystemTime::now();
        info.state == State::Ready
    });
    assert!(ready.await, "never reclaimed");
    seen.duration_since(deadline).unwrap_or_default()
}

async fn is_prompt(queue: &WorkQueue, place: &str) {
    for duration in [ms(300), ms(1), ms(50), ms(2_500)] {
        // The machine may be busy: one of a few attempts must be in time, usually the first.
        let mut late = Vec::new();
        for _ in 0..5 {
            late.push(lateness(queue, duration).await);
            if late.last().is_some_and(|late| *late < LATE) {
                break;
            }
        }
        println!("{place}, a lease of {duration:?}: {late:?} late");
        assert!(late.iter().any(|late| *late < LATE), "{place}, {duration:?}: {late:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_a_killed_worker_is_ready_when_its_lease_ends() {
    for place in Place::both() {
        let client = place.client().await;
        // So many that each is polled rarely.
        for i in 0..40 {
            client.queue(&format!("q{i}")).unwrap().add_item(item("a")).await.unwrap();
        }
        let cleaner = Cleaner::start(&place.url(), &[]);
        cleaner.wait_for_queues(&["q0", "q39"]);
        for name in ["q0", "q17", "q39"] {
            is_prompt(&client.queue(name).unwrap(), &place.url()).await;
        }
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn so_it_is_on_a_cluster_and_for_what_is_delayed() {
    let cluster = Cluster::start();
    let client = leaseq::Client::connect(&cluster.url()).await.unwrap();
    for i in 0..12 {
        client.queue(&format!("q{i}")).unwrap().add_item(item("a")).await.unwrap();
    }
    let cleaner = Cleaner::start(&cluster.url(), &[]);
    cleaner.wait_for_queues(&["q0", "q11"]);
    for name in ["q0", "q5", "q11"] {
        is_prompt(&client.queue(name).unwrap(), name).await;
    }
    // Delays set by an add, a release and a failure.
    let queue = client.queue("q0").unwrap();
    let late_by = async |id: &str, begun: Instant, delay: Duration| {
        let ready =
            eventually(SOON, async || queue.get(id).await.unwrap().unwrap().state == State::Ready);
        assert!(ready.await);
        begun.elapsed().saturating_sub(delay)
    };
    let mut best = [secs(9); 3];
    for i in 0..5 {
        let begun = Instant::now();
        queue.add_item(item(&format!("d{i}")).delay(ms(200))).await.unwrap();
        best[0] = best[0].min(late_by(&format!("d{i}"), begun, ms(200)).await);
        let held = lease(&queue, secs(60)).await;
        let (id, begun) = (held.id_str().unwrap().to_owned(), Instant::now());
        queue.release(&held, ms(200)).await.unwrap();
        best[1] = best[1].min(late_by(&id, begun, ms(200)).await);
        let held = lease(&queue, secs(60)).await;
        let (id, begun) = (held.id_str().unwrap().to_owned(), Instant::now());
        queue.fail(&held, "x", ms(200)).await.unwrap();
        best[2] = best[2].min(late_by(&id, begun, ms(200)).await);
        if best.iter().all(|late| *late < LATE) {
            break;
        }
    }
    println!("delayed items are ready {best:?} late");
    assert!(best.iter().all(|late| *late < LATE), "{best:?}");
}
