//! What nobody would do on purpose.

use std::time::Duration;

use leaseq::{
    CompleteOptions, Item, LeaseOptions, Outcome, OutcomeOptions, Revision, State, WorkQueue,
};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn done(result: &'static str) -> CompleteOptions {
    CompleteOptions::new().result(result).retain(HOUR)
}

/// An entry of a ready list may still name the number that the item had. Nothing is leased by way of it.
async fn no_old_entry_leads_to_an_ended_item(bench: &Bench) {
    let ways = ["complete", "cancel", "bury", "revise", "replace", "remove", "purge", "requeue"];
    for way in ways {
        let queue = bench.client().await.queue(way).unwrap();
        // The holder's lease expires, and the item is ready again.
        queue.add_item(item("a").retain(HOUR).priority(2)).await.unwrap();
        let lease = take(&queue).await;
        bench.advance(secs(11));
        queue.light_clean().await.unwrap();
        queue.add_item(item("behind")).await.unwrap();
        match way {
            "complete" => assert!(queue.complete_with(&lease, done("late")).await.unwrap()),
            "cancel" => assert!(queue.cancel("a").await.unwrap()),
            "bury" => assert_eq!(queue.bury(["a"], "no").await.unwrap(), [true]),
            "revise" => assert!(queue.revise("a", Revision::new().delay(HOUR)).await.unwrap()),
            "replace" => assert!(queue.add_item(item("a").replace().delay(HOUR)).await.unwrap()),
            "remove" => assert!(queue.remove("a").await.unwrap()),
            "purge" => {
                assert_eq!(queue.purge(State::Ready).await.unwrap(), 2);
                queue.add_item(item("behind")).await.unwrap();
            }
            "requeue" => {
                queue.bury(["a"], "no").await.unwrap();
                assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
                assert!(queue.cancel("a").await.unwrap());
            }
            other => panic!("{other}?"),
        }
        assert_eq!(drain(&queue).await, ["behind"], "{way}");
        assert_sound(&queue).await;
        // The id comes back, and the old holder has nothing to do with it.
        if state(&queue, "a").await.is_some() {
            assert!(queue.remove("a").await.unwrap());
        }
        assert!(queue.add_item(item("a").retain(HOUR)).await.unwrap());
        assert!(!queue.complete_with(&lease, done("too late")).await.unwrap(), "{way}");
        assert_eq!(drain(&queue).await, ["a"], "{way}");
        assert_sound(&queue).await;
    }
}

/// Of one batch: current leases, earlier ones, one twice, kept and not kept, of items in all states.
async fn a_batch_of_everything_is_completed_once(bench: &Bench) {
    let queue = bench.queue().await;
    let states = ["ready", "delayed", "dead", "other", "gone", "removed", "own"];
    for retain in [Duration::ZERO, HOUR] {
        queue.drop_queue().await.unwrap();
        let all = states.iter().map(|id| item(id).unique(id).retain(retain).max_attempts(2));
        queue.add_items(all).await.unwrap();
        let short = LeaseOptions::new(secs(1)).wait(Duration::ZERO);
        let early = queue.lease_many(7, short).await.unwrap();
        bench.advance(secs(2));
        let later = queue.lease_many(7, at_once()).await.unwrap();
        let of = |id: &str| later.iter().find(|lease| lease.id() == id.as_bytes()).unwrap();
        queue.release(of("ready"), Duration::ZERO).await.unwrap();
        queue.release(of("delayed"), HOUR).await.unwrap();
        assert_eq!(queue.fail(of("dead"), "no", Duration::ZERO).await.unwrap(), State::Dead);
        assert!(queue.complete(of("gone")).await.unwrap());
        assert!(queue.remove("removed").await.unwrap());
        let batch: Vec<_> = early.iter().chain([of("own"), of("own"), of("other")]).collect();
        let results = (0..batch.len()).map(|i| (i % 2 == 0).then(|| vec![b'r'; i].into()));
        let options = CompleteOptions::new().results(results);
        let answers = queue.complete_many_with(batch, options).await.unwrap();
        let expected = [true, true, true, true, false, false, true, false, false, false];
        assert_eq!(answers, expected);
        let counts = queue.counts().await.unwrap();
        let kept = if retain.is_zero() { 0 } else { 6 };
        assert_eq!((counts.completed, counts.totals.completed), (kept, 6));
        assert_eq!((counts.ready, counts.delayed, counts.leased, counts.dead), (0, 0, 0, 0));
        assert_sound(&queue).await;
        bench.advance(HOUR);
        for id in states {
            assert!(queue.add_item(item(id).unique(id)).await.unwrap(), "{id}");
        }
        assert_eq!(drain(&queue).await, states);
    }
}

/// A retained item is replaced while an old holder completes it, in either order.
async fn a_replaced_item_keeps_no_result_of_the_old_one(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").retain(HOUR)).await.unwrap();
    let short = LeaseOptions::new(secs(1)).wait(Duration::ZERO);
    let early = queue.lease(short).await.unwrap().unwrap();
    bench.advance(secs(2));
    assert!(queue.complete_with(&take(&queue).await, done("first")).await.unwrap());
    assert!(queue.add_item(Item::new("new").with_id("a").replace().retain(HOUR)).await.unwrap());
    assert!(!queue.complete_with(&early, done("old")).await.unwrap());
    let found = queue.get("a").await.unwrap().unwrap();
    assert_eq!((found.state, found.result, &found.data[..]), (State::Ready, None, &b"new"[..]));
    assert!(queue.complete_with(&take(&queue).await, done("")).await.unwrap());
    let found = queue.get("a").await.unwrap().unwrap();
    assert_eq!(found.result.as_deref(), Some(&b""[..]));
    assert_sound(&queue).await;
}

/// Sets the clock back by this much.
fn set_back(bench: &Bench, by: Duration) {
    bench.backend().set_clock(bench.now() - by.as_millis() as u64);
}

async fn live_with_key(queue: &WorkQueue) -> Vec<String> {
    let mut live = Vec::new();
    for state in [State::Ready, State::Delayed, State::Leased] {
        let found = list_all(queue, state, 100).await;
        let owners = found.into_iter().filter(|info| info.unique.is_some());
        live.extend(owners.map(|info| String::from_utf8(info.id.to_vec()).unwrap()));
    }
    live
}

/// An item has expired, another one has taken its key, and the clock is set back before anybody has swept.
async fn a_clock_that_is_set_back_gives_no_key_to_two(bench: &Bench) {
    let queue = bench.queue().await;
    for delay in [Duration::ZERO, secs(20)] {
        queue.drop_queue().await.unwrap();
        let owner = item("old").unique("k").expires_in(secs(30)).delay(delay);
        assert!(queue.add_item(owner).await.unwrap());
        bench.advance(secs(30));
        assert!(queue.add_item(item("new").unique("k")).await.unwrap());
        set_back(bench, secs(5));
        let old = queue.get("old").await.unwrap().unwrap();
        assert_eq!((old.state, old.expires_at), (State::Dead, None));
        let look = OutcomeOptions::new().wait(Duration::ZERO);
        let outcome = queue.outcome("old", look).await.unwrap();
        assert_eq!(outcome.as_ref().map(Outcome::as_str), Some("dead"));
        assert_eq!(drain(&queue).await, ["new"]);
        assert_eq!(live_with_key(&queue).await, ["new"]);
        assert!(!queue.add_item(item("third").unique("k")).await.unwrap());
        bench.advance(secs(1));
        queue.light_clean().await.unwrap();
        assert_eq!(state(&queue, "old").await, Some(State::Dead));
        assert_sound(&queue).await;
    }
}

on_every_engine!(
    no_old_entry_leads_to_an_ended_item,
    a_batch_of_everything_is_completed_once,
    a_replaced_item_keeps_no_result_of_the_old_one,
    a_clock_that_is_set_back_gives_no_key_to_two,
);
