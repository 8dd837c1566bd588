//! A queue with an item in every corner, so that one call takes many branches.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{Lease, LeaseOptions, WorkQueue};

use crate::support::*;

/// Leases by the name of their item. `stale:…` are those of a first, expired delivery.
pub(crate) type Leases = BTreeMap<String, Lease>;

const LONG: Duration = Duration::from_secs(1800);

async fn lease_all(queue: &WorkQueue, duration: Duration) -> Leases {
    let options = LeaseOptions::new(duration).wait(Duration::ZERO);
    let leases = queue.lease_many(1000, options).await.unwrap();
    leases.into_iter().map(|lease| (lease.id_str().unwrap().to_owned(), lease)).collect()
}

/// - `kept`: leased by a bystander; `leased…`: by the caller; `expired…`: past their deadline
/// - `s-…`: delivered twice, now in that state
/// - `due…`: delayed, and due by now; `later`: delayed; `dead`; `ready…`
///
/// Between the ready ones stood others that were removed.
pub(crate) async fn add_fixtures(bench: &Bench, queue: &WorkQueue) -> Leases {
    let mut leases = Leases::new();
    queue.add_items(["s-ready", "s-delayed", "s-leased"].map(item)).await.unwrap();
    queue.add_item(item("s-dead").max_attempts(2)).await.unwrap();
    let first = lease_all(queue, secs(1)).await;
    leases.extend(first.into_iter().map(|(id, lease)| (format!("stale:{id}"), lease)));
    bench.advance(secs(1));
    let second = lease_all(queue, LONG).await;
    queue.release(&second["s-delayed"], secs(60)).await.unwrap();
    queue.fail(&second["s-dead"], "s", Duration::ZERO).await.unwrap();

    queue.add_item(item("dead").max_attempts(1)).await.unwrap();
    queue.add_item(item("due-front")).await.unwrap();
    let some = lease_all(queue, LONG).await;
    queue.fail(&some["dead"], "d", Duration::ZERO).await.unwrap();
    queue.release(&some["due-front"], secs(1)).await.unwrap();
    queue.add_items(["due", "due-high"].map(|id| item(id).delay(secs(1)))).await.unwrap();
    queue.add_item(item("later").delay(secs(60))).await.unwrap();

    queue.add_item(item("expired")).await.unwrap();
    queue.add_item(item("expired-high").priority(2)).await.unwrap();
    queue.add_item(item("expired-last").max_attempts(1)).await.unwrap();
    leases.extend(lease_all(queue, secs(1)).await);

    queue.add_items(["kept", "leased"].map(item)).await.unwrap();
    queue.add_item(item("leased-high").priority(3).max_attempts(2)).await.unwrap();
    queue.add_item(item("leased-last").max_attempts(1)).await.unwrap();
    leases.extend(lease_all(queue, LONG).await);

    queue.add_items(["gone", "ready", "gone-too", "ready-too"].map(item)).await.unwrap();
    let high = ["gone-high", "ready-high"].map(|id| item(id).priority(3));
    queue.add_items(high).await.unwrap();
    queue.remove_many(["gone", "gone-too", "gone-high"]).await.unwrap();
    queue.release(&second["s-ready"], Duration::ZERO).await.unwrap();
    bench.advance(secs(1));
    leases
}

pub(crate) const ALL: [&str; 25] = [
    "kept",
    "leased",
    "leased-high",
    "leased-last",
    "expired",
    "expired-high",
    "expired-last",
    "s-ready",
    "s-delayed",
    "s-dead",
    "s-leased",
    "due",
    "due-high",
    "due-front",
    "later",
    "dead",
    "ready",
    "ready-too",
    "ready-high",
    "x-leased",
    "x-released",
    "x-ready",
    "x-delayed",
    "x-high",
    "soon",
];
