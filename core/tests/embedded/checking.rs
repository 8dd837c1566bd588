//! Checks of large queues are in nobody's way, and find nothing wrong while others work.

use std::time::Duration;

use leaseq::{CompleteOptions, Damage};
use rusqlite::Connection;

use crate::support::{Place, assert_sound, at_once, fill, item, ms};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_extended_during_a_check_by_the_same_client() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_item(item("mine").priority(9)).await.unwrap();
    fill(&place, 200_000);
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    // A slow machine slows both, so the bound does not depend on it.
    for deep in [false, true] {
        let mut extended = 0;
        let check = async {
            if deep {
                assert!(queue.deep_clean().await.unwrap().is_sound());
            } else {
                assert_sound(&queue).await;
            }
        };
        let extending = async {
            loop {
                queue.extend(&lease, Duration::from_secs(60)).await.unwrap();
                extended += 1;
            }
        };
        tokio::select! {
            () = check => {}
            () = extending => unreachable!("it never ends"),
        }
        assert!(extended > 20, "extended {extended} times");
    }
    assert!(queue.complete_with(&lease, CompleteOptions::new().strict()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_found_wrong_while_others_work() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_item(item("first")).await.unwrap();
    fill(&place, 20_000);
    let working: Vec<_> = (0..3)
        .map(|name| {
            let url = place.url();
            tokio::spawn(async move {
                let queue = crate::support::queue(&url).await;
                for n in 0.. {
                    let new = (0..3).map(|i| item(format!("{name}.{n}.{i}")).priority(i));
                    queue.add_items(new).await.unwrap();
                    let leases = queue.lease_many(5, at_once()).await.unwrap();
                    queue.fail(&leases[0], "no", ms(5)).await.unwrap();
                    queue.complete_many(&leases[1..]).await.unwrap();
                }
            })
        })
        .collect();
    for _ in 0..5 {
        assert_sound(&queue).await;
        assert!(queue.deep_clean().await.unwrap().is_sound());
    }
    for work in working {
        work.abort();
        assert!(work.await.unwrap_err().is_cancelled(), "see its message above");
    }
    assert_sound(&queue).await;
}

#[tokio::test]
async fn wrong_counts_are_corrected_once_by_cleans_at_the_same_time() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_items((0..500).map(|n| item(n.to_string()))).await.unwrap();
    let others = [place.queue().await, place.queue().await, place.queue().await];
    let connection = Connection::open(place.file()).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    for _ in 0..10 {
        connection.execute_batch("UPDATE queue SET ready0 = ready0 + 7, dead = dead - 3").unwrap();
        let report = queue.check().await.unwrap();
        assert_eq!(report.found.get(&Damage::BadCount), Some(&1));
        let [a, b, c] = &others;
        let (a, b, c) = tokio::join!(a.deep_clean(), b.deep_clean(), c.deep_clean());
        let found = [a, b, c].map(|report| report.unwrap().mended.contains_key(&Damage::BadCount));
        assert!(found.contains(&true));
        assert_sound(&queue).await;
        assert_eq!(queue.counts().await.unwrap().ready, 500);
    }
}
