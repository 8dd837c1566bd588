//! Batches of any size, and calls that share requests.

use std::time::Duration;

use leaseq::{Item, Lease};

use crate::support::*;

async fn large_batches_are_split(bench: &Bench) {
    let queue = bench.queue().await;
    let names: Vec<String> = (0..2345).map(|i| format!("{i}")).collect();
    let added = queue.add_items(names.iter().map(item)).await.unwrap();
    assert_eq!((added.len(), added.iter().all(|added| *added)), (2345, true));
    assert!(queue.add_items(names.iter().map(item)).await.unwrap().iter().all(|added| !added));

    let mut leases: Vec<Lease> = Vec::new();
    for expected in [1000, 1000, 345, 0] {
        let some = queue.lease_many(5000, at_once()).await.unwrap();
        assert_eq!(some.len(), expected);
        leases.extend(some);
    }
    assert_eq!(ids(&leases), names);
    let extended = queue.extend_many(&leases, secs(20)).await.unwrap();
    assert_eq!(extended.iter().filter(|answer| answer.is_ok()).count(), 2345);
    let failures = leases[..1100].iter().map(|lease| (lease, "x"));
    assert_eq!(queue.fail_many(failures, Duration::ZERO).await.unwrap().len(), 1100);
    let released = queue.release_many(&leases[1000..], Duration::ZERO).await.unwrap();
    assert_eq!(released.iter().filter(|answer| answer.is_ok()).count(), 1245);
    let done = queue.complete_many(&leases[..1500]).await.unwrap();
    assert!(done.iter().all(|done| *done));
    let removed = queue.remove_many(&names).await.unwrap();
    let expected = [vec![false; 1500], vec![true; 845]].concat();
    assert_eq!(removed, expected);
    assert_eq!(queue.requeue(&names).await.unwrap(), [false; 2345]);
    assert_sound(&queue).await;
}

async fn empty_batches_return_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(queue.add_items([]).await.unwrap().is_empty());
    assert!(queue.complete_many([]).await.unwrap().is_empty());
    assert!(queue.extend_many([], secs(1)).await.unwrap().is_empty());
    assert!(queue.release_many([], Duration::ZERO).await.unwrap().is_empty());
    assert!(queue.fail_many([], Duration::ZERO).await.unwrap().is_empty());
    assert!(queue.remove_many(Vec::<String>::new()).await.unwrap().is_empty());
    assert!(queue.requeue(Vec::<String>::new()).await.unwrap().is_empty());
}

async fn the_first_item_of_an_id_in_a_batch_is_added(bench: &Bench) {
    let queue = bench.queue().await;
    let data = |id: &str, data: &str| Item::new(data).with_id(id);
    let batch = [data("a", "1"), data("b", "2"), data("a", "3"), data("a", "4").delay(secs(1))];
    assert_eq!(queue.add_items(batch).await.unwrap(), [true, true, false, false]);
    let batch = [data("b", "5"), data("b", "6"), data("c", "7")];
    assert_eq!(queue.add_items(batch).await.unwrap(), [false, false, true]);
    let leases = queue.lease_many(9, at_once()).await.unwrap();
    assert_eq!(
        leases.iter().map(|lease| &lease.data()[..]).collect::<Vec<_>>(),
        [b"1", b"2", b"7"]
    );
    assert_eq!(queue.counts().await.unwrap().totals.added, 3);
    assert_sound(&queue).await;
}

async fn concurrent_single_calls_each_get_their_answer(bench: &Bench) {
    let queue = bench.queue().await;
    let calls = (0..500).map(|i| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.add_item(item(format!("{}", i % 250))).await.unwrap() })
    });
    let mut added = 0;
    for call in calls.collect::<Vec<_>>() {
        added += u32::from(call.await.unwrap());
    }
    assert_eq!((added, queue.queue_len().await.unwrap()), (250, 250));

    let workers = (0..300).map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move {
            let Some(lease) = queue.lease(at_once()).await.unwrap() else { return false };
            assert_eq!(lease.id(), &lease.data()[..]);
            assert!(queue.extend(&lease, secs(20)).await.is_ok());
            assert!(queue.complete(&lease).await.unwrap());
            true
        })
    });
    let mut completed = 0;
    for worker in workers.collect::<Vec<_>>() {
        completed += u32::from(worker.await.unwrap());
    }
    assert_eq!(completed, 250);
    assert_eq!(queue.counts().await.unwrap().totals.completed, 250);
    assert_sound(&queue).await;
}

async fn no_item_of_a_batch_with_an_invalid_one_is_added(bench: &Bench) {
    let queue = bench.queue().await;
    let batch = [item("a"), item(""), item("b")];
    assert_eq!(kind(queue.add_items(batch).await), leaseq::ErrorKind::Invalid);
    assert!(bench.backend().dump().is_empty());
}

on_every_engine!(
    large_batches_are_split,
    empty_batches_return_nothing,
    the_first_item_of_an_id_in_a_batch_is_added,
    concurrent_single_calls_each_get_their_answer,
    no_item_of_a_batch_with_an_invalid_one_is_added,
);
