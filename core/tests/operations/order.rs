//! The order of leasing.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use leaseq::WorkQueue;

use crate::support::*;

async fn add(queue: &WorkQueue, ids: &[&str]) {
    queue.add_items(ids.iter().map(item)).await.unwrap();
}

async fn first_in_first_out(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    bench.advance(ms(1));
    add(&queue, &["c"]).await;
    assert_eq!(drain(&queue).await, ["a", "b", "c"]);
}

/// More calls than fit into one request: requests in flight at the same time must not change places.
async fn calls_made_together_are_executed_in_the_order_of_the_calls(bench: &Bench) {
    let ids: Vec<String> = (0..2500).map(|i| i.to_string()).collect();
    let client = bench.client().await;
    for round in 0..10 {
        let queue = client.queue(&format!("round-{round}")).unwrap();
        let add = |id: &String| Box::pin(queue.add_item(item(id)));
        let mut calls: Vec<_> = ids.iter().map(add).collect();
        poll_fn(|task| {
            calls.retain_mut(|call| match call.as_mut().poll(task) {
                Poll::Ready(added) => {
                    assert!(added.unwrap());
                    false
                }
                Poll::Pending => true,
            });
            if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let mut order = Vec::new();
        while order.len() < ids.len() {
            order.extend(drain(&queue).await);
        }
        let wrong = (0..ids.len()).find(|&i| order[i] != ids[i]);
        assert_eq!(wrong, None, "round {round}: {:?}", wrong.map(|i| &order[i..][..5]));
    }
}

async fn items_with_options_keep_their_place_in_a_batch(bench: &Bench) {
    let queue = bench.queue().await;
    let batch = [item("a").max_attempts(2), item("b"), item("c").priority(1), item("d")];
    queue.add_items(batch).await.unwrap();
    assert_eq!(drain(&queue).await, ["c", "a", "b", "d"]);
}

async fn higher_priorities_first(bench: &Bench) {
    let queue = bench.queue().await;
    for (id, priority) in [("a", 0), ("b", 9), ("c", 3), ("d", 9), ("e", 3), ("f", 0)] {
        queue.add_item(item(id).priority(priority)).await.unwrap();
    }
    assert_eq!(drain(&queue).await, ["b", "d", "c", "e", "a", "f"]);
}

async fn reclaimed_items_go_to_the_front_the_oldest_first(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    take(&queue).await;
    bench.advance(ms(1));
    take(&queue).await;
    add(&queue, &["c"]).await;
    bench.advance(secs(10));
    assert_eq!(drain(&queue).await, ["a", "b", "c"]);
}

async fn released_items_go_to_the_front(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    queue.release(&take(&queue).await, Duration::ZERO).await.unwrap();
    assert_eq!(drain(&queue).await, ["a", "b"]);
}

async fn items_released_in_one_batch_keep_their_order(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b", "c"]).await;
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    queue.release_many(&leases, Duration::ZERO).await.unwrap();
    assert_eq!(drain(&queue).await, ["a", "b", "c"]);
}

async fn items_due_after_a_release_go_to_the_front(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    queue.release(&take(&queue).await, ms(5)).await.unwrap();
    add(&queue, &["c"]).await;
    bench.advance(ms(5));
    assert_eq!(drain(&queue).await, ["a", "b", "c"]);
}

async fn failed_items_go_to_the_back(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    queue.fail(&take(&queue).await, "", Duration::ZERO).await.unwrap();
    assert_eq!(drain(&queue).await, ["b", "a"]);
}

async fn items_due_after_a_failure_go_to_the_back(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    queue.fail(&take(&queue).await, "", ms(5)).await.unwrap();
    add(&queue, &["c"]).await;
    bench.advance(ms(5));
    assert_eq!(drain(&queue).await, ["b", "c", "a"]);
}

async fn a_failure_after_a_release_with_a_delay_goes_to_the_back(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    queue.release(&take(&queue).await, ms(5)).await.unwrap();
    bench.advance(ms(5));
    queue.fail(&take(&queue).await, "", ms(5)).await.unwrap();
    bench.advance(ms(5));
    assert_eq!(drain(&queue).await, ["b", "a"]);
}

async fn items_added_with_a_delay_go_to_the_back(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("late").delay(ms(7))).await.unwrap();
    queue.add_item(item("soon").delay(ms(5))).await.unwrap();
    add(&queue, &["a"]).await;
    bench.advance(ms(10));
    assert_eq!(drain(&queue).await, ["a", "soon", "late"]);
}

async fn returning_items_stay_in_their_priority(bench: &Bench) {
    let queue = bench.queue().await;
    let add = |id, priority| queue.add_item(item(id).priority(priority));
    for (id, priority) in [("high", 5), ("a", 1), ("b", 1)] {
        add(id, priority).await.unwrap();
    }
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    assert_eq!(ids(&leases), ["high", "a"]);
    queue.release(&leases[1], Duration::ZERO).await.unwrap();
    queue.fail(&leases[0], "", Duration::ZERO).await.unwrap();
    add("higher", 5).await.unwrap();
    assert_eq!(drain(&queue).await, ["high", "higher", "a", "b"]);
    bench.advance(secs(10));
    assert_eq!(drain(&queue).await, ["high", "higher", "a", "b"]);
}

async fn requeued_items_go_to_the_back(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").max_attempts(1)).await.unwrap();
    queue.fail(&take(&queue).await, "", Duration::ZERO).await.unwrap();
    add(&queue, &["b"]).await;
    assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
    assert_eq!(drain(&queue).await, ["b", "a"]);
}

on_every_engine!(
    first_in_first_out,
    items_with_options_keep_their_place_in_a_batch,
    higher_priorities_first,
    reclaimed_items_go_to_the_front_the_oldest_first,
    released_items_go_to_the_front,
    items_released_in_one_batch_keep_their_order,
    items_due_after_a_release_go_to_the_front,
    failed_items_go_to_the_back,
    items_due_after_a_failure_go_to_the_back,
    a_failure_after_a_release_with_a_delay_goes_to_the_back,
    items_added_with_a_delay_go_to_the_back,
    returning_items_stay_in_their_priority,
    requeued_items_go_to_the_back,
);

/// With threads that can overtake one another.
mod on_threads {
    use super::calls_made_together_are_executed_in_the_order_of_the_calls as ordered;
    use crate::support::{redis, sqlite};

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn calls_made_together_on_redis() {
        ordered(&redis::bench()).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn calls_made_together_on_sqlite() {
        ordered(&sqlite::bench()).await;
    }
}
