//! Who is next.

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

async fn what_is_reclaimed_goes_to_the_front_the_oldest_first(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    take(&queue).await;
    bench.advance(ms(1));
    take(&queue).await;
    add(&queue, &["c"]).await;
    bench.advance(secs(10));
    assert_eq!(drain(&queue).await, ["a", "b", "c"]);
}

async fn what_is_released_goes_to_the_front(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    queue.release(&take(&queue).await, Duration::ZERO).await.unwrap();
    assert_eq!(drain(&queue).await, ["a", "b"]);
}

async fn what_is_released_in_one_batch_keeps_its_order(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b", "c"]).await;
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    queue.release_many(&leases, Duration::ZERO).await.unwrap();
    assert_eq!(drain(&queue).await, ["a", "b", "c"]);
}

async fn what_is_due_after_a_release_goes_to_the_front(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    queue.release(&take(&queue).await, ms(5)).await.unwrap();
    add(&queue, &["c"]).await;
    bench.advance(ms(5));
    assert_eq!(drain(&queue).await, ["a", "b", "c"]);
}

async fn what_failed_goes_to_the_back(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, &["a", "b"]).await;
    queue.fail(&take(&queue).await, "", Duration::ZERO).await.unwrap();
    assert_eq!(drain(&queue).await, ["b", "a"]);
}

async fn what_is_due_after_a_failure_goes_to_the_back(bench: &Bench) {
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

async fn what_was_added_with_a_delay_goes_to_the_back(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("late").delay(ms(7))).await.unwrap();
    queue.add_item(item("soon").delay(ms(5))).await.unwrap();
    add(&queue, &["a"]).await;
    bench.advance(ms(10));
    assert_eq!(drain(&queue).await, ["a", "soon", "late"]);
}

async fn what_comes_back_stays_within_its_priority(bench: &Bench) {
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

async fn the_requeued_go_to_the_back(bench: &Bench) {
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
    what_is_reclaimed_goes_to_the_front_the_oldest_first,
    what_is_released_goes_to_the_front,
    what_is_released_in_one_batch_keeps_its_order,
    what_is_due_after_a_release_goes_to_the_front,
    what_failed_goes_to_the_back,
    what_is_due_after_a_failure_goes_to_the_back,
    a_failure_after_a_release_with_a_delay_goes_to_the_back,
    what_was_added_with_a_delay_goes_to_the_back,
    what_comes_back_stays_within_its_priority,
    the_requeued_go_to_the_back,
);
