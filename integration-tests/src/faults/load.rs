//! The load: the calls of producers and workers, and the record of their outcomes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::history::{Add, Id, Outcome, Span, Time};
use super::recorder::Recorder;
use super::rng::{SeededRng, digest};
use super::worker_pool::{Told, WorkerSlot, ask, outcome_of};
use crate::conformance::value::hex;

/// The phases of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Load,
    /// Nothing is added any more; workers drain the queue.
    Drain,
    End,
}

/// The parameters of the load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mix {
    /// Lengths of leases to choose from, in ms.
    pub(super) leases_ms: &'static [u64],
    /// How many of 100 leases are kept alive; leases below 300 ms never are.
    pub(super) keep_alive: u32,
}

pub(super) const MIX: Mix = Mix { leases_ms: &[40, 150, 400, 1_000], keep_alive: 15 };

/// Enough items to keep workers busy, few enough to drain soon.
const BACKLOG: i64 = 300;

/// What producers and workers share.
pub(super) struct Load {
    pub(super) recorder: Arc<Recorder>,
    pub(super) stage: watch::Sender<Stage>,
    pub(super) mix: Mix,
    next_add: AtomicU64,
    backlog: AtomicI64,
    completed: AtomicU64,
}

impl Load {
    pub(super) fn new(recorder: Arc<Recorder>, mix: Mix) -> Self {
        Load {
            recorder,
            stage: watch::channel(Stage::Load).0,
            mix,
            next_add: AtomicU64::new(0),
            backlog: AtomicI64::new(0),
            completed: AtomicU64::new(0),
        }
    }

    pub(super) fn note_completed(&self) {
        self.backlog.fetch_sub(1, Ordering::Relaxed);
        self.completed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    /// For a server that has lost items: missing items cannot be completed.
    pub(super) fn forget_backlog(&self) {
        self.backlog.store(0, Ordering::Relaxed);
    }

    pub(super) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Adds items until it is stopped.
    pub(super) async fn produce(self: Arc<Self>, worker_slot: Arc<WorkerSlot>, mut rng: SeededRng) {
        while self.stage() == Stage::Load {
            if self.backlog.load(Ordering::Relaxed) > BACKLOG {
                tokio::time::sleep(rng.ms(1..20)).await;
                continue;
            }
            let Some(process) = worker_slot.process().await else { continue };
            let many = rng.chance(40);
            let count = if many { rng.number(2..20) } else { 1 };
            let items: Vec<(Id, u64, Value)> = (0..count).map(|_| self.item(&mut rng)).collect();
            let request = if many {
                json!({ "op": "add_items", "items": items.iter().map(|item| item.2.clone()).collect::<Value>() })
            } else {
                let mut request = items[0].2.clone();
                request["op"] = "add_item".into();
                request
            };
            let began = self.recorder.now();
            let told = ask(&process, &self.recorder, request).await;
            let (span, failed) = self.span(began, &told);
            for (i, (id, data, _)) in items.into_iter().enumerate() {
                let outcome = outcome_of(&told, i);
                if outcome == Outcome::Yes {
                    self.backlog.fetch_add(1, Ordering::Relaxed);
                }
                let who = worker_slot.name.clone();
                self.recorder.history().adds.push(Add { who, span, id, data, outcome });
            }
            rest(&mut rng, failed).await;
        }
    }

    /// A new item; sometimes with an id that was used before.
    fn item(&self, rng: &mut SeededRng) -> (Id, u64, Value) {
        let number = self.next_add.fetch_add(1, Ordering::Relaxed);
        let again = number > 20 && rng.chance(10);
        let id = if again { number - rng.number(1..20) } else { number };
        let id = format!("item-{id}");
        let size = *rng.pick(&[0, 0, 0, 50, 1_500, 20_000]);
        let data = format!("{number}:{}", "x".repeat(size)).into_bytes();
        let mut item = json!({ "id": hex(id.as_bytes()), "data": hex(&data) });
        if rng.chance(20) {
            item["priority"] = rng.number(0..4).into();
        }
        if rng.chance(10) {
            item["delay_ms"] = rng.number(1..80).into();
        }
        if rng.chance(5) {
            item["max_attempts"] = rng.number(1..4).into();
        }
        (id, digest(&data), item)
    }

    /// The span of a call, and whether it failed. A killed process ends no call.
    pub(super) fn span(&self, began: Time, told: &Told) -> (Span, bool) {
        let ended = told.is_some().then(|| self.recorder.now());
        (Span { began, ended }, !matches!(told, Some(Ok(_))))
    }
}

/// The pause of a process whose calls are refused.
pub(super) async fn rest(rng: &mut SeededRng, failed: bool) {
    if failed {
        tokio::time::sleep(rng.ms(2..15)).await;
    } else if rng.chance(20) {
        tokio::time::sleep(rng.ms(0..4)).await;
    }
}
