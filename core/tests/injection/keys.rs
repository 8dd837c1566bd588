//! The scripts of queues whose items have keys. Wherever a script stops: no key gets more leases than its limit and its rate
//! allow, with or without a clean, and after a clean no key stays blocked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::redis::Commands;
use leaseq::{
    ErrorKind, Item, Lease, LeaseOptions, Rate, Result, Revision, SettingsChange, State, WorkQueue,
};

use crate::fixtures::Leases;
use crate::support::rates::{Set, begin_of, check};
use crate::support::redis::{expect_waiters, fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

pub(crate) const LONG: Duration = Duration::from_secs(1800);

pub(crate) fn keyed(id: &str) -> Item {
    // The key is the first letter of the id.
    item(id).key(&id[..1])
}

fn limit_of(key: &[u8]) -> usize {
    if key == b"b" { 2 } else { 1 }
}

pub(crate) async fn lease(queue: &WorkQueue, duration: Duration) -> Vec<Lease> {
    let options = LeaseOptions::new(duration).wait(Duration::ZERO);
    queue.lease_many(1000, options).await.unwrap()
}

/// - `a`: one is leased, others wait with two priorities, one is ready and comes later
/// - `b` may have two leases, and has them; others wait, one of them with a large record
/// - `c` is open: nobody is leased, others wait
/// - `d`: a lease has expired, another one waits
/// - `e`: one came back with a delay, which is over; another one is leased, another one waits
/// - `f`: one is ready, none is leased. `plain` has no key.
pub(crate) async fn fixtures(bench: &Bench, queue: &WorkQueue) -> Leases {
    queue.set_key_limits([("b", Some(2))]).await.unwrap();
    let mut leases = Leases::new();
    let mut add = |many: Vec<Lease>| {
        leases.extend(many.into_iter().map(|lease| (lease.id_str().unwrap().to_owned(), lease)));
    };
    queue.add_items(["d1"].map(keyed)).await.unwrap();
    add(lease(queue, secs(5)).await);
    queue.add_items(["e1"].map(keyed)).await.unwrap();
    let returned = lease(queue, LONG).await;
    queue.release(&returned[0], secs(5)).await.unwrap();
    queue.add_items(["a1", "b1", "b2", "c1", "e2"].map(keyed)).await.unwrap();
    add(lease(queue, LONG).await);
    let waiting = ["a2", "b3", "b4", "c2", "c3", "d2", "e3"].map(keyed);
    let large = Item::new(vec![b'x'; 20_000]).with_id("b5").key("b");
    queue.add_items(waiting.into_iter().chain([large, keyed("a5").priority(5)])).await.unwrap();
    assert_eq!(lease(queue, LONG).await.len(), 0);
    assert!(queue.complete(&leases["c1"]).await.unwrap());
    queue.add_items([keyed("a9"), keyed("f1"), keyed("f2"), item("plain")]).await.unwrap();
    bench.advance(secs(5));
    leases
}

pub(crate) const IDS: [&str; 18] = [
    "a1", "a2", "a5", "a9", "b1", "b2", "b3", "b4", "b5", "c2", "c3", "d1", "d2", "e1", "e2", "e3",
    "f1", "plain",
];

/// How many leases each key has now.
async fn assert_within_limits(queue: &WorkQueue) {
    let mut leased: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for info in list_all(queue, State::Leased, 1000).await {
        if let Some(key) = info.key {
            *leased.entry(key.to_vec()).or_default() += 1;
        }
    }
    for (key, count) in leased {
        let limit = limit_of(&key);
        assert!(count <= limit, "{} has {count} leases of {limit}", key.escape_ascii());
    }
}

/// What was leased since a script has stopped.
#[derive(Default)]
struct Came {
    ids: BTreeSet<String>,
    /// When each lease of a key began.
    begins: BTreeMap<Vec<u8>, Vec<u64>>,
}

impl Came {
    fn note(&mut self, leases: &[Lease], duration: Duration) {
        for lease in leases {
            self.ids.insert(lease.id_str().unwrap().to_owned());
            if let Some(key) = lease.key() {
                self.begins.entry(key.to_vec()).or_default().push(begin_of(lease, duration));
            }
        }
    }
}

/// Goes on as workers do, for as many rounds, and gives all leases up in different ways.
async fn work(bench: &Bench, queue: &WorkQueue, rounds: usize) -> Came {
    let mut came = Came::default();
    for round in 0..rounds {
        let leases = lease(queue, secs(60)).await;
        assert_within_limits(queue).await;
        came.note(&leases, secs(60));
        for (i, lease) in leases.iter().enumerate() {
            match (i + round) % 4 {
                0 => queue.release(lease, Duration::ZERO).await.map(drop),
                1 => queue.fail(lease, "no", secs(1)).await.map(drop),
                2 => Ok(()), // it expires
                _ => queue.complete(lease).await.map(drop),
            }
            .unwrap();
        }
        bench.advance(secs(30));
    }
    came
}

/// Completes what comes until nothing comes any more.
async fn drain(bench: &Bench, queue: &WorkQueue, came: &mut Came) {
    let mut rests = 0;
    while rests < 2 {
        let leases = lease(queue, LONG).await;
        assert_within_limits(queue).await;
        came.note(&leases, LONG);
        assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
        rests = if leases.is_empty() { rests + 1 } else { 0 };
        if leases.is_empty() {
            bench.advance(secs(3600));
        }
    }
}

/// Stops the act after each call of the script. What it ends may be gone.
pub(crate) async fn stops(
    script: &str,
    ends: &[&str],
    act: impl AsyncFn(&WorkQueue, &Leases) -> Result<()>,
) {
    stops_with(None, script, ends, act).await;
}

/// With a rate for each key.
async fn stops_with(
    rate: Option<Rate>,
    script: &str,
    ends: &[&str],
    act: impl AsyncFn(&WorkQueue, &Leases) -> Result<()>,
) {
    let mut stage = Stage::new().await;
    for calls in stopping_points() {
        let mut failed = false;
        for cleans in [true, false] {
            let queue = stage.new_queue();
            let leases = fixtures(&stage.bench, &queue).await;
            if rate.is_some() {
                queue.configure(SettingsChange::new().key_rate(rate)).await.unwrap();
                lease(&queue, secs(1)).await;
                stage.bench.advance(secs(20));
            }
            expect_waiters(&mut stage.raw, queue.name());
            fail_after(&mut stage.raw, script, calls);
            let answer = act(&queue, &leases).await;
            failed = has_failed(&mut stage.raw, script);
            eprintln!("{script} stopped after call {calls}, cleans {cleans}: {answer:?}");
            match answer {
                Ok(()) => assert!(!failed, "an error must be told"),
                Err(error) => assert!(failed && error.kind() == ErrorKind::Internal, "{error}"),
            }
            let mut came = Came::default();
            if !cleans {
                came = work(&stage.bench, &queue, 6).await;
            }
            queue.deep_clean().await.unwrap();
            let again = queue.deep_clean().await.unwrap();
            assert!(again.is_sound(), "a second deep clean finds {:?}", again.details);
            drain(&stage.bench, &queue, &mut came).await;
            if let Some(rate) = rate {
                for (key, begins) in &came.begins {
                    let fine = check(&[Set { at: 0, rate }], begins);
                    assert_eq!(fine, Ok(()), "the rate of {}", key.escape_ascii());
                }
            }
            for id in IDS.iter().filter(|id| !ends.contains(id)) {
                assert!(came.ids.contains(*id), "{id} was lost");
            }
            let counts = queue.counts().await.unwrap();
            let left = (counts.ready, counts.delayed, counts.leased, counts.held);
            assert_eq!(left, (0, 0, 0, 0), "some never came");
            assert_sound(&queue).await;
            queue.deep_clean().await.unwrap();
            for key in ["places", "held", "lines", "meters"] {
                let key = format!("leaseq:{{{}}}:{key}", queue.name());
                assert!(!stage.raw.exists::<_, bool>(&key).unwrap(), "{key} is left");
            }
        }
        if !failed {
            assert!(calls > 2, "{script} did nothing");
            return;
        }
    }
}

pub(crate) fn of<'a>(leases: &'a Leases, ids: &[&str]) -> Vec<&'a Lease> {
    ids.iter().map(|id| &leases[*id]).collect()
}

#[tokio::test]
async fn lease_takes_from_lines_and_lists() {
    for count in [1, 3, 1000] {
        let act = async |queue: &WorkQueue, _: &Leases| {
            queue.lease_many(count, at_once()).await.map(drop)
        };
        stops("lease extended", &[], act).await;
    }
}

#[tokio::test]
async fn complete_opens_lines() {
    let ends = ["a1", "b1", "b2", "d1", "e2"];
    let act = async |queue: &WorkQueue, leases: &Leases| {
        queue.complete_many(of(leases, &ends)).await.map(drop)
    };
    stops("complete extended", &ends, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let many = of(leases, &["a1", "b1", "c1"]); // one of them is gone
        queue.complete_many(many).await.map(drop)
    };
    stops("complete extended", &ends, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        queue.complete_and_lease(of(leases, &ends), 3, at_once()).await.map(drop)
    };
    stops("complete_and_lease extended", &ends, act).await;
}

#[tokio::test]
async fn items_come_back_into_their_lines() {
    let some = ["a1", "b1", "b2", "e2"];
    for delay in [0, 5] {
        let act = async |queue: &WorkQueue, leases: &Leases| {
            queue.release_many(of(leases, &some), secs(delay)).await.map(drop)
        };
        stops("release extended", &[], act).await;
        let act = async |queue: &WorkQueue, leases: &Leases| {
            let many = of(leases, &some).into_iter().map(|lease| (lease, "no"));
            queue.fail_many(many, secs(delay)).await.map(drop)
        };
        stops("fail extended", &[], act).await;
    }
    let act = async |queue: &WorkQueue, _: &Leases| queue.light_clean().await.map(drop);
    stops("light_clean", &[], act).await;
}

#[tokio::test]
async fn what_operators_do() {
    let some = ["a1", "a2", "a5", "b1", "b3", "b5", "c2", "e2", "e3"];
    let act = async |queue: &WorkQueue, _: &Leases| queue.remove_many(some).await.map(drop);
    stops("remove", &some, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.cancel_many(some).await.map(drop);
    stops("cancel", &some, act).await;
    let held = ["a2", "a5", "b3", "b5", "c2", "e3"];
    let act = async |queue: &WorkQueue, _: &Leases| queue.bury(held, "no").await.map(drop);
    stops("bury", &held, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let data = Revision::new().data("new").priority(3);
        queue.revise_many(held.map(|id| (id, data.clone()))).await.map(drop)
    };
    stops("revise", &[], act).await;
    for (state, ends) in [
        (State::Held, &["a2", "a5", "b3", "b4", "b5", "c2", "c3", "d2", "e3"][..]),
        (State::Leased, &["a1", "b1", "b2", "d1", "e2"]),
    ] {
        let act = async |queue: &WorkQueue, _: &Leases| queue.purge(state).await.map(drop);
        stops("purge", ends, act).await;
    }
    let act =
        async |queue: &WorkQueue, _: &Leases| queue.add_item(keyed("a2").replace()).await.map(drop);
    stops("add extended", &[], act).await;
}

/// The limits go up and, at once, down again, so that the same limits hold in the end.
#[tokio::test]
async fn limits() {
    let act = async |queue: &WorkQueue, _: &Leases| {
        let up = queue.set_key_limits([("a", Some(2)), ("b", None), ("c", Some(3))]).await;
        let back = || queue.set_key_limits([("a", None), ("b", Some(2)), ("c", None)]);
        let down = back().await;
        if down.is_err() {
            back().await.unwrap();
        }
        up.and(down)
    };
    stops("set_key_limits", &[], act).await;
    let up_and_down = async |queue: &WorkQueue| {
        let up = queue.configure(SettingsChange::new().key_limit(3)).await.map(drop);
        let down = queue.configure(SettingsChange::new().key_limit(1)).await.map(drop);
        if down.is_err() {
            queue.configure(SettingsChange::new().key_limit(1)).await.unwrap();
        }
        up.and(down)
    };
    stops("configure", &[], async |queue, _| up_and_down(queue).await).await;
    // The keys are opened in steps.
    let act = async |queue: &WorkQueue, _: &Leases| {
        up_and_down(queue).await?;
        queue.light_clean().await.map(drop)
    };
    stops("light_clean", &[], act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        up_and_down(queue).await?;
        queue.lease_many(3, at_once()).await.map(drop)
    };
    stops("lease extended", &[], act).await;
}

#[tokio::test]
async fn rates_of_keys() {
    let rate = Some(Rate::new(1, secs(20)));
    for count in [2, 1000] {
        let act = async |queue: &WorkQueue, _: &Leases| {
            queue.lease_many(count, at_once()).await.map(drop)
        };
        stops_with(rate, "lease extended", &[], act).await;
    }
    let act = async |queue: &WorkQueue, _: &Leases| queue.light_clean().await.map(drop);
    stops_with(rate, "light_clean", &[], act).await;
    let ends = ["a1", "b1", "e2"];
    let act = async |queue: &WorkQueue, leases: &Leases| {
        queue.complete_and_lease(of(leases, &ends), 9, at_once()).await.map(drop)
    };
    stops_with(rate, "complete_and_lease extended", &ends, act).await;
    // The rate is another one for a moment, and no lease comes between.
    let act = async |queue: &WorkQueue, _: &Leases| {
        let other = queue.configure(SettingsChange::new().key_rate(Rate::new(9, secs(1)))).await;
        let change = SettingsChange::new().key_rate(rate);
        if queue.configure(change.clone()).await.is_err() {
            queue.configure(change).await.unwrap();
        }
        other.map(drop)
    };
    stops_with(rate, "configure", &[], act).await;
}

/// Deep cleans of what other stops have left.
#[tokio::test]
async fn deep_clean() {
    for script in ["audit_items", "audit_keys", "audit_index", "mend_stray"] {
        let mut stage = Stage::new().await;
        for calls in stopping_points() {
            let queue = stage.new_queue();
            fixtures(&stage.bench, &queue).await;
            let key = |name| format!("leaseq:{{{}}}:{name}", queue.name());
            let mut hurt = ::redis::pipe();
            hurt.del(key("lines")).hset(key("places"), "b", "5 none").hdel(key("places"), "a");
            hurt.del(key("open")).hset(key("key_limits"), "z", "many");
            hurt.query::<()>(&mut stage.raw).unwrap();
            fail_after(&mut stage.raw, script, calls);
            let answer = queue.deep_clean().await;
            let failed = has_failed(&mut stage.raw, script);
            assert_eq!(answer.is_err(), failed, "{script} {calls}: {answer:?}");
            queue.deep_clean().await.unwrap();
            assert!(queue.deep_clean().await.unwrap().is_sound());
            let mut came = Came::default();
            drain(&stage.bench, &queue, &mut came).await;
            assert!(IDS.iter().all(|id| came.ids.contains(*id)), "{:?}", came.ids);
            if !failed {
                break;
            }
        }
    }
}

/// Without a clean: what ends a lease opens the key first.
#[tokio::test]
async fn the_end_of_a_lease_that_stops_blocks_no_key() {
    for script in
        ["complete extended", "release extended", "fail extended", "remove", "purge", "light_clean"]
    {
        let mut stage = Stage::new().await;
        for calls in stopping_points() {
            let queue = stage.new_queue();
            queue.add_items(["a1", "a2"].map(keyed)).await.unwrap();
            let leases = lease(&queue, secs(60)).await;
            assert_eq!(leases.len(), 1);
            if script == "light_clean" {
                stage.bench.advance(secs(61));
            }
            let act = async || match script {
                "complete extended" => queue.complete(&leases[0]).await.map(drop),
                "release extended" => queue.release(&leases[0], secs(3600)).await,
                "fail extended" => queue.fail(&leases[0], "no", secs(3600)).await.map(drop),
                "remove" => queue.remove("a1").await.map(drop),
                "purge" => queue.purge(State::Leased).await.map(drop),
                _ => queue.light_clean().await.map(drop),
            };
            fail_after(&mut stage.raw, script, calls);
            let answer = act().await;
            let failed = has_failed(&mut stage.raw, script);
            assert_eq!(answer.is_err(), failed, "{script} {calls}: {answer:?}");
            // The caller asks again; it may hear that the lease is lost.
            drop(act().await);
            stage.bench.advance(secs(61));
            let came = work(&stage.bench, &queue, 3).await;
            assert!(came.ids.contains("a2"), "{script} stopped after call {calls} blocks the key");
            if !failed {
                break;
            }
        }
    }
}
