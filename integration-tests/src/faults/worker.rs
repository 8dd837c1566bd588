//! One worker process: it leases and uses its leases. The outcomes of leasing are recorded here.

use serde_json::{Value, json};

use super::history::{Ask, How, Lease, Outcome, Span, Time};
use super::load::{Load, Stage};
use super::operate::Operator;
use super::rng::{SeededRng, digest};
use super::worker_pool::{Told, WorkerSlot, ask, outcome_of};
use crate::conformance::testee::{Failure, Testee};
use crate::conformance::value::unhex;

/// The limit of keep-alive: ends the lease of an unsettled handle that the language frees late.
const KEEP_ALIVE_LIMIT_MS: u64 = 3_000;

/// A lease that a process has.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// Its index in the history.
    pub(super) lease: usize,
    pub(super) handle: String,
    keep_alive: bool,
    duration_ms: u64,
}

/// One process at work.
pub(super) struct Worker<'a> {
    pub(super) load: &'a Load,
    pub(super) worker_slot: &'a WorkerSlot,
    pub(super) process: &'a Testee,
}

impl Worker<'_> {
    /// `None` if the call failed.
    pub(super) async fn lease(&self, handle: &str, rng: &mut SeededRng) -> Option<Vec<Held>> {
        let drains = self.load.stage() == Stage::Drain;
        let duration_ms = if drains { 2_000 } else { *rng.pick(self.load.mix.leases_ms) };
        let keep_alive = duration_ms >= 300 && !drains && rng.chance(self.load.mix.keep_alive);
        let many = rng.chance(50).then(|| rng.number(2..12));
        let wait_ms = if drains { 50 } else { *rng.pick(&[0, 30, 300]) };
        let request = json!({
            "op": if many.is_some() { "lease_many" } else { "lease" },
            "count": many,
            "duration_ms": duration_ms,
            "wait_ms": wait_ms,
            "keep_alive": keep_alive,
            "keep_alive_limit_ms": keep_alive.then_some(KEEP_ALIVE_LIMIT_MS),
            "as": handle,
        });
        self.lease_as(request, many, handle).await
    }

    /// As this request says.
    pub(super) async fn lease_as(
        &self,
        request: Value,
        many: Option<u64>,
        handle: &str,
    ) -> Option<Vec<Held>> {
        let recorder = &self.load.recorder;
        let duration_ms = request["duration_ms"].as_u64().unwrap_or_default();
        let keep_alive = request["keep_alive"].as_bool().unwrap_or_default();
        let began = recorder.now();
        let told = ask(self.process, recorder, request).await;
        self.note_leases(told, began, duration_ms, keep_alive, many, handle)
    }

    /// Records the outcome of a lease call; `None` if the call failed.
    pub(super) fn note_leases(
        &self,
        told: Told,
        began: Time,
        duration_ms: u64,
        keep_alive: bool,
        many: Option<u64>,
        handle: &str,
    ) -> Option<Vec<Held>> {
        let recorder = &self.load.recorder;
        let (span, failed) = self.load.span(began, &told);
        let who = self.worker_slot.name.clone();
        let leases = match &told {
            Some(Ok(Value::Array(leases))) => leases.as_slice(),
            Some(Ok(one)) if !one.is_null() => std::slice::from_ref(one),
            _ => &[],
        };
        // Leases that arrive too late for a call are released, or expire before that. A call that took longer
        // than its leases may have received expired ones and asked again, any number of times.
        let took = span.ended.map_or(Time::MAX, |ended| ended.saturating_sub(began));
        let asked_once = took < Time::from_millis(duration_ms);
        let told_of = if asked_once { leases.len() as u64 } else { 0 };
        let most = many.unwrap_or(1).saturating_sub(told_of);
        if most > 0 && !(asked_once && outcome_of(&told, 0) == Outcome::NotDone) {
            recorder.history().asks.push(Ask { span, most });
        }
        if failed {
            return None;
        }
        let mut held = Vec::new();
        for (i, told) in leases.iter().enumerate() {
            let handle = if many.is_some() { format!("{handle}/{i}") } else { handle.to_owned() };
            let Some(lease) = read_lease(told, &who, span, duration_ms, keep_alive) else {
                recorder.fault(format!("{who} was given a lease that cannot be read: {told}"));
                continue;
            };
            let mut history = recorder.history();
            history.leases.push(lease);
            held.push(Held { lease: history.leases.len() - 1, handle, keep_alive, duration_ms });
        }
        Some(held)
    }

    /// Completes these and leases others, in one call; `None` if the call failed.
    pub(super) async fn complete_and_lease(
        &self,
        held: &[Held],
        handle: &str,
        rng: &mut SeededRng,
    ) -> Option<Vec<Held>> {
        let recorder = &self.load.recorder;
        let (duration_ms, count) = (*rng.pick(self.load.mix.leases_ms), rng.number(1..8));
        let mut request = json!({
            "op": "complete_and_lease",
            "leases": held.iter().map(|one| one.handle.clone()).collect::<Vec<_>>(),
            "count": count,
            "duration_ms": duration_ms,
            "wait_ms": rng.pick(&[0, 0, 50]),
            "as": handle,
        });
        let kept = self.keep(&mut request, held.len(), rng);
        let began = recorder.now();
        let told = ask(self.process, recorder, request).await;
        let part = |name: &str| -> Told {
            told.clone().map(|told| told.map(|both| both.get(name).cloned().unwrap_or_default()))
        };
        let leases: Vec<_> = held.iter().map(|one| one.lease).collect();
        // If the completions were executed before, the error is about the lease half. Only handles know it.
        let completed = match part("completed") {
            Some(Err(failure)) => Some(Err(Failure { unknown: true, ..failure })),
            told => told,
        };
        self.note(completed, began, &leases, How::Complete, true, &kept);
        self.note_leases(part("leases"), began, duration_ms, false, Some(count), handle)
    }

    /// A random choice of what workers do, including mistakes.
    pub(super) async fn use_leases(
        &self,
        held: &[Held],
        old: &[(usize, String)],
        rng: &mut SeededRng,
    ) {
        let Some(first) = held.first() else { return };
        let longest = if rng.chance(10) { first.duration_ms + 30 } else { 4 };
        tokio::time::sleep(rng.ms(0..longest + 1)).await;
        let kept_alive = first.keep_alive;
        if kept_alive {
            for one in held {
                self.one(one.lease, &one.handle, How::Look, rng).await;
            }
        }
        let changed = rng.chance(8);
        if changed {
            let (load, who, process) = (self.load, &*self.worker_slot.name, self.process);
            let id = load.recorder.history().leases[rng.pick(held).lease].id.clone();
            Operator { load, who, process }.change_leased(id, rng).await;
        }
        // What was changed does not only end with a completion.
        let most = if changed { 50 } else { 100 };
        match rng.number(0..most) {
            0..=6 => self.settle(held, How::Release, rng).await,
            7..=11 => self.settle(held, How::Fail, rng).await,
            12..=13 => self.settle(held, How::FailDead, rng).await,
            14..=20 => {
                self.settle(held, How::Extend, rng).await;
                self.settle(held, How::Complete, rng).await;
            }
            21..=25 => {
                self.settle(held, How::Complete, rng).await;
                self.settle(held, How::Complete, rng).await;
            }
            26..=30 => self.settle(held, How::CompleteStrict, rng).await,
            // A kept lease ends with its handle, which may be freed late.
            31..=34 if !kept_alive => {}
            _ => self.settle(held, How::Complete, rng).await,
        }
        // Earlier handles, which may be stale by now.
        if !old.is_empty() && rng.chance(15) {
            let (lease, handle) = rng.pick(old).clone();
            let how = *rng.pick(&[
                How::Complete,
                How::CompleteStrict,
                How::Extend,
                How::Release,
                How::Fail,
                How::FailDead,
            ]);
            self.one(lease, &handle, how, rng).await;
        }
    }
}

fn read_lease(
    told: &Value,
    who: &str,
    span: Span,
    duration_ms: u64,
    keep_alive: bool,
) -> Option<Lease> {
    let number = |name: &str| told[name].as_u64();
    let bytes = |name: &str| unhex(told[name].as_str()?).ok();
    Some(Lease {
        who: who.to_owned(),
        span,
        id: String::from_utf8(bytes("id")?).ok()?,
        data: digest(&bytes("data")?),
        generation: number("generation")?,
        attempt: number("attempt")?,
        failures: number("failures")?,
        expiries: number("expiries")?,
        duration_ms,
        deadline_ms: number("deadline_ms")?,
        keep_alive,
    })
}
