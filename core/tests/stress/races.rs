//! A cancellation, and at the same time each other thing that can become of the item.

use std::sync::Arc;
use std::time::Duration;

use leaseq::{CompleteOptions, FailOptions, Item, ItemRef, Lease, Revision, State, WorkQueue};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::*;
use crate::{on_threads, queues, seed, times};

const ROUNDS: usize = 20;

/// What happens to the item meanwhile. Those from `EXTEND` on happen to a leased one.
const DEEDS: [&str; 23] = [
    "lease",
    "remove",
    "purge",
    "bury",
    "revise",
    "replace",
    "cancel",
    "requeue",
    "extend",
    "complete",
    "complete and lease",
    "complete late",
    "complete strictly",
    "fail",
    "fail later",
    "fail for good",
    "fail the last time",
    "release",
    "release later",
    "reclaim",
    "reclaim the last time",
    "remove the lease",
    "cancel the lease",
];
const EXTEND: usize = 8;

/// The item, and its holder's lease if it is leased.
struct Round {
    deed: &'static str,
    queue: WorkQueue,
    lease: Option<Lease>,
}

impl Round {
    fn held(&self) -> &Lease {
        self.lease.as_ref().unwrap()
    }

    /// Does it. True: it was done.
    async fn act(&self) -> bool {
        let queue = &self.queue;
        let fail = |options: FailOptions| async move {
            let state = queue.fail_with(self.held(), "no", options).await.unwrap();
            state != State::Cancelled
        };
        match self.deed {
            "lease" => queue.lease(at_once()).await.unwrap().is_some(),
            "remove" | "remove the lease" => queue.remove("a").await.unwrap(),
            "purge" => queue.purge(State::Ready).await.unwrap() == 1,
            "bury" => queue.bury(["a"], "no").await.unwrap()[0],
            "revise" => queue.revise("a", Revision::new().data("new")).await.unwrap(),
            "replace" => queue.add_item(item("a").replace()).await.unwrap(),
            "cancel" | "cancel the lease" => queue.cancel("a").await.unwrap(),
            "requeue" => queue.requeue(["a"]).await.unwrap()[0],
            "extend" => queue.extend(self.held(), secs(1)).await.is_ok(),
            "complete" | "complete late" => queue.complete(self.held()).await.unwrap(),
            "complete strictly" => {
                let strict = CompleteOptions::new().strict().result("done");
                queue.complete_with(self.held(), strict).await.unwrap()
            }
            "complete and lease" => {
                let both = queue.complete_and_lease([self.held()], 1, at_once()).await.unwrap();
                assert!(both.leases.is_empty());
                both.completed[0]
            }
            "fail" => fail(FailOptions::new()).await,
            "fail later" => fail(FailOptions::new().delay(secs(1))).await,
            "fail for good" => fail(FailOptions::new().dead()).await,
            "fail the last time" => fail(FailOptions::new()).await,
            "release" => queue.release(self.held(), Duration::ZERO).await.is_ok(),
            "release later" => queue.release(self.held(), secs(1)).await.is_ok(),
            "reclaim" | "reclaim the last time" => queue.light_clean().await.unwrap().expired == 1,
            other => panic!("{other}?"),
        }
    }

    async fn begin(bench: &Bench, deed: &'static str, queue: WorkQueue, retain: Duration) -> Round {
        let limit = if deed.ends_with("the last time") { 1 } else { 3 };
        assert!(queue.add_item(item("a").max_attempts(limit).retain(retain)).await.unwrap());
        let mut lease = None;
        if DEEDS.iter().position(|one| *one == deed) >= Some(EXTEND) {
            lease = Some(take(&queue).await);
        }
        if deed == "requeue" {
            queue.bury(["a"], "no").await.unwrap();
        } else if deed.starts_with("reclaim") {
            bench.advance(secs(11));
        } else if deed == "complete late" {
            bench.advance(secs(11));
            // Somebody else has it by now.
            take(&queue).await;
        }
        Round { deed, queue, lease }
    }
}

/// Whether these two answers can go together.
fn fits(deed: &str, done: bool, cancelled: bool, retained: bool) -> bool {
    match deed {
        "lease" | "purge" => cancelled || done,
        // One of them ends the item, and the other finds none; a retained one can be removed.
        "remove" => done != cancelled || (retained && done),
        "bury" | "cancel" => done != cancelled,
        "revise" | "replace" | "extend" | "release" | "release later" => cancelled,
        "requeue" | "remove the lease" => done,
        "cancel the lease" => done && cancelled,
        deed if deed.starts_with("complete") => done,
        "fail" | "fail later" | "reclaim" => cancelled,
        "fail for good" | "fail the last time" => done != cancelled,
        "reclaim the last time" => done,
        other => panic!("{other}?"),
    }
}

async fn each_pair(bench: Arc<Bench>) {
    let seed = seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let queues = queues(&bench, 3).await;
    let (mut first, mut rounds) = (0, 0);
    for deed in DEEDS {
        for _ in 0..ROUNDS * times() {
            queues[0].drop_queue().await.unwrap();
            let retain = if rng.random_bool(0.5) { secs(60) } else { Duration::ZERO };
            let round = Round::begin(&bench, deed, queues[0].clone(), retain).await;
            let generation = queues[1].get("a").await.unwrap().unwrap().generation;
            // These make another generation.
            let by_generation = rng.random_bool(0.5) && !["revise", "replace"].contains(&deed);
            let target = ItemRef::new("a");
            let target = if by_generation { target.if_generation(generation) } else { target };
            let operator = queues[1].clone();
            let cancel = tokio::spawn(async move { operator.cancel(target).await.unwrap() });
            if rng.random_bool(0.5) {
                tokio::task::yield_now().await;
            }
            let act = tokio::spawn(async move {
                let done = round.act().await;
                (done, round)
            });
            let (cancelled, acted) = tokio::join!(cancel, act);
            let (cancelled, (done, round)) = (cancelled.unwrap(), acted.unwrap());
            let case = format!("{deed}: {done}, cancelled: {cancelled}, retained: {retain:?}");
            assert!(fits(deed, done, cancelled, !retain.is_zero()), "{case}");
            settled(&bench, &queues[2], &round, (done, cancelled), &case).await;
            first += usize::from(cancelled);
            rounds += 1;
        }
    }
    println!("cancelled in {first} of {rounds} rounds");
}

/// Time passes. What was cancelled does not come back.
async fn settled(bench: &Bench, queue: &WorkQueue, round: &Round, told: (bool, bool), case: &str) {
    let (done, cancelled) = told;
    bench.advance(secs(12));
    queue.light_clean().await.unwrap();
    let totals = queue.counts().await.unwrap().totals;
    let found = queue.get("a").await.unwrap().map(|info| info.state);
    let completed = round.deed.starts_with("complete");
    let removed = ["remove the lease", "purge"].contains(&round.deed) && done;
    match round.deed {
        _ if completed => {
            assert_eq!((totals.completed, totals.cancelled), (1, 0), "{case}");
            assert!([None, Some(State::Completed)].contains(&found), "{case}: {found:?}");
        }
        "replace" => assert_eq!(totals.cancelled, 1, "{case}"),
        _ if removed => assert_eq!(found, None, "{case}"),
        "reclaim the last time" => {
            let expected = if cancelled { 1 } else { 0 };
            assert_eq!((totals.cancelled, totals.died), (expected, 1 - expected), "{case}");
        }
        _ => {
            let cancelled = cancelled || (done && round.deed == "cancel");
            assert_eq!(totals.cancelled, u64::from(cancelled), "{case}");
            if cancelled {
                let over = [None, Some(State::Cancelled)];
                assert!(over.contains(&found), "{case}: {found:?}");
            }
        }
    }
    if cancelled && round.deed != "replace" {
        assert!(queue.lease(at_once()).await.unwrap().is_none(), "{case}");
        bench.advance(secs(60));
        assert!(queue.lease(at_once()).await.unwrap().is_none(), "{case}");
        assert!(queue.add_item(Item::new("").with_id("a")).await.unwrap(), "{case}");
    }
    assert_sound(queue).await;
}

on_threads!(each_pair);
