//! The load: the calls of producers and workers, and the record of their outcomes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::history::{Add, Outcome, Span, Time};
use super::item::{NewItem, new_item};
use super::recorder::Recorder;
use super::rng::SeededRng;
use super::worker_pool::{Told, WorkerSlot, ask, outcome_of};
use crate::conformance::testee::Testee;

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

/// Which rates there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    pub(super) of_queue: bool,
    pub(super) of_keys: bool,
}

/// What producers and workers share.
pub(super) struct Load {
    pub(super) recorder: Arc<Recorder>,
    pub(super) stage: watch::Sender<Stage>,
    pub(super) mix: Mix,
    /// After so many completions calls use what makes a queue extended; `None`: the queue stays plain.
    extends_after: Option<u64>,
    /// Which rates operators set, once the queue is extended.
    rates: Rates,
    /// The limit of keys, once the queue is extended; 0: items have none.
    key_limit: u64,
    next_add: AtomicU64,
    next_data: AtomicU64,
    backlog: AtomicI64,
    completed: AtomicU64,
}

impl Load {
    pub(super) fn new(
        recorder: Arc<Recorder>,
        mix: Mix,
        extends_after: Option<u64>,
        rates: Rates,
        key_limit: u64,
    ) -> Self {
        Load {
            recorder,
            stage: watch::channel(Stage::Load).0,
            mix,
            extends_after,
            rates,
            key_limit,
            next_add: AtomicU64::new(0),
            next_data: AtomicU64::new(0),
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
        self.set_backlog(0);
    }

    /// As the queue counts it: items also end without a completion, or die.
    pub(super) fn set_backlog(&self, items: i64) {
        self.backlog.store(items, Ordering::Relaxed);
    }

    /// Whether calls may use what makes a queue extended.
    pub(super) fn is_extended(&self) -> bool {
        self.extends_after.is_some_and(|completions| self.completed() >= completions)
    }

    /// Whether operators set a rate now.
    pub(super) fn is_rated(&self) -> bool {
        self.rates.of_queue && self.is_extended()
    }

    /// Whether operators set a rate of keys now.
    pub(super) fn are_keys_rated(&self) -> bool {
        self.rates.of_keys && self.is_extended()
    }

    /// The limit of keys that operators set now.
    pub(super) fn key_limit(&self) -> Option<u64> {
        (self.key_limit > 0 && self.is_extended()).then_some(self.key_limit)
    }

    /// How many items producers have made so far.
    pub(super) fn made(&self) -> u64 {
        self.next_add.load(Ordering::Relaxed)
    }

    /// A number for data that is not that of an item, and for results: each is used once.
    pub(super) fn next_data(&self) -> u64 {
        self.next_data.fetch_add(1, Ordering::Relaxed)
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
            let items: Vec<NewItem> = (0..count).map(|_| self.item(&mut rng)).collect();
            let failed = self.add(&process, &worker_slot.name, items).await;
            rest(&mut rng, failed).await;
        }
    }

    /// Adds these items, alone or as a batch; returns whether the call failed.
    pub(super) async fn add(&self, process: &Testee, who: &str, items: Vec<NewItem>) -> bool {
        let request = if let [item] = &items[..] {
            let mut request = item.request.clone();
            request["op"] = "add_item".into();
            request
        } else {
            let items: Value = items.iter().map(|item| item.request.clone()).collect();
            json!({ "op": "add_items", "items": items })
        };
        let began = self.recorder.now();
        let told = ask(process, &self.recorder, request).await;
        let (span, failed) = self.span(began, &told);
        for (i, NewItem { id, data, options, .. }) in items.into_iter().enumerate() {
            let outcome = outcome_of(&told, i);
            if outcome == Outcome::Yes {
                self.backlog.fetch_add(1, Ordering::Relaxed);
            }
            let who = who.to_owned();
            self.recorder.history().adds.push(Add { who, span, id, data, outcome, options });
        }
        failed
    }

    pub(super) fn item(&self, rng: &mut SeededRng) -> NewItem {
        let number = self.next_add.fetch_add(1, Ordering::Relaxed);
        new_item(number, self.is_extended(), self.key_limit().is_some(), rng)
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
