//! Callers that share a request for the same item: each gets the answer of its own position.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use leaseq::Item;

use crate::support::*;

async fn a_lease_is_completed_by_the_first_of_two_callers(bench: &Bench) {
    let queue = bench.queue().await;
    for id in ["a", "b", "c"] {
        queue.add_item(item(id)).await.unwrap();
        let lease = take(&queue).await;
        let (one, two) = tokio::join!(queue.complete(&lease), queue.complete(&lease));
        assert_eq!((one.unwrap(), two.unwrap()), (true, false));
        assert_eq!((lease.completed(), lease.is_settled()), (Some(true), true));
    }
    assert_eq!(queue.counts().await.unwrap().totals.completed, 3);
    assert_sound(&queue).await;
}

async fn an_item_is_removed_by_the_first_of_two_callers(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let (one, two, three) =
        tokio::join!(queue.remove("a"), queue.remove("a"), queue.remove_many(["b", "a", "b"]));
    assert_eq!((one.unwrap(), two.unwrap()), (true, false));
    assert_eq!(three.unwrap(), [true, false, false]);
    assert_eq!(queue.counts().await.unwrap().totals.removed, 2);
    assert_sound(&queue).await;
}

async fn a_lease_is_extended_by_both_callers(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    let (one, two) = tokio::join!(queue.extend(&lease, secs(60)), queue.extend(&lease, secs(30)));
    let (one, two) = (one.unwrap(), two.unwrap());
    // The later of the old deadline and the new one.
    assert_eq!(one, two);
    assert_eq!(lease.deadline(), one);
    assert!(queue.complete(&lease).await.unwrap());
    assert_sound(&queue).await;
}

async fn the_first_call_with_an_id_adds_it(bench: &Bench) {
    let queue = bench.queue().await;
    let data = |id: &str, data: &str| Item::new(data).with_id(id);
    let (one, two, three) = tokio::join!(
        queue.add_item(data("a", "1")),
        queue.add_items([data("b", "2"), data("a", "3"), data("b", "4")]),
        queue.add_item(data("b", "5")),
    );
    assert!(one.unwrap());
    assert_eq!(two.unwrap(), [true, false, false]);
    assert!(!three.unwrap());
    let leases = queue.lease_many(9, at_once()).await.unwrap();
    let data: Vec<_> = leases.iter().map(|lease| &lease.data()[..]).collect();
    assert_eq!(data, [b"1", b"2"]);
    assert_sound(&queue).await;
}

async fn the_last_call_that_replaces_wins(bench: &Bench) {
    let queue = bench.queue().await;
    let by_id = |data: &str| queue.add_item(Item::new(data).with_id("a").replace());
    let by_key = |data: &str| queue.add_item(Item::new(data).unique("k").replace());
    let (one, two, three, four) = tokio::join!(by_id("1"), by_id("2"), by_id("3"), by_id("4"));
    assert_eq!([one, two, three, four].map(Result::unwrap), [true; 4]);
    let (one, two, three, four) = tokio::join!(by_key("5"), by_key("6"), by_key("7"), by_key("8"));
    assert_eq!([one, two, three, four].map(Result::unwrap), [true; 4]);
    let leases = queue.lease_many(9, at_once()).await.unwrap();
    let data: Vec<_> = leases.iter().map(|lease| &lease.data()[..]).collect();
    assert_eq!(data, [b"4", b"8"]);
    assert_eq!(queue.counts().await.unwrap().totals.replaced, 6);
    assert_sound(&queue).await;
}

/// The earlier one could not be added, because somebody else has its unique key.
async fn a_call_adds_an_id_that_an_earlier_one_could_not(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("owner").unique("k")).await.unwrap();
    let (one, two, three, four) = tokio::join!(
        queue.add_item(item("b")),
        queue.add_item(item("a").unique("k")),
        queue.add_item(item("a")),
        queue.add_items([item("a"), item("c")]),
    );
    assert_eq!([one, two, three].map(Result::unwrap), [true, false, true]);
    assert_eq!(four.unwrap(), [false, true]);
    assert_eq!(drain(&queue).await, ["owner", "b", "a", "c"]);
    assert_sound(&queue).await;
}

/// The call is executed, or not; the others get their own answers.
async fn a_call_dropped_before_its_request_leaves_shifts_no_answer(bench: &Bench) {
    let client = bench.client().await;
    for round in 0..50 {
        let queue = client.queue(&format!("round-{round}")).unwrap();
        queue.add_item(item("3")).await.unwrap();
        let add = |i: usize| Box::pin(queue.add_item(item(i.to_string())));
        let mut calls: Vec<Option<Pin<Box<_>>>> = (0..6).map(|i| Some(add(i))).collect();
        let gone = round % 6;
        let mut answers = [None; 6];
        let mut polls = 0;
        poll_fn(|task| {
            for (call, answer) in calls.iter_mut().zip(&mut answers) {
                if let Some(future) = call
                    && let Poll::Ready(added) = future.as_mut().poll(task)
                {
                    *answer = Some(added.unwrap());
                    *call = None;
                }
            }
            if polls == 0 {
                calls[gone] = None;
            }
            polls += 1;
            if calls.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        for (i, answer) in answers.into_iter().enumerate() {
            assert!(i == gone || answer == Some(i != 3), "round {round}, {i}: {answer:?}");
        }
        // The abandoned call continues: this one comes after it.
        queue.remove("0").await.unwrap();
        assert_sound(&queue).await;
    }
}

on_every_engine!(
    a_lease_is_completed_by_the_first_of_two_callers,
    an_item_is_removed_by_the_first_of_two_callers,
    a_lease_is_extended_by_both_callers,
    the_first_call_with_an_id_adds_it,
    the_last_call_that_replaces_wins,
    a_call_adds_an_id_that_an_earlier_one_could_not,
    a_call_dropped_before_its_request_leaves_shifts_no_answer,
);
