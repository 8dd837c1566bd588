//! `lease` and `lease_many`, and how attempts are counted.

use std::time::Duration;

use leaseq::{FailOptions, Item, LeaseOptions, Revision, State};

use crate::support::*;

async fn nothing_to_lease_is_not_an_error(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert!(queue.lease_many(5, at_once()).await.unwrap().is_empty());
}

async fn a_lease_ends_at_its_deadline(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(since_1970(lease.deadline()), bench.now() + 10_000);
    assert_eq!(state(&queue, "a").await, Some(State::Leased));
    bench.advance(ms(9_999));
    assert!(queue.lease(at_once()).await.unwrap().is_none(), "no overlap");
    bench.advance(ms(1));
    let next = take(&queue).await;
    assert_eq!((next.attempt(), next.expiries(), next.failures()), (2, 1, 0));
    assert_eq!(next.generation(), lease.generation());
}

async fn a_lease_tells_how_long_its_item_has_waited(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    bench.advance(ms(1_234));
    let lease = take(&queue).await;
    assert_eq!(lease.waited(), ms(1_234));
    bench.advance(secs(1));
    queue.extend(&lease, secs(60)).await.unwrap();
    assert_eq!(lease.waited(), ms(1_234));
    // It comes back with the failure, at the end of the delay, or when it is reclaimed.
    queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
    bench.advance(ms(20));
    let lease = take(&queue).await;
    assert_eq!(lease.waited(), ms(20));
    queue.fail(&lease, "no", secs(5)).await.unwrap();
    bench.advance(secs(7));
    assert_eq!(take(&queue).await.waited(), secs(2));
    bench.advance(secs(11));
    queue.light_clean().await.unwrap();
    bench.advance(secs(3));
    let lease = take(&queue).await;
    assert_eq!(lease.waited(), secs(3));
    // Who gives it back has not worked on it; with a delay it is not to be leased before.
    bench.advance(secs(1));
    queue.release(&lease, Duration::ZERO).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(lease.waited(), secs(4));
    queue.release(&lease, secs(1)).await.unwrap();
    bench.advance(ms(1_001));
    let lease = take(&queue).await;
    assert_eq!(lease.waited(), ms(1));
    queue.fail_with(&lease, "no", FailOptions::new().dead()).await.unwrap();
    bench.advance(secs(100));
    queue.requeue(["a"]).await.unwrap();
    bench.advance(secs(6));
    let lease = take(&queue).await;
    assert_eq!(lease.waited(), secs(6));
    assert!(queue.complete(&lease).await.unwrap());
    // Whatever it was added with.
    let large = Item::new(vec![0; 20_000]).with_id("large");
    queue
        .add_items([large, item("later").delay(secs(9)), item("first").priority(9)])
        .await
        .unwrap();
    bench.advance(secs(8));
    assert_eq!(queue.revise("first", Revision::new().priority(3)).await.ok(), Some(true));
    bench.advance(secs(2));
    let leases = queue.lease_many(3, at_once()).await.unwrap();
    let waited: Vec<_> =
        leases.iter().map(|lease| (lease.id_str().unwrap(), lease.waited())).collect();
    assert_eq!(waited, [("first", secs(2)), ("large", secs(10)), ("later", secs(1))]);
}

async fn lease_many_takes_what_is_there(bench: &Bench) {
    let queue = bench.queue().await;
    for (i, priority) in [0, 4, 4, 0, 9].into_iter().enumerate() {
        queue.add_item(item(format!("{i}")).priority(priority)).await.unwrap();
    }
    assert_eq!(ids(&queue.lease_many(4, at_once()).await.unwrap()), ["4", "1", "2", "0"]);
    assert_eq!(ids(&queue.lease_many(4, at_once()).await.unwrap()), ["3"]);
}

async fn only_one_of_two_workers_gets_the_item(bench: &Bench) {
    let (one, two) = (bench.queue().await, bench.queue().await);
    for round in 0..50 {
        one.add_item(item(format!("{round}"))).await.unwrap();
        let (a, b) = tokio::join!(one.lease(at_once()), two.lease(at_once()));
        let leases = [a.unwrap(), b.unwrap()];
        assert_eq!(leases.iter().flatten().count(), 1);
    }
}

async fn concurrent_calls_share_the_ready_items(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items((0..10).map(|i| item(format!("{i}")))).await.unwrap();
    let options = |s| LeaseOptions::new(secs(s)).wait(Duration::ZERO);
    let (a, b, c, d) = tokio::join!(
        queue.lease_many(4, options(1)),
        queue.lease_many(3, options(2)),
        queue.lease(options(3)),
        queue.lease_many(9, options(4)),
    );
    let leases = [a.unwrap(), b.unwrap(), c.unwrap().into_iter().collect(), d.unwrap()];
    assert_eq!(leases.each_ref().map(Vec::len), [4, 3, 1, 2]);
    for (leases, secs) in leases.iter().zip(1..) {
        for lease in leases {
            assert_eq!(since_1970(lease.deadline()), bench.now() + secs * 1000);
        }
    }
    let mut all: Vec<String> = leases.iter().flat_map(|leases| ids(leases)).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 10);
}

async fn attempts_are_one_plus_failures_and_expiries(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let counted = |lease: &leaseq::Lease| (lease.attempt(), lease.failures(), lease.expiries());

    let lease = take(&queue).await;
    assert_eq!(counted(&lease), (1, 0, 0));
    queue.fail(&lease, "first", Duration::ZERO).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!((counted(&lease), lease.last_error()), ((2, 1, 0), "first"));
    bench.advance(secs(10));
    let lease = take(&queue).await;
    assert_eq!((counted(&lease), lease.last_error()), ((3, 1, 1), "first"));
    queue.release(&lease, Duration::ZERO).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(counted(&lease), (3, 1, 1), "giving back counts no attempt");
    queue.fail(&lease, "second", ms(5)).await.unwrap();
    let info = queue.get("a").await.unwrap().unwrap();
    assert_eq!((info.failures, info.expiries, info.last_error.as_str()), (2, 1, "second"));

    bench.advance(ms(5));
    queue.complete(&take(&queue).await).await.unwrap();
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!((counted(&lease), lease.last_error()), ((1, 0, 0), ""), "a new generation");
}

async fn an_expiry_counts_and_the_last_one_makes_the_item_dead(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").max_attempts(2)).await.unwrap();
    take(&queue).await;
    bench.advance(secs(10));
    let report = queue.light_clean().await.unwrap();
    assert_eq!((report.promoted, report.expired, report.died), (0, 1, 0));
    assert_eq!(take(&queue).await.attempt(), 2);
    bench.advance(secs(10));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    let info = queue.get("a").await.unwrap().unwrap();
    assert_eq!((info.state, info.expiries), (State::Dead, 2));
    assert_eq!(since_1970(info.at.unwrap()), bench.now());
}

async fn failures_and_expiries_count_together(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").max_attempts(2)).await.unwrap();
    take(&queue).await;
    bench.advance(secs(10));
    let died = queue.fail(&take(&queue).await, "x", secs(1)).await.unwrap();
    assert_eq!(died, State::Dead);
}

async fn light_clean_moves_due_items_and_reports_the_next(bench: &Bench) {
    let queue = bench.queue().await;
    let report = queue.light_clean().await.unwrap();
    assert_eq!((report.promoted, report.expired, report.next_in), (0, 0, None));

    queue.add_item(item("a")).await.unwrap();
    queue.add_item(item("b").max_attempts(1)).await.unwrap();
    queue.lease_many(2, at_once()).await.unwrap();
    queue.add_item(item("c").delay(ms(3))).await.unwrap();
    queue.add_item(item("d").delay(secs(20))).await.unwrap();
    assert_eq!(queue.light_clean().await.unwrap().next_in, Some(ms(3)));
    bench.advance(secs(10));
    let report = queue.light_clean().await.unwrap();
    assert_eq!((report.promoted, report.expired, report.died), (1, 2, 1));
    assert_eq!(report.next_in, Some(secs(10)));
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.leased, counts.dead), (2, 1, 0, 1));
    assert_eq!(drain(&queue).await, ["a", "c"]);
}

async fn light_clean_moves_more_items_than_one_step(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items((0..1800).map(|i| item(format!("{i}")))).await.unwrap();
    queue.add_items((0..1200).map(|i| item(format!("d{i}")).delay(ms(1)))).await.unwrap();
    queue.lease_many(1000, at_once()).await.unwrap();
    queue.lease_many(700, at_once()).await.unwrap();
    bench.advance(secs(10));
    let report = queue.light_clean().await.unwrap();
    assert_eq!((report.promoted, report.expired, report.next_in), (1200, 1700, None));
    assert_eq!(queue.queue_len().await.unwrap(), 3000);
    assert_sound(&queue).await;
}

on_every_engine!(
    nothing_to_lease_is_not_an_error,
    a_lease_ends_at_its_deadline,
    a_lease_tells_how_long_its_item_has_waited,
    lease_many_takes_what_is_there,
    only_one_of_two_workers_gets_the_item,
    concurrent_calls_share_the_ready_items,
    attempts_are_one_plus_failures_and_expiries,
    an_expiry_counts_and_the_last_one_makes_the_item_dead,
    failures_and_expiries_count_together,
    light_clean_moves_due_items_and_reports_the_next,
    light_clean_moves_more_items_than_one_step,
);
