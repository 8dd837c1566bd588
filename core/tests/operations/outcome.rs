//! Waiting for the ends of items.

use std::time::{Duration, Instant};

use leaseq::{
    CompleteOptions, ErrorKind, FailOptions, Item, Outcome, OutcomeOptions, State, WorkQueue,
};
use tokio::task::JoinHandle;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);
/// Far longer than any notification takes.
const LATE: Duration = Duration::from_secs(30);

type Waiting = JoinHandle<leaseq::Result<Vec<Option<Outcome>>>>;

fn look() -> OutcomeOptions {
    OutcomeOptions::new().wait(Duration::ZERO)
}

pub(super) fn completed(result: Option<&str>) -> Outcome {
    Outcome::Completed {
        result: result.map(|result| result.to_owned().into()),
        retained: result.is_some(),
    }
}

/// Retained, without a result.
const KEPT: Outcome = Outcome::Completed { result: None, retained: true };

fn dead(error: &str) -> Outcome {
    Outcome::Dead { error: error.to_owned() }
}

/// `outcome_many` without an error of any id.
async fn many(
    queue: &WorkQueue,
    ids: impl IntoIterator<Item = impl AsRef<[u8]>>,
    options: OutcomeOptions,
) -> leaseq::Result<Vec<Option<Outcome>>> {
    queue.outcome_many(ids, options).await?.into_iter().collect()
}

/// A call that waits without a limit, and is registered.
pub(super) async fn waiting(queue: &WorkQueue, ids: &[&str], options: OutcomeOptions) -> Waiting {
    let (waits, ids) = (queue.clone(), ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
    let mut call = Box::pin(async move { many(&waits, ids, options).await });
    // The call is pending before the next one is made, which is answered after it.
    let early = tokio::time::timeout(Duration::ZERO, &mut call).await;
    let call = match early {
        Ok(done) => tokio::spawn(async move { done }),
        Err(_) => tokio::spawn(call),
    };
    let none = queue.outcome("there is none", OutcomeOptions::new()).await.unwrap();
    assert_eq!(none, Some(Outcome::Gone));
    call
}

pub(super) async fn waiting_for(queue: &WorkQueue, id: &str) -> Waiting {
    waiting(queue, &[id], OutcomeOptions::new()).await
}

pub(super) async fn ended(call: Waiting) -> Vec<Outcome> {
    let outcomes = tokio::time::timeout(LATE, call).await.expect("it must end").unwrap().unwrap();
    outcomes.into_iter().map(|outcome| outcome.expect("it waits until all have ended")).collect()
}

async fn what_has_ended_is_returned_at_once(bench: &Bench) {
    let queue = bench.queue().await;
    let names = one_of_each_state(&queue).await;
    queue.add_item(item("cancelled").retain(HOUR)).await.unwrap();
    assert!(queue.cancel("cancelled").await.unwrap());
    let ids: Vec<&str> =
        names.values().copied().chain(["cancelled", "none", "dead", "completed"]).collect();
    let outcomes = many(&queue, &ids, look()).await.unwrap();
    for (id, outcome) in ids.iter().zip(outcomes) {
        let expected = match *id {
            "completed" => Some(completed(Some("done"))),
            "dead" => Some(dead("broken")),
            "cancelled" => Some(Outcome::Cancelled),
            "none" => Some(Outcome::Gone),
            _ => None,
        };
        assert_eq!(outcome, expected, "{id}");
        // The same with a wait, and for one.
        let wait = OutcomeOptions::new().wait(ms(1));
        assert_eq!(queue.outcome(id, wait).await.unwrap(), expected, "{id}");
    }
    assert_eq!(queue.outcome("none", look().expect()).await.unwrap(), None);
    assert_eq!(many(&queue, [""; 0], look()).await.unwrap(), []);
    assert_eq!(many(&queue, [""; 0], OutcomeOptions::new()).await.unwrap(), []);
    bench.advance(HOUR);
    assert_eq!(queue.outcome("completed", look()).await.unwrap(), Some(Outcome::Gone));
    assert_sound(&queue).await;
}

async fn a_completion_is_reported(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    for (retain, result, expected) in [
        (0, None, None),
        (0, Some("lost"), None),
        (60, None, None),
        (60, Some("kept"), Some("kept")),
    ] {
        queue.add_item(item("a").retain(secs(retain))).await.unwrap();
        let call = waiting_for(&queue, "a").await;
        let lease = take(&worker).await;
        let options = match result {
            Some(result) => CompleteOptions::new().result(result),
            None => CompleteOptions::new(),
        };
        assert!(worker.complete_with(&lease, options).await.unwrap());
        let result = expected.map(|result| result.to_owned().into());
        let expected = Outcome::Completed { result, retained: retain > 0 };
        assert_eq!(ended(call).await, [expected]);
        worker.remove("a").await.unwrap();
    }
    // By an earlier holder: of a ready item, of one that is retained, in a batch.
    queue.add_items([item("late"), item("kept").retain(HOUR), item("now")]).await.unwrap();
    let call = waiting(&queue, &["late", "kept", "now"], OutcomeOptions::new()).await;
    let leases = worker.lease_many(3, at_once()).await.unwrap();
    for lease in &leases[..2] {
        worker.release(lease, Duration::ZERO).await.unwrap();
    }
    assert_eq!(worker.complete_many(&leases).await.unwrap(), [true, true, true]);
    assert_eq!(ended(call).await, [completed(None), KEPT, completed(None)]);
    // In the same request as a lease.
    queue.add_items([item("b"), item("c")]).await.unwrap();
    let call = waiting_for(&queue, "b").await;
    let lease = take(&worker).await;
    let both = worker.complete_and_lease([&lease], 1, at_once()).await.unwrap();
    assert_eq!(both.completed, [true]);
    assert_eq!(ended(call).await, [completed(None)]);
    assert_sound(&queue).await;
}

async fn every_death_is_reported(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    queue.add_item(item("fail").max_attempts(1)).await.unwrap();
    let call = waiting_for(&queue, "fail").await;
    worker.fail(&take(&worker).await, "no", Duration::ZERO).await.unwrap();
    assert_eq!(ended(call).await, [dead("no")]);

    queue.add_item(item("bad").unique("k").retain(HOUR)).await.unwrap();
    let call = waiting_for(&queue, "bad").await;
    let lease = take(&worker).await;
    worker.fail_with(&lease, "bad", FailOptions::new().dead()).await.unwrap();
    assert_eq!(ended(call).await, [dead("bad")]);
    // A failure that is not the last is no end.
    assert_eq!(queue.requeue(["bad"]).await.unwrap(), [true]);
    let call = waiting_for(&queue, "bad").await;
    worker.fail(&take(&worker).await, "once", Duration::ZERO).await.unwrap();
    assert_eq!(queue.bury(["bad"], "enough").await.unwrap(), [true]);
    assert_eq!(ended(call).await, [dead("enough")]);

    queue.add_item(item("killed").max_attempts(1)).await.unwrap();
    let call = waiting_for(&queue, "killed").await;
    take(&worker).await;
    bench.advance(secs(20));
    worker.light_clean().await.unwrap();
    assert_eq!(ended(call).await, [dead("")]);

    // Found while others are completed.
    queue.add_items([item("killed again").max_attempts(1), item("done")]).await.unwrap();
    let call = waiting_for(&queue, "killed again").await;
    let leases = worker.lease_many(2, at_once()).await.unwrap();
    bench.advance(secs(20));
    worker.complete_and_lease(&leases[1..], 1, at_once()).await.unwrap();
    assert_eq!(ended(call).await, [dead("")]);
    assert_sound(&queue).await;
}

async fn every_expiry_is_reported(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    let expired = || [dead("not leased before it expired")];
    let short = |id: &str| item(id).expires_in(secs(5));
    // Found by a sweep, popped by a lease, released too late, and found by nobody.
    queue.add_item(short("swept")).await.unwrap();
    let call = waiting_for(&queue, "swept").await;
    bench.advance(secs(6));
    worker.light_clean().await.unwrap();
    assert_eq!(ended(call).await, expired());

    queue.add_item(short("popped")).await.unwrap();
    let call = waiting_for(&queue, "popped").await;
    bench.advance(secs(6));
    assert!(worker.lease(at_once()).await.unwrap().is_none());
    assert_eq!(ended(call).await, expired());

    queue.add_item(short("popped again")).await.unwrap();
    let call = waiting_for(&queue, "popped again").await;
    bench.advance(secs(6));
    queue.add_item(item("done")).await.unwrap();
    let done = [take(&worker).await];
    assert_eq!(done[0].id(), b"done");
    worker.complete_and_lease(&done, 1, at_once()).await.unwrap();
    assert_eq!(ended(call).await, expired());

    queue.add_item(short("released")).await.unwrap();
    let call = waiting_for(&queue, "released").await;
    let lease = take(&worker).await;
    bench.advance(secs(6));
    worker.release(&lease, Duration::ZERO).await.unwrap();
    assert_eq!(ended(call).await, expired());

    queue.add_item(short("left")).await.unwrap();
    let call = waiting_for(&queue, "left").await;
    bench.advance(secs(6));
    assert_eq!(ended(call).await, expired());
    assert_sound(&queue).await;
}

async fn every_other_end_is_reported(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    let ids = ["cancel", "keep", "remove"];
    queue.add_items([item("cancel"), item("keep").retain(HOUR), item("remove")]).await.unwrap();
    let call = waiting(&queue, &ids, OutcomeOptions::new()).await;
    assert_eq!(worker.cancel_many(["cancel", "keep"]).await.unwrap(), [true, true]);
    assert!(worker.remove("remove").await.unwrap());
    assert_eq!(ended(call).await, [Outcome::Cancelled, Outcome::Cancelled, Outcome::Removed]);

    // Marked while they are leased: they end with their leases.
    let ids = ["release", "fail", "expire"];
    queue.remove("keep").await.unwrap();
    queue.add_items([item("release"), item("fail").retain(HOUR), item("expire")]).await.unwrap();
    let call = waiting(&queue, &ids, OutcomeOptions::new()).await;
    let leases = worker.lease_many(3, at_once()).await.unwrap();
    worker.cancel_many(ids).await.unwrap();
    worker.release(&leases[0], Duration::ZERO).await.unwrap();
    worker.fail(&leases[1], "", Duration::ZERO).await.unwrap();
    bench.advance(secs(11));
    worker.light_clean().await.unwrap();
    assert_eq!(ended(call).await, [Outcome::Cancelled, Outcome::Cancelled, Outcome::Cancelled]);

    queue.add_items([item("a").delay(HOUR), item("b")]).await.unwrap();
    let call = waiting(&queue, &["a", "b"], OutcomeOptions::new()).await;
    assert_eq!(worker.purge(State::Delayed).await.unwrap(), 1);
    assert_eq!(worker.purge(State::Ready).await.unwrap(), 1);
    assert_eq!(ended(call).await, [Outcome::Removed, Outcome::Removed]);

    // An item that is replaced by one with another id is gone; one with the same id takes its place.
    queue.add_items([item("old").unique("k"), item("same")]).await.unwrap();
    let call = waiting_for(&queue, "old").await;
    let same = waiting_for(&queue, "same").await;
    assert!(worker.add_item(item("new").unique("k").replace()).await.unwrap());
    assert!(worker.add_item(item("same").replace()).await.unwrap());
    assert_eq!(ended(call).await, [Outcome::Removed]);
    let leases = worker.lease_many(2, at_once()).await.unwrap();
    worker.complete_many(&leases).await.unwrap();
    assert_eq!(ended(same).await, [completed(None)]);
    assert_sound(&queue).await;
}

async fn an_item_can_be_expected(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    let expect = || OutcomeOptions::new().expect();
    // The queue does not exist yet; the item ends before the client can ask again.
    let call = waiting(&queue, &["a", "b"], expect()).await;
    worker.add_items([item("a"), item("b").retain(HOUR)]).await.unwrap();
    let leases = worker.lease_many(2, at_once()).await.unwrap();
    worker.complete(&leases[0]).await.unwrap();
    worker.complete_with(&leases[1], CompleteOptions::new().result("done")).await.unwrap();
    assert_eq!(ended(call).await, [completed(None), completed(Some("done"))]);
    // The queue was dropped meanwhile.
    let call = waiting(&queue, &["a"], expect()).await;
    assert!(worker.drop_queue().await.unwrap());
    worker.add_item(item("a")).await.unwrap();
    worker.complete(&take(&worker).await).await.unwrap();
    assert_eq!(ended(call).await, [completed(None)]);
    // One that was there is expected no more.
    worker.add_item(item("c")).await.unwrap();
    let call = waiting(&queue, &["c"], expect()).await;
    assert!(worker.drop_queue().await.unwrap());
    assert_eq!(ended(call).await, [Outcome::Gone]);
    assert_sound(&queue).await;
}

async fn items_of_a_dropped_queue_are_gone(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    queue.add_items([item("a"), item("b")]).await.unwrap();
    let call = waiting(&queue, &["a", "b"], OutcomeOptions::new()).await;
    assert!(other.drop_queue().await.unwrap());
    assert_eq!(ended(call).await, [Outcome::Gone, Outcome::Gone]);
}

async fn all_who_wait_learn_it(bench: &Bench) {
    let (one, two, worker) = (bench.queue().await, bench.queue().await, bench.queue().await);
    worker.add_items([item("a"), item("b")]).await.unwrap();
    let calls = [
        waiting(&one, &["a", "a"], OutcomeOptions::new()).await,
        waiting(&two, &["a"], OutcomeOptions::new()).await,
        waiting(&one, &["a"], OutcomeOptions::new().expect()).await,
    ];
    let gives_up = waiting(&one, &["a", "b"], OutcomeOptions::new()).await;
    gives_up.abort();
    let short = one.outcome("a", OutcomeOptions::new().wait(ms(20))).await.unwrap();
    assert_eq!(short, None);
    worker.complete(&take(&worker).await).await.unwrap();
    for call in calls {
        assert!(ended(call).await.iter().all(|outcome| *outcome == completed(None)));
    }
}

async fn a_later_wait_is_about_the_later_item(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    for round in 0..20 {
        queue.add_item(item("a")).await.unwrap();
        let call = waiting_for(&queue, "a").await;
        if round % 2 == 0 {
            worker.complete(&take(&worker).await).await.unwrap();
            assert_eq!(ended(call).await, [completed(None)]);
        } else {
            worker.remove("a").await.unwrap();
            assert_eq!(ended(call).await, [Outcome::Removed]);
        }
    }
}

async fn a_wait_ends_when_its_time_is_over(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([item("a"), item("b")]).await.unwrap();
    let lease = take(&queue).await;
    let begun = Instant::now();
    let call = waiting(&queue, &["b", "a"], OutcomeOptions::new().wait(secs(3))).await;
    queue.complete(&lease).await.unwrap();
    let outcomes = tokio::time::timeout(LATE, call).await.unwrap().unwrap().unwrap();
    assert_eq!(outcomes, [None, Some(completed(None))]);
    assert!(begun.elapsed() >= secs(3));
    let endless = OutcomeOptions::new().wait(Duration::MAX);
    let call = waiting(&queue, &["b"], endless).await;
    assert!(!call.is_finished());
    queue.remove("b").await.unwrap();
    assert_eq!(ended(call).await, [Outcome::Removed]);
    let id = vec![0; 513];
    assert_eq!(kind(queue.outcome(id, look()).await), ErrorKind::Invalid);
    assert_eq!(kind(queue.outcome("", OutcomeOptions::new()).await), ErrorKind::Invalid);
}

async fn closing_ends_all_waits(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let call = waiting(&queue, &["a"], OutcomeOptions::new()).await;
    client.close().await;
    assert_eq!(kind(call.await.unwrap()), ErrorKind::Closed);
    assert_eq!(kind(queue.outcome("a", OutcomeOptions::new()).await), ErrorKind::Closed);
}

async fn many_are_awaited(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    let names: Vec<String> = (0..2_500).map(|i| format!("item {i}")).collect();
    let items = names.iter().enumerate();
    let items = items.map(|(i, id)| item(id).retain(if i % 3 == 0 { HOUR } else { ms(0) }));
    queue.add_items(items).await.unwrap();
    let ids: Vec<&str> = names.iter().map(String::as_str).collect();
    let together = waiting(&queue, &ids, OutcomeOptions::new()).await;
    let mut calls = Vec::new();
    for id in &names {
        let (queue, id) = (queue.clone(), id.clone());
        calls.push(tokio::spawn(async move { queue.outcome(id, OutcomeOptions::new()).await }));
    }
    loop {
        let leases = worker.lease_many(1_000, at_once()).await.unwrap();
        if leases.is_empty() {
            break;
        }
        let results = leases.iter().map(|lease| Some(lease.id().to_vec().into()));
        let options = CompleteOptions::new().results(results);
        worker.complete_many_with(&leases, options).await.unwrap();
    }
    for (i, (id, outcome)) in names.iter().zip(ended(together).await).enumerate() {
        assert_eq!(outcome, completed((i % 3 == 0).then_some(id)));
    }
    for call in calls {
        // Some may have begun after the end.
        let outcome = call.await.unwrap().unwrap().unwrap();
        assert!(outcome.is_completed() || outcome == Outcome::Gone, "{outcome:?}");
    }
    assert_sound(&queue).await;
}

async fn large_results_come_one_after_the_other(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    let ids = ["a", "b", "c", "d", "e"];
    queue.add_items(ids.map(|id| item(id).retain(HOUR))).await.unwrap();
    let call = waiting(&queue, &ids, OutcomeOptions::new()).await;
    for fill in 0..ids.len() {
        let options = CompleteOptions::new().result(vec![fill as u8; 8 << 20]);
        assert!(worker.complete_with(&take(&worker).await, options).await.unwrap());
    }
    let check = |outcomes: Vec<Outcome>| {
        for (fill, outcome) in outcomes.iter().enumerate() {
            let result = outcome.result().unwrap();
            assert!(result.len() == 8 << 20 && result.iter().all(|byte| *byte == fill as u8));
        }
    };
    check(ended(call).await);
    let again = many(&queue, ids, look()).await.unwrap();
    check(again.into_iter().map(Option::unwrap).collect());
    check(ended(waiting(&queue, &ids, OutcomeOptions::new()).await).await);
}

/// Ids as they are stored, and records that the step that ends them does not read.
async fn any_id_and_any_size(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let large = |id: &str| Item::new(vec![0; 20_000]).with_id(id).max_attempts(1);
    queue.add_items([large(uuid), large("\u{1}a")]).await.unwrap();
    let call = waiting(&queue, &[uuid, "\u{1}a"], OutcomeOptions::new()).await;
    let leases = worker.lease_many(2, at_once()).await.unwrap();
    worker.fail_many(leases.iter().map(|lease| (lease, "no")), Duration::ZERO).await.unwrap();
    assert_eq!(ended(call).await, [dead("no"), dead("no")]);
}

on_every_engine!(
    what_has_ended_is_returned_at_once,
    a_completion_is_reported,
    every_death_is_reported,
    every_expiry_is_reported,
    every_other_end_is_reported,
    an_item_can_be_expected,
    items_of_a_dropped_queue_are_gone,
    all_who_wait_learn_it,
    a_later_wait_is_about_the_later_item,
    a_wait_ends_when_its_time_is_over,
    closing_ends_all_waits,
    many_are_awaited,
    large_results_come_one_after_the_other,
    any_id_and_any_size,
);
