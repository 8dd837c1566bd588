//! The scripts of extended queues, whose items are retained, have unique keys, and replace each other.

use leaseq::{
    CompleteOptions, Item, LeaseOptions, OutcomeOptions, PauseOptions, Rate, SettingsChange, State,
    WorkQueue,
};

use crate::fixtures::Leases;
use crate::support::redis::{fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

const KEYS: [&str; 6] = ["k1", "k2", "k3", "k4", "k5", "k6"];

/// Retained for a second, with a unique key.
fn with_all(id: &str, key: &str) -> Item {
    item(id).retain(secs(1)).unique(key)
}

async fn stage() -> Stage {
    let mut stage = Stage::new().await;
    stage.keys = &KEYS;
    stage
}

/// - `kept`: leased by a bystander
/// - `leased` and `leased-high`: by the caller, with and without a unique key; `leased-last`: at its last attempt
/// - `s-ready`, `s-delayed`, `s-dead`, `s-leased`: delivered twice, now in that state
/// - `ready` and `ready-high`; `dead`, with a key that is free
/// - `done` and `over`, which are retained; the time of `over` has passed
async fn fixtures(bench: &Bench, queue: &WorkQueue) -> Leases {
    let long = LeaseOptions::new(secs(1800)).wait(ms(0));
    let mut leases = Leases::new();
    let named = |leases: Vec<leaseq::Lease>, prefix: &'static str| {
        leases.into_iter().map(move |l| (format!("{prefix}{}", l.id_str().unwrap()), l))
    };
    queue
        .add_items(["s-ready", "s-delayed", "s-leased"].map(|id| item(id).retain(secs(1))))
        .await
        .unwrap();
    queue.add_item(with_all("s-dead", "k1").max_attempts(2)).await.unwrap();
    let short = LeaseOptions::new(secs(1)).wait(ms(0));
    leases.extend(named(queue.lease_many(4, short).await.unwrap(), "stale:"));
    bench.advance(secs(1));
    let second: Leases = named(queue.lease_many(4, long.clone()).await.unwrap(), "").collect();
    queue.release(&second["s-delayed"], secs(60)).await.unwrap();
    queue.fail(&second["s-dead"], "s", ms(0)).await.unwrap();
    queue
        .add_items([with_all("done", "k2").retain(secs(1800)), item("over").retain(secs(1))])
        .await
        .unwrap();
    queue.add_item(with_all("dead", "k3").max_attempts(1)).await.unwrap();
    for lease in queue.lease_many(3, long.clone()).await.unwrap() {
        match lease.id() {
            b"dead" => drop(queue.fail(&lease, "d", ms(0)).await.unwrap()),
            _ => _ = queue.complete_with(&lease, CompleteOptions::new().result("r")).await.unwrap(),
        }
    }
    bench.advance(secs(1));
    queue
        .add_items([item("kept"), with_all("leased", "k4"), item("leased-high").retain(secs(1))])
        .await
        .unwrap();
    queue.add_item(with_all("leased-last", "k5").max_attempts(1)).await.unwrap();
    leases.extend(named(queue.lease_many(4, long).await.unwrap(), ""));
    queue.release(&second["s-ready"], ms(0)).await.unwrap();
    queue.add_items([with_all("ready", "k6"), item("ready-high").priority(2)]).await.unwrap();
    awaited(queue).await;
    leases
}

/// Somebody waits for the end of each item.
async fn awaited(queue: &WorkQueue) {
    let items = seen(queue).await.1.into_iter().filter(|info| !info.state.is_retained());
    let ids: Vec<_> = items.map(|info| info.id).chain(["new".into()]).collect();
    let options = OutcomeOptions::new().wait(ms(1)).expect();
    queue.outcome_many(ids, options).await.unwrap();
}

fn of<'a>(leases: &'a Leases, ids: &[&str]) -> Vec<&'a leaseq::Lease> {
    ids.iter().map(|id| &leases[*id]).collect()
}

const STALE: [&str; 4] = ["stale:s-ready", "stale:s-delayed", "stale:s-dead", "stale:s-leased"];
const LEASED: [&str; 3] = ["leased", "leased-high", "leased-last"];
const ENDS: [&str; 7] =
    ["s-ready", "s-delayed", "s-dead", "s-leased", "leased", "leased-high", "leased-last"];

#[tokio::test]
async fn add() {
    let mut stage = stage().await;
    let items = || {
        [
            with_all("new", "k7"),
            item("new-limited").retain(secs(1)).max_attempts(2),
            item("over"),
            with_all("ready-too", "k4"),
            item("ready-high").replace(),
            with_all("new-last", "k6").replace().unique_for(secs(5)),
        ]
    };
    let act = async |queue: &WorkQueue, _: &Leases| queue.add_items(items()).await.map(drop);
    // Replaced by another one, unless the add was stopped.
    let ends = ["ready"];
    stage.acts("add extended", &ends, fixtures, act).await;
    // Whoever was told of the error tries again before anybody cleans.
    let twice = async |queue: &WorkQueue, leases: &Leases| {
        let first = act(queue, leases).await;
        if first.is_err() {
            act(queue, leases).await.unwrap();
        }
        first
    };
    stage.acts("add extended", &ends, fixtures, twice).await;
    stage.acts("add extended", &ends, async |_, _| Leases::new(), twice).await;
}

#[tokio::test]
async fn complete() {
    let mut stage = stage().await;
    for options in [CompleteOptions::new(), CompleteOptions::new().retain(secs(1))] {
        let act = async |queue: &WorkQueue, leases: &Leases| {
            let many = of(leases, &STALE).into_iter().chain(of(leases, &LEASED));
            let results = (0..7).map(|i| (i % 2 == 0).then(|| "result".into()));
            queue.complete_many_with(many, options.clone().results(results)).await.map(drop)
        };
        stage.acts("complete extended", &ENDS, fixtures, act).await;
    }
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let none = CompleteOptions::new().retain(ms(0));
        let many = of(leases, &STALE).into_iter().chain(of(leases, &LEASED));
        queue.complete_many_with(many, none).await.map(drop)
    };
    stage.acts("complete extended", &ENDS, fixtures, act).await;
}

#[tokio::test]
async fn complete_and_lease() {
    let mut stage = stage().await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let many = of(leases, &STALE).into_iter().chain(of(leases, &LEASED));
        let long = LeaseOptions::new(secs(60)).wait(ms(0));
        queue.complete_and_lease(many, 5, long).await.map(drop)
    };
    stage.acts("complete_and_lease extended", &ENDS, fixtures, act).await;
}

#[tokio::test]
async fn lease_fail_and_clean() {
    let mut stage = stage().await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let options = LeaseOptions::new(secs(60)).wait(ms(0));
        queue.lease_many(10, options).await.map(drop)
    };
    stage.acts("lease extended", &[], fixtures, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let many = of(leases, &LEASED).into_iter().map(|lease| (lease, "no"));
        queue.fail_many(many, ms(0)).await.map(drop)
    };
    stage.acts("fail extended", &[], fixtures, act).await;
    let overdue = async |bench: &Bench, queue: &WorkQueue| {
        let mut leases = fixtures(bench, queue).await;
        leases.remove("kept");
        bench.advance(secs(1800));
        leases
    };
    let act = async |queue: &WorkQueue, _: &Leases| queue.light_clean().await.map(drop);
    stage.acts("light_clean", &[], overdue, act).await;
}

/// An item that an error has left is not deleted because somebody else has its key by then.
#[tokio::test]
async fn a_taken_key_deletes_nobody() {
    for (script, ends) in [("complete extended", 0), ("remove", 1), ("purge", 2)] {
        let mut stage = stage().await;
        for calls in stopping_points() {
            let queue = stage.new_queue();
            let long = LeaseOptions::new(secs(1800)).wait(ms(0));
            queue.add_items([item("x").unique("k1"), item("ready")]).await.unwrap();
            let lease = queue.lease(long).await.unwrap().unwrap();
            fail_after(&mut stage.raw, script, calls);
            let ended = match ends {
                0 => queue.complete(&lease).await.map(drop),
                1 => queue.remove("x").await.map(drop),
                _ => queue.purge(State::Leased).await.map(drop),
            };
            let failed = has_failed(&mut stage.raw, script);
            assert_eq!(ended.is_err(), failed, "{ended:?}");
            let is_there = queue.get("x").await.unwrap().is_some();
            let others = queue.add_item(item("y").unique("k1")).await.unwrap();
            queue.deep_clean().await.unwrap();
            assert!(queue.deep_clean().await.unwrap().is_sound());
            assert_eq!(queue.get("x").await.unwrap().is_some(), is_there, "{script} {calls}");
            assert_eq!(queue.get("y").await.unwrap().is_some(), others, "{script} {calls}");
            if !failed {
                assert!(calls > 2 && !is_there);
                break;
            }
        }
    }
}

/// Items that expire, some with a unique key. `x-…` have expired, and nobody has looked: ready, delayed, leased, and
/// released once; `soon` expires later.
async fn expiring(bench: &Bench, queue: &WorkQueue) -> Leases {
    let long = LeaseOptions::new(secs(1800)).wait(ms(0));
    let short = |id: &str, key: &str| item(id).unique(key).expires_in(secs(10));
    queue
        .add_items([short("x-leased", "k1"), short("x-released", "k2").retain(secs(1))])
        .await
        .unwrap();
    let mut leases = Leases::new();
    for lease in queue.lease_many(2, long.clone()).await.unwrap() {
        leases.insert(lease.id_str().unwrap().to_owned(), lease);
    }
    queue.release(&leases["x-released"], ms(0)).await.unwrap();
    let late = leases.remove("x-released").unwrap();
    leases.insert("stale:x-released".to_owned(), late);
    queue
        .add_items([short("x-ready", "k3"), short("x-delayed", "k4").delay(secs(9))])
        .await
        .unwrap();
    queue.add_item(short("x-high", "k5").priority(4).max_attempts(2)).await.unwrap();
    queue.add_item(item("kept").priority(9)).await.unwrap();
    let kept = queue.lease(long).await.unwrap().unwrap();
    leases.insert("kept".to_owned(), kept);
    awaited(queue).await;
    bench.advance(secs(10));
    queue.add_items([item("ready"), short("soon", "k6")]).await.unwrap();
    leases
}

const EXPIRED: [&str; 5] = ["x-ready", "x-delayed", "x-high", "x-released", "x-leased"];

/// The same, with so many that the sweep of a lease leaves some to be popped.
async fn many_expiring(bench: &Bench, queue: &WorkQueue) -> Leases {
    let others = (0..120).map(|i| item(format!("other-{i}")).delay(secs(1)).expires_in(secs(1)));
    queue.add_items(others).await.unwrap();
    expiring(bench, queue).await
}

#[tokio::test]
async fn items_that_expire() {
    let mut stage = stage().await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let new = item("new").expires_in(secs(5)).unique("k7");
        // The key of one that has expired is free. It could not be requeued as long as another one has it.
        let last = item("new-last").expires_in(secs(5)).unique("k3");
        let added = queue.add_items([new, last]).await;
        queue.remove("x-ready").await.unwrap();
        added.map(drop)
    };
    stage.acts("add extended", &["x-ready"], expiring, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let options = LeaseOptions::new(secs(60)).wait(ms(0));
        queue.lease_many(200, options).await.map(drop)
    };
    stage.acts("lease extended", &[], expiring, act).await;
    stage.acts("lease extended", &[], many_expiring, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.light_clean().await.map(drop);
    stage.acts("light_clean", &[], expiring, act).await;
    for delay in [0, 60] {
        let act = async |queue: &WorkQueue, leases: &Leases| {
            queue.release(&leases["x-leased"], secs(delay)).await
        };
        stage.acts("release extended", &[], expiring, act).await;
    }
    let act = async |queue: &WorkQueue, leases: &Leases| {
        queue.fail(&leases["x-leased"], "no", ms(0)).await.map(drop)
    };
    stage.acts("fail extended", &[], expiring, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let many = of(leases, &["x-leased", "stale:x-released"]);
        queue.complete_many(many).await.map(drop)
    };
    stage.acts("complete extended", &["x-leased", "x-released"], expiring, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.requeue(EXPIRED).await.map(drop);
    stage.acts("requeue", &[], expiring, act).await;
    let act =
        async |queue: &WorkQueue, _: &Leases| queue.bury(["soon", "x-ready"], "no").await.map(drop);
    stage.acts("bury", &[], expiring, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let data = leaseq::Revision::new().data("new");
        queue.revise_many(["soon", "x-ready"].map(|id| (id, data.clone()))).await.map(drop)
    };
    stage.acts("revise", &[], expiring, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.remove_many(EXPIRED).await.map(drop);
    stage.acts("remove", &EXPIRED, expiring, act).await;
}

#[tokio::test]
async fn waiting_for_ends() {
    let mut stage = stage().await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let ids = ["ready", "done", "over", "dead", "leased", "none", "late"];
        let options = OutcomeOptions::new().wait(ms(1)).expect();
        queue.outcome_many(ids, options).await.map(drop)
    };
    stage.acts("await_outcomes", &[], fixtures, act).await;
    // In a queue that does not exist yet.
    stage.acts("await_outcomes", &[], async |_, _| Leases::new(), act).await;
}

/// Items that wait, retained or not, and leased ones, of which some are marked already.
#[tokio::test]
async fn cancel() {
    let mut stage = stage().await;
    let ids =
        ["ready", "ready-high", "s-ready", "s-delayed", "leased", "leased-high", "dead", "none"];
    let ends = ["ready", "ready-high", "s-ready", "s-delayed", "leased", "leased-high"];
    let act = async |queue: &WorkQueue, _: &Leases| queue.cancel_many(ids).await.map(drop);
    stage.acts("cancel", &ends, fixtures, act).await;
    let twice = async |queue: &WorkQueue, leases: &Leases| {
        let first = act(queue, leases).await;
        if first.is_err() {
            act(queue, leases).await.unwrap();
        }
        first
    };
    stage.acts("cancel", &ends, fixtures, twice).await;
}

/// Whatever ends the leases of marked items.
#[tokio::test]
async fn marked_items() {
    let mut stage = stage().await;
    let marked = async |bench: &Bench, queue: &WorkQueue| {
        let leases = fixtures(bench, queue).await;
        assert_eq!(queue.cancel_many(LEASED).await.unwrap(), [true; 3]);
        leases
    };
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let many = of(leases, &LEASED).into_iter().map(|lease| (lease, "no"));
        queue.fail_many(many, ms(0)).await.map(drop)
    };
    stage.acts("fail extended", &LEASED, marked, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        queue.release_many(of(leases, &LEASED), ms(0)).await.map(drop)
    };
    stage.acts("release extended", &LEASED, marked, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        queue.complete_many(of(leases, &LEASED)).await.map(drop)
    };
    stage.acts("complete extended", &LEASED, marked, act).await;
    let overdue = async |bench: &Bench, queue: &WorkQueue| {
        let mut leases = marked(bench, queue).await;
        leases.remove("kept");
        bench.advance(secs(1800));
        leases
    };
    let act = async |queue: &WorkQueue, _: &Leases| queue.light_clean().await.map(drop);
    stage.acts("light_clean", &LEASED, overdue, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.lease_many(10, at_once()).await.map(drop);
    stage.acts("lease extended", &LEASED, overdue, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.remove_many(LEASED).await.map(drop);
    stage.acts("remove", &LEASED, marked, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.purge(State::Leased).await.map(drop);
    stage
        .acts(
            "purge",
            &["leased", "leased-high", "leased-last", "s-leased", "kept"],
            async |bench, queue| {
                let mut leases = marked(bench, queue).await;
                leases.remove("kept");
                leases
            },
            act,
        )
        .await;
}

#[tokio::test]
async fn what_operators_do() {
    let mut stage = stage().await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        queue.bury(["ready", "s-delayed", "ready-high"], "no").await.map(drop)
    };
    stage.acts("bury", &[], fixtures, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let late = leaseq::Revision::new().delay(secs(1));
        let data = leaseq::Revision::new().data("new");
        let both = [("ready", data.clone()), ("s-dead", data), ("ready-high", late)];
        queue.revise_many(both).await.map(drop)
    };
    stage.acts("revise", &[], fixtures, act).await;
    let ends = ["ready", "s-delayed", "leased", "dead"];
    let act = async |queue: &WorkQueue, _: &Leases| {
        queue.remove_many(ends.iter().chain(&["done", "over"])).await.map(drop)
    };
    stage.acts("remove", &ends, fixtures, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        queue.requeue(["s-dead", "dead", "done"]).await.map(drop)
    };
    stage.acts("requeue", &[], fixtures, act).await;
    for (state, ends) in [
        (State::Ready, &["ready", "ready-high", "s-ready"][..]),
        (State::Dead, &["dead", "s-dead"]),
        (State::Completed, &[]),
    ] {
        let act = async |queue: &WorkQueue, _: &Leases| queue.purge(state).await.map(drop);
        stage.acts("purge", ends, fixtures, act).await;
    }
}

/// What settings say of items that say nothing themselves.
async fn with_defaults(bench: &Bench, queue: &WorkQueue) -> Leases {
    let leases = fixtures(bench, queue).await;
    let settings = SettingsChange::new().max_attempts(1).retain(secs(60));
    queue.configure(settings.max_retained_age(secs(50))).await.unwrap();
    leases
}

/// No more than one dead and one retained item stay.
async fn with_limits(bench: &Bench, queue: &WorkQueue) -> Leases {
    let leases = fixtures(bench, queue).await;
    let settings = SettingsChange::new().max_dead(1).max_retained(1);
    queue.configure(settings.max_dead_age(secs(7200))).await.unwrap();
    leases
}

/// Two more leases are allowed.
async fn with_rate(bench: &Bench, queue: &WorkQueue) -> Leases {
    let leases = fixtures(bench, queue).await;
    queue.configure(SettingsChange::new().rate(hourly(2))).await.unwrap();
    leases
}

fn hourly(burst: u32) -> Rate {
    Rate::new(1, secs(3600)).burst(burst)
}

/// Wherever a script stops, no more is leased than the rate allows; also if whoever was told of the error tries again.
#[tokio::test]
async fn a_rate() {
    let mut stage = stage().await;
    let used = async |queue: &WorkQueue, most: u64| {
        let before = queue.counts().await.unwrap();
        queue.lease_many(1000, at_once()).await.unwrap();
        let after = queue.counts().await.unwrap();
        assert!(after.ready == 0 || after.rate_limited, "{after:?}");
        queue.configure(SettingsChange::new().rate(None)).await.unwrap();
        let leased = after.leased - before.leased;
        assert!(leased <= most, "{leased} of {most}");
    };
    for count in [1, 20] {
        let lease = async |queue: &WorkQueue, _: &Leases| {
            queue.light_clean().await.unwrap();
            let before = queue.counts().await.unwrap().leased;
            let wait = LeaseOptions::new(secs(60)).wait(ms(1));
            let first = queue.lease_many(count, wait).await.map(drop);
            // One that was leased to nobody counts too.
            let leased = queue.counts().await.unwrap().leased - before;
            used(queue, 2 - leased).await;
            first
        };
        stage.acts("lease extended", &[], with_rate, lease).await;
    }
    let complete = async |queue: &WorkQueue, leases: &Leases| {
        queue.light_clean().await.unwrap();
        let before = queue.counts().await.unwrap().totals.leased;
        let done = queue.complete_and_lease(of(leases, &LEASED), 5, at_once()).await.map(drop);
        let leased = queue.counts().await.unwrap().totals.leased - before;
        used(queue, 2_u64.saturating_sub(leased)).await;
        done
    };
    stage.acts("complete_and_lease extended", &LEASED, with_rate, complete).await;
    for to in [Some(hourly(1)), Some(Rate::new(9, secs(9000)).burst(2)), None] {
        let configure = async |queue: &WorkQueue, _: &Leases| {
            queue.light_clean().await.unwrap();
            queue.lease_many(1, at_once()).await.unwrap();
            let changed = queue.configure(SettingsChange::new().rate(to)).await.map(drop);
            if queue.settings().await.unwrap().rate.is_some() {
                used(queue, 1).await;
            }
            changed
        };
        stage.acts("configure", &[], with_rate, configure).await;
    }
}

/// What is dead, or dies.
const DEAD: [&str; 3] = ["s-dead", "dead", "leased-last"];

#[tokio::test]
async fn settings() {
    let mut stage = stage().await;
    let settings = || SettingsChange::new().max_dead(50).max_attempts(3);
    let act = async |queue: &WorkQueue, _: &Leases| queue.configure(settings()).await.map(drop);
    stage.acts("configure", &[], async |_, _| Leases::new(), act).await;
    stage.furnished("configure", &[], act).await;
    stage.acts("configure", &[], with_defaults, act).await;
    let refused = async |queue: &WorkQueue, _: &Leases| {
        queue.configure(settings().expect_revision(7)).await.map(|none| assert!(none.is_none()))
    };
    stage.acts("configure", &[], with_defaults, refused).await;
    // Whoever was told of the error tries again.
    let twice = async |queue: &WorkQueue, leases: &Leases| {
        let first = act(queue, leases).await;
        if first.is_err() {
            assert!(queue.configure(settings()).await.unwrap().is_some());
        }
        let found = queue.settings().await.unwrap();
        assert_eq!((found.max_dead, found.max_attempts), (Some(50), Some(3)));
        assert!(found.revision > 0);
        first
    };
    stage.furnished("configure", &[], twice).await;
    let pause = async |queue: &WorkQueue, _: &Leases| {
        queue.pause_with(PauseOptions::new().duration(secs(5))).await
    };
    stage.acts("pause", &[], async |_, _| Leases::new(), pause).await;
    stage.furnished("pause", &[], pause).await;
}

#[tokio::test]
async fn what_settings_do() {
    let mut stage = stage().await;
    let clean = async |queue: &WorkQueue, _: &Leases| queue.light_clean().await.map(drop);
    let lease =
        async |queue: &WorkQueue, _: &Leases| queue.lease_many(3, at_once()).await.map(drop);
    let fail = async |queue: &WorkQueue, leases: &Leases| {
        let many = of(leases, &LEASED).into_iter().map(|lease| (lease, "no"));
        queue.fail_many(many, ms(0)).await.map(drop)
    };
    let complete = async |queue: &WorkQueue, leases: &Leases| {
        let many = of(leases, &STALE).into_iter().chain(of(leases, &LEASED));
        queue.complete_and_lease(many, 5, at_once()).await.map(drop)
    };
    let cancelled = ["ready", "ready-high", "leased", "s-delayed"];
    let cancel = async |queue: &WorkQueue, _: &Leases| queue.cancel_many(cancelled).await.map(drop);
    let overdue = async |bench: &Bench, queue: &WorkQueue| {
        let mut leases = with_defaults(bench, queue).await;
        leases.remove("kept");
        bench.advance(secs(1800));
        leases
    };
    stage.acts("light_clean", &[], overdue, clean).await;
    stage.acts("lease extended", &[], overdue, lease).await;
    stage.acts("fail extended", &[], with_defaults, fail).await;
    stage.acts("complete_and_lease extended", &ENDS, with_defaults, complete).await;
    stage.acts("cancel", &cancelled, with_defaults, cancel).await;

    stage.acts("light_clean", &DEAD, with_limits, clean).await;
    stage.acts("lease extended", &DEAD, with_limits, lease).await;
    stage.acts("fail extended", &DEAD, with_limits, fail).await;
    let ends = [&ENDS[..], &DEAD[..]].concat();
    stage.acts("complete_and_lease extended", &ends, with_limits, complete).await;
}
