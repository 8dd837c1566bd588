//! Keys and rates: what many of them cost the server, and how soon a client that waits has what they allow.

use std::time::{Duration, SystemTime};

use leaseq::{Client, Item, Lease, LeaseOptions, Rate, SettingsChange, WorkQueue};

use crate::Scale;
use crate::report::{Bound, Report, Scene};
use crate::server_time::TURN;
use crate::setup::{BATCH, DATA, PLAIN, Setup, at_once, median, percentile};

const LEASE: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3_600);
/// The distance of leases that a rate allows.
const EACH: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    /// Each item has a key of its own.
    Keys,
    /// The same, and each key has a rate.
    Rates,
    /// All have one key, whose places a batch takes: all others are held.
    OneKey,
}

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let batches = scale.deep / 10 / BATCH;
    report.scene(Scene::redis(format!("batches of {BATCH}")));
    for (kind, name) in [
        (Kind::Keys, "a key of its own"),
        (Kind::Rates, "a key of its own, with a rate"),
        (Kind::OneKey, "one key for all, held before"),
    ] {
        let (mut added, mut plains) = (vec![], vec![]);
        for _ in 0..scale.rounds.min(3) {
            let setup = Setup::new().await;
            let [plain, own] = in_turns(&setup, kind, batches).await;
            added.push((own / plain - 1.0) * PLAIN);
            plains.push(plain);
        }
        let what = format!("server time added for an item, {} items: {name}", batches * BATCH);
        let note = format!(
            "where a plain one takes {PLAIN} µs (here {:.2}); INFO commandstats",
            median(plains)
        );
        report.target("12", &what, median(added), "µs", (Bound::AtMost, 3.0), note);
    }
    let setup = Setup::new().await;
    let samples = (scale.samples / 2).max(10);
    for (waiters, of_keys, what) in [
        (1, false, "the rate allows a lease → leased by the only waiting worker, p99"),
        (16, false, "the same, 16 workers wait"),
        (1, true, "the rate of a key allows a lease → leased by a waiting worker, p99"),
    ] {
        let (late, scripts) = waits(&setup, waiters, of_keys, samples).await;
        let note = format!(
            "p50 {:.2} ms; {samples} samples; {scripts:.1} scripts for a lease and its completion",
            percentile(late.clone(), 0.5)
        );
        report.scene(Scene::redis(format!("{waiters} waiting")));
        let p99 = percentile(late, 0.99);
        report.target("6", what, p99, "ms", (Bound::AtMost, 10.0), note);
    }
    let free = places(&setup, samples).await;
    let note = format!("p50 {:.2} ms; {samples} samples", percentile(free.clone(), 0.5));
    report.scene(Scene::redis("1 waiting"));
    let what = "a place of a key is free → leased by a waiting worker, p99";
    report.target("6", what, percentile(free, 0.99), "ms", (Bound::AtMost, 10.0), note);
}

async fn prepare(queue: &WorkQueue, kind: Kind) {
    let change = match kind {
        Kind::Plain | Kind::Keys => return,
        Kind::Rates => SettingsChange::new().key_rate(Rate::new(1, HOUR)),
        Kind::OneKey => SettingsChange::new().key_limit(BATCH as u32),
    };
    queue.configure(change).await.unwrap();
}

async fn add(queue: &WorkQueue, kind: Kind, batch: usize) {
    let item = |n: usize| {
        let item = Item::new([b'x'; DATA]);
        match kind {
            Kind::Plain => item,
            Kind::Keys | Kind::Rates => item.key(format!("{:036}", batch * BATCH + n)),
            Kind::OneKey => item.key([b'k'; 36]),
        }
    };
    queue.add_items((0..BATCH).map(item).collect::<Vec<_>>()).await.unwrap();
}

/// Takes what may be leased, and lets it hold everything else.
async fn hold(queue: &WorkQueue) -> Vec<Lease> {
    let first = queue.lease_many(BATCH, at_once()).await.unwrap();
    while queue.counts().await.unwrap().ready > 0 {
        assert!(queue.lease_many(BATCH, at_once()).await.unwrap().is_empty());
    }
    first
}

/// Microseconds of server time for each item, of plain ones and of this kind.
async fn in_turns(setup: &Setup, kind: Kind, batches: usize) -> [f64; 2] {
    let sides = [(setup.queue("plain"), Kind::Plain), (setup.queue("own"), kind)];
    let mut usec = [0.0; 2];
    for (queue, kind) in &sides {
        prepare(queue, *kind).await;
    }
    for first in (0..batches).step_by(TURN) {
        for ((queue, kind), usec) in sides.iter().zip(&mut usec) {
            setup.reset_stats();
            for batch in first..batches.min(first + TURN) {
                add(queue, *kind, batch).await;
            }
            *usec += setup.usec(&["evalsha", "eval"]);
        }
    }
    let mut leased = [Vec::new(), Vec::new()];
    if kind == Kind::OneKey {
        setup.reset_stats();
        leased[1] = hold(&sides[1].0).await;
        usec[1] += setup.usec(&["evalsha", "eval"]);
    }
    for first in (0..batches).step_by(TURN) {
        for (((queue, _), leased), usec) in sides.iter().zip(&mut leased).zip(&mut usec) {
            setup.reset_stats();
            for _ in first..batches.min(first + TURN) {
                if leased.is_empty() {
                    *leased = queue.lease_many(BATCH, at_once()).await.unwrap();
                }
                assert_eq!(leased.len(), BATCH);
                assert_eq!(queue.complete_many(&*leased).await.unwrap(), [true; BATCH]);
                leased.clear();
            }
            *usec += setup.usec(&["evalsha", "eval"]);
        }
    }
    usec.map(|usec| usec / (batches * BATCH) as f64)
}

/// How late leases arrive that a rate allows each 20 ms, in ms, and how many scripts were sent for each.
async fn waits(setup: &Setup, waiters: usize, of_keys: bool, samples: usize) -> (Vec<f64>, f64) {
    let name = format!("waits-{waiters}-{of_keys}");
    let own = setup.queue(&name);
    let rate = Rate::new(1, EACH).burst(1);
    let change = SettingsChange::new();
    let change = if of_keys { change.key_rate(rate) } else { change.rate(rate) };
    own.configure(change.key_limit(1_000)).await.unwrap();
    let (done, mut told) = tokio::sync::mpsc::unbounded_channel();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..waiters {
        let client = Client::connect(&setup.server.url()).await.unwrap();
        let (queue, done) = (client.queue(&name).unwrap(), done.clone());
        workers.spawn(async move {
            loop {
                let lease = queue.lease(LeaseOptions::new(LEASE)).await.unwrap().unwrap();
                let _ = done.send((lease.deadline() - LEASE, SystemTime::now()));
                assert!(queue.complete(&lease).await.unwrap());
            }
        });
    }
    let item = || Item::new([b'x'; DATA]).key("k");
    own.add_items((0..samples + 20).map(|_| item()).collect::<Vec<_>>()).await.unwrap();
    let (mut late, mut last) = (Vec::new(), None);
    setup.reset_stats();
    while late.len() < samples {
        let (given, at) = told.recv().await.unwrap();
        // The server's clock is this machine's.
        let due = last.replace(given).map(|last: SystemTime| last + EACH);
        late.extend(due.map(|due| at.duration_since(due).map_or(0.0, |by| by.as_secs_f64() * 1e3)));
    }
    let scripts = setup.calls(&["evalsha", "eval"]) / samples as f64;
    workers.shutdown().await;
    (late, scripts)
}

/// How soon a worker that waits has the held item, when the place of its key is free.
async fn places(setup: &Setup, samples: usize) -> Vec<f64> {
    let (own, waits) = (setup.queue("places"), Client::connect(&setup.server.url()).await.unwrap());
    let waits = waits.queue("places").unwrap();
    let items = (0..=samples).map(|_| Item::new([b'x'; DATA]).key("k"));
    own.add_items(items.collect::<Vec<_>>()).await.unwrap();
    let mut lease = own.lease(LeaseOptions::new(LEASE)).await.unwrap().unwrap();
    let mut late = Vec::new();
    for _ in 0..samples {
        let queue = waits.clone();
        let waiting = tokio::spawn(async move {
            let lease = queue.lease(LeaseOptions::new(LEASE)).await.unwrap().unwrap();
            (lease, std::time::Instant::now())
        });
        // Not a synchronisation: it is to wait for a moment.
        tokio::time::sleep(Duration::from_millis(3)).await;
        let begun = std::time::Instant::now();
        assert!(own.complete(&lease).await.unwrap());
        let (next, at) = waiting.await.unwrap();
        late.push(at.saturating_duration_since(begun).as_secs_f64() * 1e3);
        lease = next;
    }
    late
}
