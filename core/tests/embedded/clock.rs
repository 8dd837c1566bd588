//! A clock that is set forward or back: leases and delays are as long as they should be, and
//! nothing is delivered out of turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leaseq::{Client, ConnectOptions, LeaseOptions, WorkQueue};

use crate::support::{Place, assert_sound, at_once, item, ms};

/// A clock that begins in 2027 and stands still.
fn clock() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(1_800_000_000_000))
}

async fn queue_with(place: &Place, clock: &Arc<AtomicU64>) -> WorkQueue {
    let clock = clock.clone();
    let mut options = ConnectOptions::default();
    options.clock = Some((move || clock.load(Ordering::Relaxed)).into());
    Client::connect_with(&place.url(), options).await.unwrap().queue("jobs").unwrap()
}

fn lease_of(seconds: u64) -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(seconds)).wait(Duration::ZERO)
}

#[tokio::test]
async fn a_clock_that_jumps_forward_expires_leases() {
    let now = clock();
    let place = Place::new();
    let queue = queue_with(&place, &now).await;
    queue.add_items([item("a"), item("b").delay(Duration::from_secs(60))]).await.unwrap();
    let first = queue.lease(lease_of(60)).await.unwrap().unwrap();
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    now.fetch_add(61_000, Ordering::Relaxed);
    let leases = queue.lease_many(10, at_once()).await.unwrap();
    let seen: Vec<_> = leases.iter().map(|lease| (lease.id(), lease.attempt())).collect();
    assert_eq!(seen, [(&b"a"[..], 2), (b"b", 1)]);
    assert!(queue.extend(&first, Duration::from_secs(60)).await.is_err());
}

#[tokio::test]
async fn a_clock_that_goes_back_changes_neither_leases_nor_the_order() {
    let now = clock();
    let place = Place::new();
    let queue = queue_with(&place, &now).await;
    queue.add_item(item("a")).await.unwrap();
    let lease = queue.lease(lease_of(60)).await.unwrap().unwrap();
    let deadline = lease.deadline();
    now.fetch_sub(3_600_000, Ordering::Relaxed);
    // The same for a client that knows no other time.
    let other = queue_with(&place, &now).await;
    for (n, queue) in [&queue, &other].into_iter().enumerate() {
        // Its time stands still until the clock has caught up; it is no hour earlier.
        let late = item(format!("late {n}")).delay(Duration::from_secs(1));
        queue.add_items([item(format!("new {n}")), late]).await.unwrap();
        let new = queue.lease(lease_of(60)).await.unwrap().unwrap();
        assert_eq!(new.id_str(), Some(format!("new {n}").as_str()));
        let slack = new.deadline().max(deadline).duration_since(new.deadline().min(deadline));
        assert!(slack.unwrap() <= ms(10));
        assert!(queue.lease(at_once()).await.unwrap().is_none());
    }
    assert!(queue.extend(&lease, Duration::from_secs(60)).await.unwrap() >= deadline);
    // Where it was before, and on.
    now.fetch_add(3_600_000 + 2_000, Ordering::Relaxed);
    let leases = queue.lease_many(10, at_once()).await.unwrap();
    let ids: Vec<_> = leases.iter().map(|lease| lease.id_str().unwrap()).collect();
    assert_eq!(ids, ["late 0", "late 1"]);
    now.fetch_add(60_000, Ordering::Relaxed);
    assert_eq!(queue.light_clean().await.unwrap().expired, 5);
    assert_sound(&queue).await;
}
