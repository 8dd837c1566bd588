//! The operations.

use std::time::Duration;

use leaseq::{CompleteOptions, LeaseOptions, Revision, State, WorkQueue};

use crate::fixtures::Leases;
use crate::support::*;
use crate::verify::Stage;

fn of<'a>(leases: &'a Leases, ids: &[&str]) -> Vec<&'a leaseq::Lease> {
    ids.iter().map(|id| &leases[*id]).collect()
}

const LEASED: [&str; 4] = ["leased", "leased-high", "leased-last", "expired"];

fn some_items() -> [leaseq::Item; 6] {
    [
        item("new"),
        item("ready"),
        item("new-high").priority(9),
        item("new-delayed").delay(secs(5)),
        item("new-limited").max_attempts(2),
        item("new-last"),
    ]
}

#[tokio::test]
async fn add() {
    let mut stage = Stage::new().await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.add_items(some_items()).await.map(drop);
    stage.furnished("add", &[], act).await;
    stage.acts("add", &[], async |_, _| Leases::new(), act).await;
    // Whoever was told of the error tries again before anybody cleans.
    let twice = async |queue: &WorkQueue, leases: &Leases| {
        let first = act(queue, leases).await;
        if first.is_err() {
            act(queue, leases).await.unwrap();
        }
        first
    };
    stage.furnished("add", &[], twice).await;
    stage.acts("add", &[], async |_, _| Leases::new(), twice).await;
}

#[tokio::test]
async fn lease() {
    let mut stage = Stage::new().await;
    for (count, wait) in [(20, 0), (2, 0), (20, 1)] {
        let act = async |queue: &WorkQueue, _: &Leases| {
            let options = LeaseOptions::new(secs(60)).wait(ms(wait));
            queue.lease_many(count, options).await.map(drop)
        };
        stage.furnished("lease", &[], act).await;
    }
    // No item has options, some were removed.
    let plain = async |_: &Bench, queue: &WorkQueue| {
        queue.add_items(["gone", "ready", "gone-too", "ready-too"].map(item)).await.unwrap();
        queue.remove_many(["gone", "gone-too"]).await.unwrap();
        Leases::new()
    };
    let act = async |queue: &WorkQueue, _: &Leases| queue.lease_many(3, at_once()).await.map(drop);
    stage.acts("lease", &[], plain, act).await;
    // So many that they are put into a tree.
    let many = async |_: &Bench, queue: &WorkQueue| {
        let others = (0..40).map(|n| item(format!("other-{n}")));
        queue.add_items(others.chain(["ready", "ready-too"].map(item))).await.unwrap();
        Leases::new()
    };
    let act = async |queue: &WorkQueue, _: &Leases| queue.lease_many(50, at_once()).await.map(drop);
    stage.acts("lease", &[], many, act).await;
}

#[tokio::test]
async fn complete() {
    let mut stage = Stage::new().await;
    let stale = ["s-ready", "s-delayed", "s-dead", "s-leased"];
    let act = async |queue: &WorkQueue, leases: &Leases| {
        queue.complete_many(of(leases, &LEASED)).await.map(drop)
    };
    stage.furnished("complete", &LEASED, act).await;
    let ends: Vec<&str> = stale.iter().chain(&LEASED).copied().collect();
    for options in [CompleteOptions::new(), CompleteOptions::new().strict()] {
        let act = async |queue: &WorkQueue, leases: &Leases| {
            let stale = stale.map(|id| format!("stale:{id}"));
            let mut many = of(leases, &stale.each_ref().map(|id| &id[..]));
            many.extend(of(leases, &LEASED));
            many.push(&leases["leased"]);
            queue.complete_many_with(many, options.clone()).await.map(drop)
        };
        stage.furnished("complete", &ends, act).await;
    }
    // No item has options.
    let plain = async |_: &Bench, queue: &WorkQueue| {
        queue.add_items(["leased", "kept", "ready"].map(item)).await.unwrap();
        let leases = [take(queue).await, take(queue).await];
        Leases::from_iter(leases.map(|lease| (lease.id_str().unwrap().to_owned(), lease)))
    };
    let act = async |queue: &WorkQueue, leases: &Leases| {
        queue.complete(&leases["leased"]).await.map(drop)
    };
    stage.acts("complete", &["leased"], plain, act).await;
}

#[tokio::test]
async fn complete_and_lease() {
    let mut stage = Stage::new().await;
    for (count, wait) in [(20, 0), (2, 1)] {
        let act = async |queue: &WorkQueue, leases: &Leases| {
            let options = LeaseOptions::new(secs(60)).wait(ms(wait));
            let mut many = of(leases, &LEASED);
            many.push(&leases["stale:s-leased"]);
            queue.complete_and_lease(many, count, options).await.map(drop)
        };
        let ends: Vec<&str> = LEASED.iter().chain(&["s-leased"]).copied().collect();
        stage.furnished("complete_and_lease", &ends, act).await;
    }
}

#[tokio::test]
async fn extend_and_release() {
    let mut stage = Stage::new().await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let mut many = of(leases, &LEASED);
        many.push(&leases["stale:s-leased"]);
        queue.extend_many(many, secs(2000)).await.map(drop)
    };
    stage.furnished("extend", &[], act).await;
    for delay in [0, 5] {
        let act = async |queue: &WorkQueue, leases: &Leases| {
            let mut many = of(leases, &LEASED);
            many.push(&leases["stale:s-leased"]);
            queue.release_many(many, secs(delay)).await.map(drop)
        };
        stage.furnished("release", &[], act).await;
    }
}

#[tokio::test]
async fn set_progress() {
    let mut stage = Stage::new().await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let first = queue.set_progress(&leases[LEASED[0]], "half").await;
        assert!(is_lost(queue.set_progress(&leases["stale:s-leased"], "late").await));
        first
    };
    stage.furnished("set_progress", &[], act).await;
}

#[tokio::test]
async fn fail() {
    let mut stage = Stage::new().await;
    for delay in [0, 5] {
        let act = async |queue: &WorkQueue, leases: &Leases| {
            let mut many = of(leases, &LEASED);
            many.push(&leases["stale:s-leased"]);
            let many = many.into_iter().map(|lease| (lease, "error"));
            queue.fail_many(many, secs(delay)).await.map(drop)
        };
        stage.furnished("fail", &[], act).await;
    }
}

#[tokio::test]
async fn what_operators_do() {
    let mut stage = Stage::new().await;
    let ends = ["ready-too", "later", "expired-high", "dead", "leased-high"];
    let act = async |queue: &WorkQueue, _: &Leases| {
        queue.remove_many(ends.iter().chain(&["nothing"])).await.map(drop)
    };
    stage.furnished("remove", &ends, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        queue.requeue(["s-dead", "ready", "nothing", "dead"]).await.map(drop)
    };
    stage.furnished("requeue", &[], act).await;
    let ids =
        ["ready-too", "ready-high", "s-ready", "later", "s-delayed", "leased", "dead", "nothing"];
    let bury = async |queue: &WorkQueue, _: &Leases| queue.bury(ids, "no").await.map(drop);
    stage.furnished("bury", &[], bury).await;
    let revise = async |queue: &WorkQueue, _: &Leases| {
        let new = [
            Revision::new().data([0; 20_000]),
            Revision::new().priority(9),
            Revision::new().delay(secs(5)),
            Revision::new().delay(Duration::ZERO),
        ];
        let all = ids.iter().cycle().zip(new.iter().cycle().cloned());
        queue.revise_many(all.take(4 * ids.len())).await.map(drop)
    };
    stage.furnished("revise", &[], revise).await;
    // Whoever was told of the error tries again before anybody cleans.
    let twice = async |queue: &WorkQueue, leases: &Leases| {
        let first = bury(queue, leases).await.and(revise(queue, leases).await);
        if first.is_err() {
            bury(queue, leases).await.unwrap();
            revise(queue, leases).await.unwrap();
        }
        first
    };
    stage.furnished("bury", &[], twice).await;
    stage.furnished("revise", &[], twice).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.pause().await;
    stage.furnished("pause", &[], act).await;
    let paused = async |bench: &Bench, queue: &WorkQueue| {
        let leases = crate::fixtures::add_fixtures(bench, queue).await;
        queue.pause().await.unwrap();
        leases
    };
    let act = async |queue: &WorkQueue, _: &Leases| queue.resume().await;
    stage.acts("resume", &[], paused, act).await;
    // It is not paused.
    stage.furnished("resume", &[], act).await;
}

#[tokio::test]
async fn purge() {
    let mut stage = Stage::new().await;
    for (state, ends) in [
        (State::Ready, &["ready", "ready-too", "ready-high", "s-ready"][..]),
        (State::Delayed, &["due", "due-high", "due-front", "later", "s-delayed"]),
        (State::Dead, &["dead", "s-dead"]),
    ] {
        let act = async |queue: &WorkQueue, _: &Leases| queue.purge(state).await.map(drop);
        stage.furnished("purge", ends, act).await;
    }
    // Without a bystander, whose lease would end too.
    let leased = async |_: &Bench, queue: &WorkQueue| {
        queue.add_items(["leased", "expired", "ready"].map(item)).await.unwrap();
        queue.lease_many(2, at_once()).await.unwrap();
        Leases::new()
    };
    let act = async |queue: &WorkQueue, _: &Leases| queue.purge(State::Leased).await.map(drop);
    stage.acts("purge", &["leased", "expired"], leased, act).await;
}

#[tokio::test]
async fn light_clean() {
    let mut stage = Stage::new().await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.light_clean().await.map(drop);
    stage.furnished("light_clean", &[], act).await;
}

#[tokio::test]
async fn what_is_stopped_is_told_at_once_and_not_repeated() {
    let mut stage = Stage::new().await;
    let queue = stage.new_queue();
    crate::support::redis::fail_after(&mut stage.raw, "add", 6);
    let begin = std::time::Instant::now();
    let error = queue.add_item(item("a")).await.unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(5) && error.to_string().contains("half-way"));
}
