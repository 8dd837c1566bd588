//! Scripts that store successors, and those that end the leases for which they wait. Wherever a script stops, each change that
//! was acknowledged comes, and once, whether a deep clean comes before the workers go on or not.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{
    CompleteOptions, ErrorKind, FailOptions, FollowUp, Item, Lease, LeaseOptions, On, Result,
    State, WorkQueue,
};

use crate::fixtures::Leases;
use crate::support::redis::{expect_waiters, fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

const LONG: Duration = Duration::from_secs(1800);
/// `own`: its successor has another unique key; `named`: and is named by its key only.
const IDS: [&str; 6] = ["plain", "retained", "own", "named", "large", "last"];

fn first(id: &str) -> Item {
    let item = Item::new("old").with_id(id);
    match id {
        "retained" => item.retain(LONG),
        "own" | "named" => item.unique(id),
        "last" => item.max_attempts(1),
        _ => item,
    }
}

fn next(id: &str) -> Item {
    let data = format!("new {id}");
    let data = if id == "large" { format!("{data:20000}") } else { data };
    let over = FollowUp::new(On::Ended, Item::new(format!("over {id}")));
    let item = Item::new(data).with_id(id).replace().successor().follow_up(over);
    match id {
        "own" => item.unique("another"),
        "named" => item.with_id("another").unique("named").delay(secs(1)),
        "retained" => item.unique("its own").unique_for(secs(1)).priority(3).expires_in(LONG * 100),
        _ => item,
    }
}

/// All are leased by the caller until long; `stores`: their successors wait.
async fn fixtures(queue: &WorkQueue, stores: bool) -> Leases {
    queue.add_items(IDS.map(first)).await.unwrap();
    let options = LeaseOptions::new(LONG).wait(Duration::ZERO);
    let leases = queue.lease_many(6, options).await.unwrap();
    let leases = leases.into_iter().map(|lease| (lease.id_str().unwrap().to_owned(), lease));
    if stores {
        assert_eq!(queue.add_items(IDS.map(next)).await.unwrap(), [true; 6]);
    }
    leases.collect()
}

fn all(leases: &Leases) -> Vec<&Lease> {
    IDS.iter().map(|id| &leases[*id]).collect()
}

/// Completes whatever comes, and counts its data.
async fn work(bench: &Bench, queue: &WorkQueue, came: &mut BTreeMap<String, usize>) {
    for _ in 0..4 {
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
        bench.advance(LONG);
    }
}

/// `ends`: what the act does may drop the successors.
async fn stops(
    script: &str,
    (stores, drops): (bool, bool),
    act: impl AsyncFn(&Bench, &WorkQueue, &Leases) -> Result<()>,
) {
    let mut stage = Stage::new().await;
    for cleans in [true, false] {
        for calls in stopping_points() {
            let queue = stage.new_queue();
            let leases = fixtures(&queue, stores).await;
            expect_waiters(&mut stage.raw, queue.name());
            fail_after(&mut stage.raw, script, calls);
            let answer = act(&stage.bench, &queue, &leases).await;
            let failed = has_failed(&mut stage.raw, script);
            eprintln!("{script} stopped after call {calls}, cleaned {cleans}: {answer:?}");
            if let Err(error) = &answer {
                assert!(failed && error.kind() == ErrorKind::Internal, "{error}");
            }
            if cleans {
                queue.deep_clean().await.unwrap();
                queue.deep_clean().await.unwrap();
                assert_sound(&queue).await;
            }
            let mut came = BTreeMap::new();
            work(&stage.bench, &queue, &mut came).await;
            queue.deep_clean().await.unwrap();
            work(&stage.bench, &queue, &mut came).await;
            queue.deep_clean().await.unwrap();
            assert_sound(&queue).await;
            // A record to which no id leads comes with a clean that is so late that its item has ended.
            let most = if script == "add extended" && !cleans { 2 } else { 1 };
            for id in IDS {
                let times = |what: String| came.get(&what).copied().unwrap_or(0);
                let (new, over) = (times(format!("new {id}")), times(format!("over {id}")));
                assert!((1..=most).contains(&new) || (drops && new == 0), "{id}: {came:?}");
                // What is dropped ends without being leased.
                assert!((1..=most).contains(&over), "{id}: {came:?}");
            }
            let successors = format!("leaseq:{{{}}}:successors", queue.name());
            let left: usize = ::redis::Commands::hlen(&mut stage.raw, successors).unwrap();
            assert_eq!(left, 0);
            if !failed {
                assert!(calls > 2, "{script} makes no call");
                break;
            }
        }
    }
}

/// Whoever was told of the error tries again. The second one takes the place of the first one.
#[tokio::test]
async fn adds() {
    for stores in [false, true] {
        stops("add extended", (stores, false), async |_, queue, _| {
            let added = async || queue.add_items(IDS.map(next)).await;
            let answers = match added().await {
                Ok(answers) => answers,
                Err(_) => added().await.unwrap(),
            };
            assert_eq!(answers, [true; 6]);
            Ok(())
        })
        .await;
    }
}

#[tokio::test]
async fn completions() {
    for retain in [Duration::ZERO, secs(60)] {
        stops("complete extended", (true, false), async |_, queue, leases| {
            let options = CompleteOptions::new().retain(retain);
            queue.complete_many_with(all(leases), options).await.map(drop)
        })
        .await;
    }
    stops("complete_and_lease extended", (true, false), async |_, queue, leases| {
        let short = LeaseOptions::new(ms(1)).wait(Duration::ZERO);
        // What it leases comes once more, so that it leases nothing that counts.
        queue.pause().await.unwrap();
        let done = queue.complete_and_lease(all(leases), 10, short).await.map(drop);
        queue.resume().await.unwrap();
        done
    })
    .await;
}

#[tokio::test]
async fn failures_and_releases() {
    for dead in [false, true] {
        stops("fail extended", (true, false), async |_, queue, leases| {
            let options = if dead { FailOptions::new().dead() } else { FailOptions::new() };
            let failures = all(leases).into_iter().map(|lease| (lease, "no"));
            queue.fail_many_with(failures, options).await.map(drop)
        })
        .await;
    }
    for delay in [0, 1] {
        stops("release extended", (true, false), async |_, queue, leases| {
            queue.release_many(all(leases), secs(delay)).await.map(drop)
        })
        .await;
    }
}

#[tokio::test]
async fn expiries() {
    stops("light_clean", (true, false), async |bench, queue, _| {
        bench.advance(LONG);
        queue.light_clean().await.map(drop)
    })
    .await;
    stops("lease extended", (true, false), async |bench, queue, _| {
        bench.advance(LONG);
        queue.pause().await.unwrap();
        let reclaimed = queue.lease(at_once()).await.map(drop);
        queue.resume().await.unwrap();
        reclaimed
    })
    .await;
}

/// Marked items, whose successors have come later.
#[tokio::test]
async fn cancelled_items() {
    stops("release extended", (true, false), async |_, queue, leases| {
        queue.cancel_many(IDS).await.unwrap();
        queue.light_clean().await.unwrap();
        assert_eq!(
            queue.purge(State::Ready).await.unwrap(),
            6,
            "the ends of those that were dropped"
        );
        assert_eq!(queue.add_items(IDS.map(next)).await.unwrap(), [true; 6]);
        queue.release_many(all(leases), Duration::ZERO).await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn what_drops_them() {
    stops("remove", (true, true), async |_, queue, _| queue.remove_many(IDS).await.map(drop)).await;
    stops("purge", (true, true), async |_, queue, _| queue.purge(State::Leased).await.map(drop))
        .await;
    stops("cancel", (true, true), async |_, queue, _| queue.cancel_many(IDS).await.map(drop)).await;
}
