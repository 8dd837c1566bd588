//! Follow-ups that wait as successors. Wherever a script on their way stops, each comes once, whether the leases for which they wait end
//! before that is repeated or afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use ::redis::Commands;
use leaseq::{
    ErrorKind, FailOptions, FollowUp, Item, Lease, LeaseOptions, On, Result, State, WorkQueue,
};

use crate::support::redis::{expect_waiters, fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

const LONG: Duration = Duration::from_secs(1800);
const SOURCES: [&str; 5] = ["by id", "by key", "large", "itself", "plain"];

/// What adds the follow-up to the queue: `itself` names an item that has ended by then.
fn source(id: &str, queue: &WorkQueue) -> Item {
    let data = format!("new {id}");
    let data = if id == "large" { format!("{data:20000}") } else { data };
    let over = FollowUp::new(On::Ended, Item::new(format!("over {id}")));
    let next = Item::new(data).queue(queue.name()).follow_up(over);
    let next = match id {
        "by id" => next.with_id("first").replace().successor(),
        "by key" => next.with_id("another").unique("key").replace().successor(),
        "large" => next.with_id("third").unique("its own").replace().successor(),
        "itself" => next.with_id("itself").replace().successor(),
        _ => next,
    };
    item(id).follow_up(FollowUp::new(On::Ended, next))
}

async fn leased(queue: &WorkQueue, items: Vec<Item>) -> Vec<Lease> {
    let count = items.len();
    queue.add_items(items).await.unwrap();
    let leases = queue.lease_many(count, LeaseOptions::new(LONG).wait(Duration::ZERO)).await;
    leases.unwrap()
}

/// Completes whatever comes, and counts its data.
async fn work(bench: &Bench, queue: &WorkQueue, came: &mut BTreeMap<String, usize>) {
    for _ in 0..3 {
        loop {
            let options = LeaseOptions::new(LONG).wait(Duration::ZERO);
            let leases = queue.lease_many(1000, options).await.unwrap();
            if leases.is_empty() {
                break;
            }
            for lease in &leases {
                let data = std::str::from_utf8(lease.data()).unwrap().trim().to_owned();
                *came.entry(data).or_default() += 1;
            }
            queue.complete_many(&leases).await.unwrap();
        }
        queue.light_clean().await.unwrap();
        bench.advance(secs(60));
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    /// The leases end before anybody repeats what has stopped.
    LeasesEnd,
    /// It is repeated first.
    Repeated,
    Cleaned,
}

/// `sends`: the leased items are in another queue.
async fn stops(script: &str, sends: bool, act: impl AsyncFn(&WorkQueue, &[Lease]) -> Result<()>) {
    let mut stage = Stage::new().await;
    for then in [Then::LeasesEnd, Then::Repeated, Then::Cleaned] {
        for calls in stopping_points() {
            let queue = stage.new_queue();
            let target = if sends { stage.new_queue() } else { queue.clone() };
            let waited = [item("first"), item("second").unique("key"), item("third")];
            let waited = leased(&target, waited.to_vec()).await;
            let sources = SOURCES.iter().map(|id| source(id, &target)).collect();
            let sources = leased(&queue, sources).await;
            expect_waiters(&mut stage.raw, queue.name());
            fail_after(&mut stage.raw, script, calls);
            let answer = act(&queue, &sources).await;
            let failed = has_failed(&mut stage.raw, script);
            eprintln!("{script} stopped after call {calls}, then {then:?}: {answer:?}");
            if let Err(error) = &answer {
                assert!(failed && error.kind() == ErrorKind::Internal, "{error}");
            }
            // Another client, which does not wait with the target.
            let client = stage.bench.client().await;
            let [queue, target] = [&queue, &target].map(|one| client.queue(one.name()).unwrap());
            let mut came = BTreeMap::new();
            match then {
                Then::LeasesEnd => {}
                Then::Repeated => work(&stage.bench, &queue, &mut came).await,
                Then::Cleaned => {
                    for queue in [&queue, &target] {
                        queue.deep_clean().await.unwrap();
                        queue.deep_clean().await.unwrap();
                        assert_sound(queue).await;
                    }
                }
            }
            assert_eq!(target.complete_many(&waited).await.unwrap(), [true; 3]);
            for _ in 0..2 {
                work(&stage.bench, &queue, &mut came).await;
                work(&stage.bench, &target, &mut came).await;
                // The leases of sources whose completions have stopped end.
                stage.bench.advance(LONG);
            }
            for queue in [&queue, &target] {
                queue.deep_clean().await.unwrap();
                work(&stage.bench, queue, &mut came).await;
                // They keep their follow-ups.
                queue.purge(State::Dead).await.unwrap();
                queue.deep_clean().await.unwrap();
                assert_sound(queue).await;
                for key in ["deferred", "outbox", "outgoing", "successors", "follow_ups"] {
                    let key = format!("leaseq:{{{}}}:{key}", queue.name());
                    assert_eq!(stage.raw.exists::<_, bool>(&key), Ok(false), "{key}");
                }
            }
            // A record that no id leads to comes with a clean that is so late that its item has ended.
            let most = if script == "forward" && then != Then::Cleaned { 2 } else { 1 };
            for id in SOURCES {
                for what in ["new", "over"] {
                    let times = came.get(&format!("{what} {id}")).copied().unwrap_or(0);
                    assert!((1..=most).contains(&times), "{what} {id}: {came:?}");
                }
            }
            if !failed {
                assert!(calls > 2, "{script} makes no call");
                break;
            }
        }
    }
}

async fn completes(queue: &WorkQueue, leases: &[Lease]) -> Result<()> {
    queue.complete_many(leases).await.map(drop)
}

#[tokio::test]
async fn added_by_completions() {
    stops("complete extended", false, completes).await;
    stops("complete_and_lease extended", false, async |queue, leases| {
        // What it leases comes once more, so that it leases nothing that counts.
        queue.pause().await.unwrap();
        let done = queue.complete_and_lease(leases, 10, at_once()).await.map(drop);
        queue.resume().await.unwrap();
        done
    })
    .await;
}

#[tokio::test]
async fn distributed() {
    stops("distribute", false, async |queue, leases| {
        let failures = leases.iter().map(|lease| (lease, "no"));
        queue.fail_many_with(failures, FailOptions::new().dead()).await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn forwarded() {
    stops("forward", true, completes).await;
    stops("outbox", true, completes).await;
}
