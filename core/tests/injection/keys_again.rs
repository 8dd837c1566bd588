//! Keys again: what reaches an item by an old way, while a script stops. A lease that has expired completes late, items come
//! back from the dead, get another key, end because they are marked, or go with their queue.

use std::time::Duration;

use leaseq::{FailOptions, Lease, Result, State, WorkQueue};

use crate::fixtures::Leases;
use crate::keys::{IDS, LONG, fixtures, keyed, lease, of, stops};
use crate::support::redis::{fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

/// The item of an expired lease has come back before its first holder completes it.
#[tokio::test]
async fn a_late_completion() {
    for state in ["ready", "leased", "delayed", "dead"] {
        let act = async |queue: &WorkQueue, leases: &Leases| {
            queue.light_clean().await.unwrap();
            if state != "ready" {
                let again = lease(queue, LONG).await;
                let again = again.iter().find(|lease| lease.id() == b"d1").unwrap();
                match state {
                    "leased" => {}
                    "delayed" => queue.release(again, secs(20)).await.unwrap(),
                    _ => {
                        let dead = FailOptions::new().dead();
                        assert_eq!(queue.fail_with(again, "no", dead).await.unwrap(), State::Dead);
                    }
                }
            }
            let many = of(leases, &["d1", "a1", "c1"]); // the last one is gone
            let done = queue.complete_many(many).await?;
            assert_eq!(done, [true, true, false], "{state}");
            Ok(())
        };
        stops("complete extended", &["d1", "a1"], act).await;
    }
}

/// The same, and others are leased by the same call.
#[tokio::test]
async fn a_late_completion_that_leases() {
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let again = lease(queue, LONG).await;
        assert!(again.iter().any(|lease| lease.id() == b"d1"));
        queue.complete_and_lease(of(leases, &["d1", "b1"]), 900, at_once()).await.map(drop)
    };
    stops("complete_and_lease extended", &["d1", "b1"], act).await;
}

#[tokio::test]
async fn items_that_are_requeued() {
    let some = ["a2", "a5", "b3", "b5", "c2", "e3"];
    let act = async |queue: &WorkQueue, _: &Leases| {
        assert_eq!(queue.bury(some, "no").await.unwrap(), [true; 6]);
        let first = queue.requeue(some).await;
        if first.is_err() {
            queue.requeue(some).await.unwrap();
        }
        first.map(drop)
    };
    stops("requeue", &[], act).await;
}

/// Items that wait get the key of another line, by being replaced.
#[tokio::test]
async fn another_key() {
    for (id, key) in [("a2", "f"), ("c2", "a"), ("f1", "b"), ("b5", "none")] {
        let act = async |queue: &WorkQueue, _: &Leases| {
            queue.add_item(item(id).key(key).replace()).await.map(drop)
        };
        stops("add extended", &[], act).await;
    }
}

/// Marked items end with their leases, and others get their places.
#[tokio::test]
async fn marked_items() {
    let some = ["a1", "b1", "e2"];
    let mark = async |queue: &WorkQueue| {
        assert_eq!(queue.cancel_many(some).await.unwrap(), [true; 3]);
    };
    let act = async |queue: &WorkQueue, leases: &Leases| {
        mark(queue).await;
        queue.release_many(of(leases, &some), Duration::ZERO).await.map(drop)
    };
    stops("release extended", &some, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        mark(queue).await;
        let many = of(leases, &some).into_iter().map(|lease| (lease, "no"));
        queue.fail_many(many, secs(5)).await.map(drop)
    };
    stops("fail extended", &some, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        mark(queue).await;
        queue.complete_many(of(leases, &some)).await.map(drop)
    };
    stops("complete extended", &some, act).await;
}

#[tokio::test]
async fn a_queue_that_is_dropped() {
    let act = async |queue: &WorkQueue, _: &Leases| queue.drop_queue().await.map(drop);
    stops("drop", &IDS, act).await;
}

fn ids_of(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.id_str().unwrap()).collect()
}

/// The queue is used again at once, with the same ids and keys, while holders of the old one still settle.
#[tokio::test]
async fn a_queue_that_is_dropped_and_used_again() {
    let mut stage = Stage::new().await;
    for calls in stopping_points() {
        let queue = stage.new_queue();
        let leases = fixtures(&stage.bench, &queue).await;
        fail_after(&mut stage.raw, "drop", calls);
        let answer: Result<bool> = queue.drop_queue().await;
        let failed = has_failed(&mut stage.raw, "drop");
        assert_eq!(answer.is_err(), failed, "{calls}: {answer:?}");
        queue.drop_queue().await.unwrap();
        queue.add_items(["a1", "a2", "b1", "b2", "b3"].map(keyed)).await.unwrap();
        let first = lease(&queue, LONG).await;
        assert_eq!(ids_of(&first), ["a1", "b1"], "the limits have gone with the queue");
        let old = of(&leases, &["a1", "b1", "b2", "e2"]);
        assert_eq!(queue.complete_many(old.iter().copied()).await.unwrap(), [false; 4]);
        for old in old {
            assert!(queue.release(old, Duration::ZERO).await.is_err());
        }
        assert_eq!(lease(&queue, LONG).await.len(), 0);
        assert!(queue.complete(&first[1]).await.unwrap());
        let second = lease(&queue, LONG).await;
        assert_eq!(ids_of(&second), ["b2"]);
        assert_eq!(queue.purge(State::Leased).await.unwrap(), 2);
        let third = lease(&queue, LONG).await;
        assert_eq!(ids_of(&third), ["a2", "b3"]);
        assert_sound(&queue).await;
        if !failed {
            assert!(calls > 2, "nothing was dropped");
            return;
        }
    }
}
