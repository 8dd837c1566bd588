//! Checks and deep clean under full load: no false findings, and nothing is lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{LeaseOptions, Revision, State, WorkQueue};
use rand::Rng;

use crate::support::*;

const ITEMS: usize = 6_000;
const BATCH: usize = 50;

#[derive(Default)]
struct Done {
    /// How often the completion of an id was true.
    completed: Mutex<HashMap<Vec<u8>, u32>>,
    added: AtomicUsize,
    finished: AtomicUsize,
}

async fn produce(queue: WorkQueue, done: Arc<Done>, name: usize) {
    for batch in 0..ITEMS / 3 / BATCH {
        let items = (0..BATCH).map(|i| {
            let mut rng = rand::rng();
            let delay = if rng.random_bool(0.3) { ms(rng.random_range(1..300)) } else { ms(0) };
            let id = format!("{name}/{}", batch * BATCH + i);
            item(id).priority(rng.random_range(0..4)).delay(delay)
        });
        let items: Vec<_> = items.collect();
        assert!(queue.add_items(items).await.unwrap().iter().all(|added| *added));
        done.added.fetch_add(BATCH, Ordering::Relaxed);
        // The cleaner's and the workers' turn.
        while done.added.load(Ordering::Relaxed) > done.finished.load(Ordering::Relaxed) + 3_000 {
            tokio::time::sleep(ms(1)).await;
        }
    }
}

async fn work(queue: WorkQueue, done: Arc<Done>) {
    while done.finished.load(Ordering::Relaxed) < ITEMS {
        // Some leases are so short that they expire.
        let short = rand::rng().random_bool(0.1);
        let duration = if short { ms(2) } else { secs(60) };
        let options = LeaseOptions::new(duration).wait(ms(20));
        let count = rand::rng().random_range(1..40);
        let leases = queue.lease_many(count, options).await.unwrap();
        for lease in leases {
            let what = rand::rng().random_range(0..100);
            let delay = if what % 2 == 0 { Duration::ZERO } else { ms(30) };
            let ended = match what {
                0..15 => queue.fail(&lease, "x", delay).await.map(drop),
                15..30 => queue.release(&lease, delay).await,
                30..35 => queue.extend(&lease, secs(60)).await.map(drop),
                _ => Ok(()),
            };
            if let Err(error) = ended {
                assert_eq!(error.kind(), leaseq::ErrorKind::LeaseLost);
            }
            // A stale handle may be the one, too.
            if what >= 30 && queue.complete(&lease).await.unwrap() {
                let mut completed = done.completed.lock().unwrap();
                *completed.entry(lease.id().to_vec()).or_default() += 1;
                done.finished.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Buries and revises what waits, as somebody saw it or whatever it is by now, and requeues what is dead.
async fn operate(queue: WorkQueue, done: Arc<Done>) -> usize {
    let mut changed = 0;
    while done.finished.load(Ordering::Relaxed) < ITEMS {
        let state = if rand::rng().random_bool(0.7) { State::Ready } else { State::Delayed };
        let seen = queue.list(state, None, 30).await.unwrap().items;
        let some = rand::rng().random_range(0..=seen.len());
        let ids = seen[some..].iter().map(|info| &info.id);
        let what = rand::rng().random_range(0..4);
        let answers = match what {
            0 => queue.bury(&seen[..some], "x").await.unwrap(),
            1 => queue.bury(ids, "x").await.unwrap(),
            2 => {
                let revise = |info| (info, Revision::new().data("new").priority(2));
                queue.revise_many(seen[..some].iter().map(revise)).await.unwrap()
            }
            _ => queue.revise_many(ids.map(|id| (id, Revision::new().delay(ms(5))))).await.unwrap(),
        };
        changed += answers.iter().filter(|done| **done).count();
        let dead = queue.list(State::Dead, None, 1000).await.unwrap().items;
        queue.requeue(&dead).await.unwrap();
        // The workers' turn.
        tokio::time::sleep(ms(2)).await;
    }
    changed
}

async fn no_false_findings_under_full_load(bench: &Bench) {
    let queues = [bench.queue_in_real_time().await, bench.queue_in_real_time().await];
    let done = Arc::new(Done::default());
    let mut tasks = Vec::new();
    for i in 0..6 {
        tasks.push(tokio::spawn(work(queues[i % 2].clone(), done.clone())));
    }
    for i in 0..3 {
        tasks.push(tokio::spawn(produce(queues[i % 2].clone(), done.clone(), i)));
    }
    let operators = (0..2).map(|i| tokio::spawn(operate(queues[i].clone(), done.clone())));
    let operators: Vec<_> = operators.collect();
    let cleaners = (0..2).map(|i| {
        let (done, cleaner) = (done.clone(), queues[i].clone());
        tokio::spawn(async move {
            let mut cleans = 0;
            while done.finished.load(Ordering::Relaxed) < ITEMS {
                let report = if (i + cleans) % 2 == 0 {
                    cleaner.check().await.unwrap()
                } else {
                    cleaner.deep_clean().await.unwrap()
                };
                assert!(report.is_sound(), "clean {cleans}: {:?}", report.details);
                cleans += 1;
            }
            cleans
        })
    });
    let cleaners: Vec<_> = cleaners.collect();
    for cleaner in cleaners {
        let cleans = tokio::time::timeout(secs(60), cleaner).await.expect("all get done").unwrap();
        assert!(cleans > 10, "only {cleans} cleans ran beside the workers");
    }
    for task in tasks {
        task.await.unwrap();
    }
    for operator in operators {
        assert!(operator.await.unwrap() > 0, "nothing was changed");
    }
    let completed = done.completed.lock().unwrap().clone();
    assert_eq!(completed.len(), ITEMS);
    assert!(completed.values().all(|times| *times == 1), "one true in a generation");
    let counts = queues[0].counts().await.unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.leased, counts.dead), (0, 0, 0, 0));
    assert_eq!(counts.totals.completed, ITEMS as u64);
    assert_sound(&queues[0]).await;
}

on_every_engine!(no_false_findings_under_full_load);
