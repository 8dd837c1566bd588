//! Producers and workers in five queues: chains of ten steps, items that fire for each end, and groups.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::history::{Outcome, Span};
use super::super::load::Stage;
use super::super::recorder::Recorder;
use super::super::rng::SeededRng;
use super::super::worker_pool::{Told, WorkerSlot, ask_in, outcome_of};
use super::history::{End, Fire, History, On, Plan, Seen, result_of};
use crate::conformance::testee::Testee;
use crate::conformance::value::{hex, unhex};
use crate::error::Error;

/// The first one is the queue that faults of slots move.
pub(super) const QUEUES: [&str; 5] = ["q", "q1", "q2", "q3", "q4"];
/// Steps of a chain.
const STEPS: usize = 10;
/// How often an item that fires for each end may be tried.
const ATTEMPTS: u64 = 3;

/// What producers and workers share.
pub(super) struct Load {
    pub(super) recorder: Arc<Recorder>,
    pub(super) stage: tokio::sync::watch::Sender<Stage>,
    pub(super) next: AtomicU64,
    history: Mutex<History>,
    completed: AtomicU64,
    unknown: AtomicU64,
}

impl Load {
    pub(super) fn new(recorder: Arc<Recorder>) -> Self {
        Load {
            recorder,
            stage: tokio::sync::watch::channel(Stage::Load).0,
            next: AtomicU64::new(0),
            history: Mutex::default(),
            completed: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
        }
    }

    pub(super) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    pub(super) fn unknown(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }

    pub(super) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// An item of this name in a random queue, and what its ends fire. Every second item has no id of its own, so that
    /// a second one could be added beside it.
    pub(super) fn planned(&self, name: &str, fires: &[(On, Value)], rng: &mut SeededRng) -> Value {
        let queue = *rng.pick(&QUEUES);
        let named = |item: &Value| item["data"].as_str().and_then(|data| unhex(data).ok());
        let fire = |(on, item): &(On, Value)| {
            let name = named(item).map(|name| String::from_utf8_lossy(&name).into_owned());
            Fire { on: *on, name: name.unwrap_or_default() }
        };
        let fires_of = fires.iter().map(fire).collect();
        let plan = Plan { queue: queue.into(), added: None, limited: false, fires: fires_of };
        self.history().plans.insert(name.into(), plan);
        let id = rng.chance(50).then(|| hex(name.as_bytes()));
        let mut item = json!({ "data": hex(name.as_bytes()), "queue": queue });
        if let Some(id) = id {
            item["id"] = id.into();
        }
        if !fires.is_empty() {
            item["follow_ups"] = follow_ups(fires);
        }
        item
    }

    /// Adds chains and items that fire for each end, until it is stopped.
    pub(super) async fn produce(self: Arc<Self>, slot: Arc<WorkerSlot>, mut rng: SeededRng) {
        while self.stage() == Stage::Load {
            let Some(process) = slot.process().await else { continue };
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let item = match rng.chance(40) {
                true => self.chain(&format!("chain{number}"), &mut rng),
                false => self.fork(&format!("fork{number}"), &mut rng),
            };
            self.add(&process, item).await;
            tokio::time::sleep(rng.ms(0..200)).await;
        }
    }

    /// The first step, with all others behind it.
    fn chain(&self, name: &str, rng: &mut SeededRng) -> Value {
        let last = self.planned(&format!("{name}.{}", STEPS - 1), &[], rng);
        (0..STEPS - 1).rev().fold(last, |next, step| {
            self.planned(&format!("{name}.{step}"), &[(On::Completed, next)], rng)
        })
    }

    /// An item that fires for each end.
    fn fork(&self, name: &str, rng: &mut SeededRng) -> Value {
        let fires = self.each_end(name, rng);
        let mut item = self.planned(name, &fires, rng);
        item["max_attempts"] = ATTEMPTS.into();
        if let Some(plan) = self.history().plans.get_mut(name) {
            plan.limited = true;
        }
        item
    }

    /// One item for each end of what has this name.
    pub(super) fn each_end(&self, name: &str, rng: &mut SeededRng) -> Vec<(On, Value)> {
        let one = |on: On| (on, self.planned(&format!("{name} {}", on.word()), &[], rng));
        [On::Completed, On::Dead, On::Ended].map(one).into()
    }

    async fn add(&self, process: &Testee, mut item: Value) {
        let queue = item["queue"].take();
        let queue = queue.as_str().unwrap_or_default();
        let name = item["data"].as_str().and_then(|data| unhex(data).ok()).unwrap_or_default();
        item["op"] = "add_item".into();
        let outcome = outcome_of(&ask_in(process, &self.recorder, queue, item).await, 0);
        self.unknown.fetch_add(u64::from(outcome == Outcome::Unknown), Ordering::Relaxed);
        if let Some(plan) = self.history().plans.get_mut(&*String::from_utf8_lossy(&name)) {
            plan.added = Some(outcome);
        }
    }

    /// Leases in one queue after the other, and ends what it gets, until it is stopped.
    pub(super) async fn work(
        self: Arc<Self>,
        slot: Arc<WorkerSlot>,
        handle: String,
        mut rng: SeededRng,
    ) {
        while self.stage() != Stage::End {
            let Some(process) = slot.process().await else { continue };
            let queue = *rng.pick(&QUEUES);
            let lease = json!({ "op": "lease_many", "count": rng.number(1..24), "as": handle,
                "duration_ms": rng.pick(&[200, 500, 1_000]), "wait_ms": rng.pick(&[0, 0, 20]) });
            match ask_in(&process, &self.recorder, queue, lease).await {
                Some(Ok(Value::Array(leases))) if !leases.is_empty() => {
                    self.end(&process, queue, &handle, &leases, &mut rng).await;
                }
                Some(Ok(_)) => tokio::time::sleep(rng.ms(0..10)).await,
                _ => tokio::time::sleep(rng.ms(1..50)).await,
            }
        }
    }

    /// Records what was leased, and ends it.
    async fn end(
        &self,
        process: &Testee,
        queue: &str,
        handle: &str,
        leases: &[Value],
        rng: &mut SeededRng,
    ) {
        let mut by_way: BTreeMap<&str, Vec<(String, String, usize)>> = BTreeMap::new();
        for (i, lease) in leases.iter().enumerate() {
            let (name, seen) = match self.read(queue, lease) {
                Ok(seen) => seen,
                Err(error) => return self.recorder.fault(format!("{error}: {lease}")),
            };
            let way = way(&name, rng);
            let mut history = self.history();
            let all = history.seen.entry(name.clone()).or_default();
            all.push(seen);
            let at = all.len() - 1;
            by_way.entry(way).or_default().push((format!("{handle}/{i}"), name, at));
        }
        for (way, leases) in by_way {
            let handles: Value = leases.iter().map(|(handle, ..)| handle.clone()).collect();
            let request = match way {
                "complete" => {
                    let names = leases.iter().map(|(_, name, _)| result_of(name));
                    let results: Value = names.map(|result| hex(result.as_bytes())).collect();
                    json!({ "op": "complete_many", "leases": handles, "results": results })
                }
                "bury" => json!({ "op": "fail_many", "leases": handles, "dead": true }),
                "fail" => json!({ "op": "fail_many", "leases": handles }),
                _ => continue,
            };
            let began = self.recorder.now();
            let told = ask_in(process, &self.recorder, queue, request).await;
            let span = Span { began, ended: Some(self.recorder.now()) };
            for (i, (_, name, at)) in leases.iter().enumerate() {
                self.note(&told, i, way, span, name, *at);
            }
        }
    }

    /// Records how one item of a call has ended, if it may have.
    fn note(&self, told: &Told, i: usize, way: &str, span: Span, name: &str, at: usize) {
        let outcome = outcome_of(told, i);
        if !outcome.may_be_done() {
            return;
        }
        self.unknown.fetch_add(u64::from(outcome == Outcome::Unknown), Ordering::Relaxed);
        let state = told.as_ref().and_then(|told| told.as_ref().ok()).map(|all| &all[i]);
        let is_retried = outcome == Outcome::Yes && state.is_some_and(|state| state != "dead");
        let on = match way {
            "complete" => On::Completed,
            _ if is_retried => return,
            _ => On::Dead,
        };
        if on == On::Completed && outcome == Outcome::Yes {
            self.completed.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(seen) = self.history().seen.get_mut(name).and_then(|all| all.get_mut(at)) {
            seen.ends.push(End { span, on, outcome });
        }
    }

    fn read(&self, queue: &str, lease: &Value) -> Result<(String, Seen), Error> {
        let text = |value: &Value| -> Result<String, Error> {
            let bytes = unhex(value.as_str().ok_or("a lease that cannot be read")?)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let trigger = &lease["trigger"];
        let trigger = match trigger {
            Value::Null => None,
            of if of["result"].is_null() => Some((text(&of["id"])?, None)),
            of => Some((text(&of["id"])?, Some(text(&of["result"])?))),
        };
        let seen = Seen {
            queue: queue.into(),
            id: text(&lease["id"])?,
            generation: lease["generation"].to_string(),
            at: self.recorder.now(),
            trigger,
            ends: Vec::new(),
        };
        Ok((text(&lease["data"])?, seen))
    }
}

/// As a list of requests has them.
pub(super) fn follow_ups(fires: &[(On, Value)]) -> Value {
    let fire =
        |(on, item): &(On, Value)| json!({ "on": on.word(), "item": item, "with_trigger": true });
    fires.iter().map(fire).collect()
}

/// What a holder does with the item of this name.
fn way(name: &str, rng: &mut SeededRng) -> &'static str {
    let is_fork = name.starts_with("fork") && !name.contains(' ');
    match rng.number(0..100) {
        _ if name.ends_with('!') => "bury",
        0..3 => "expire",
        3..18 if is_fork => "bury",
        18..35 if is_fork => "fail",
        _ => "complete",
    }
}

/// How long whoever makes groups waits for another process.
pub(super) const AGAIN: Duration = Duration::from_millis(20);
