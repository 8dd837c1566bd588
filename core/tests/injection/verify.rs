//! What must hold after an operation was stopped half-way.

use std::collections::BTreeSet;

use ::redis::Connection;
use leaseq::{ErrorKind, Lease, LeaseOptions, Result, SettingsChange, State, WorkQueue};

use crate::events::verify_events;
use crate::fixtures::{ALL, Leases, add_fixtures};
use crate::support::redis::{Redis, expect_waiters, fail_after, has_failed};
use crate::support::*;

/// After which of its calls a script is stopped, one after the other: the first one, then every third, from a random one on. All
/// in long tests (`LEASEQ_STRESS`).
pub(crate) fn stopping_points() -> impl Iterator<Item = u32> {
    let step = if std::env::var_os("LEASEQ_STRESS").is_some() { 1 } else { 3 };
    let second = rand::random_range(2..2 + step);
    std::iter::once(1).chain((second..).step_by(step as usize))
}

pub(crate) struct Stage {
    pub(crate) bench: Bench,
    pub(crate) raw: Connection,
    /// What is done to a queue besides.
    pub(crate) hurt: Option<fn(&mut Connection, &str)>,
    /// Unique keys that must be free in the end.
    pub(crate) keys: &'static [&'static str],
    /// Whether the queues keep their changes, which must be right in the end.
    pub(crate) events: bool,
    client: leaseq::Client,
    queues: u32,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let redis = Redis::start_failing();
        let raw = redis.server().connection();
        let bench = Bench::new(redis);
        let client = bench.client().await;
        Stage { bench, raw, hurt: None, keys: &[], events: false, client, queues: 0 }
    }

    pub(crate) fn new_queue(&mut self) -> WorkQueue {
        self.queues += 1;
        self.client.queue(&format!("q{}", self.queues)).unwrap()
    }

    /// Stops the act in a furnished queue after each call of the script. What the act ends may
    /// be gone; nothing else may.
    pub(crate) async fn furnished(
        &mut self,
        script: &str,
        ends: &[&str],
        act: impl AsyncFn(&WorkQueue, &Leases) -> Result<()>,
    ) {
        self.acts(script, ends, async |bench, queue| add_fixtures(bench, queue).await, act).await;
    }

    /// The same with something else than the usual furniture.
    pub(crate) async fn acts(
        &mut self,
        script: &str,
        ends: &[&str],
        prepare: impl AsyncFn(&Bench, &WorkQueue) -> Leases,
        act: impl AsyncFn(&WorkQueue, &Leases) -> Result<()>,
    ) {
        for calls in stopping_points() {
            let queue = self.new_queue();
            if self.events {
                let most = SettingsChange::new().events(1_000_000);
                queue.configure(most).await.unwrap();
            }
            let leases = prepare(&self.bench, &queue).await;
            let there: Vec<_> = seen(&queue).await.1.into_iter().map(|info| info.id).collect();
            let acknowledged = ALL.into_iter().filter(|id| there.iter().any(|other| other == id));
            if let Some(hurt) = self.hurt {
                hurt(&mut self.raw, queue.name());
            }
            expect_waiters(&mut self.raw, queue.name());
            fail_after(&mut self.raw, script, calls);
            let answer = act(&queue, &leases).await;
            let failed = has_failed(&mut self.raw, script);
            eprintln!("{script} stopped after call {calls}: {answer:?}");
            match answer {
                Ok(()) => assert!(!failed, "an error must be told"),
                Err(error) => assert!(failed && error.kind() == ErrorKind::Internal, "{error}"),
            }
            let must = acknowledged.filter(|id| !ends.contains(id)).collect();
            verify(&self.bench, &queue, &leases, must).await;
            if self.events {
                verify_events(&queue).await;
            }
            let keys = self.keys.iter().map(|key| item(key).unique(key));
            assert!(
                queue.add_items(keys).await.unwrap().iter().all(|added| *added),
                "a key is taken"
            );
            if !failed {
                // The first calls read the time and the lane.
                assert!(calls > 2, "{script} did nothing");
                return;
            }
        }
    }
}

async fn verify(bench: &Bench, queue: &WorkQueue, held: &Leases, must: BTreeSet<&str>) {
    queue.deep_clean().await.unwrap();
    let again = queue.deep_clean().await.unwrap();
    assert!(again.is_sound(), "a second deep clean finds {:?}", again.details);
    assert_sound(queue).await;
    // Each unique key of an item that has not ended is its own.
    let ended = |info: &leaseq::ItemInfo| {
        let passed = info.expires_at.is_some_and(|at| since_1970(at) <= bench.now());
        info.state == State::Dead || (passed && info.state != State::Leased)
    };
    let live = seen(queue).await.1.into_iter().filter(|info| !ended(info));
    let mut keys: Vec<_> = live.filter_map(|info| info.unique).collect();
    for key in &keys {
        let probe = item("probe").unique(key.clone());
        assert!(!queue.add_item(probe).await.unwrap(), "{key:?} is free");
    }
    keys.sort();
    assert!(keys.windows(2).all(|two| two[0] != two[1]), "two have one key: {keys:?}");

    // A lease that nobody meant to end goes on.
    let kept = held.get("kept");
    if let Some(kept) = kept {
        queue.extend(kept, secs(1800)).await.unwrap();
    }
    queue.resume().await.unwrap();
    let early = queue.lease_many(1000, at_once()).await.unwrap();
    assert!(kept.is_none() || early.iter().all(|lease| lease.id() != b"kept"), "two leases");
    assert_distinct(&early);
    for id in ids(&early) {
        for before in [held.get(&id), held.get(&format!("stale:{id}"))].into_iter().flatten() {
            assert!(is_lost(queue.extend(before, secs(1)).await), "two hold {id}");
        }
    }

    // All that is acknowledged comes, once.
    bench.advance(secs(3600));
    queue.light_clean().await.unwrap();
    let dead = list_all(queue, State::Dead, 1000).await;
    queue.requeue(dead.iter().map(|info| &info.id)).await.unwrap();
    let day = LeaseOptions::new(secs(86_400)).wait(ms(0));
    let leases = queue.lease_many(1000, day.clone()).await.unwrap();
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert_distinct(&leases);
    let came: BTreeSet<&str> = leases.iter().map(|lease| lease.id_str().unwrap()).collect();
    assert!(must.is_subset(&came), "lost: {:?}", must.difference(&came));

    // It can be completed, once, and the id can be added again.
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| !done));
    // What is retained is gone.
    bench.advance(secs(3600));
    let (counts, left) = seen(queue).await;
    assert_eq!((counts.ready + counts.delayed + counts.leased + counts.dead, left.len()), (0, 0));
    let ids = ALL.into_iter().chain(came).collect::<BTreeSet<_>>();
    assert!(queue.add_items(ids.iter().map(item)).await.unwrap().iter().all(|added| *added));
    let leases = queue.lease_many(1000, day).await.unwrap();
    assert_eq!(leases.len(), ids.len());
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    assert_sound(queue).await;
}

fn assert_distinct(leases: &[Lease]) {
    let distinct: BTreeSet<&[u8]> = leases.iter().map(Lease::id).collect();
    assert_eq!(distinct.len(), leases.len(), "two leases of an item at once");
}
