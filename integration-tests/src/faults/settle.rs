//! What workers do with their leases, and the record of the outcomes.

use serde_json::{Value, json};

use super::history::{How, Kept, Outcome, Settle, Time};
use super::rng::{SeededRng, digest};
use super::worker::{Held, Worker};
use super::worker_pool::{Told, ask, outcome_of};
use crate::conformance::value::hex;

impl Worker<'_> {
    /// Settles all of them: in one call, or each in its own.
    pub(super) async fn settle(&self, held: &[Held], how: How, rng: &mut SeededRng) {
        if held.len() < 2 || rng.chance(20) {
            for one in held {
                self.one(one.lease, &one.handle, how, rng).await;
            }
            return;
        }
        let mut request = words(how, true, rng);
        request["leases"] = held.iter().map(|one| one.handle.clone()).collect();
        let leases = held.iter().map(|one| one.lease).collect::<Vec<_>>();
        self.record(request, &leases, how, rng).await;
    }

    pub(super) async fn one(&self, lease: usize, handle: &str, how: How, rng: &mut SeededRng) {
        let mut request = words(how, false, rng);
        request["lease"] = handle.into();
        self.record(request, &[lease], how, rng).await;
    }

    async fn record(&self, mut request: Value, leases: &[usize], how: How, rng: &mut SeededRng) {
        let many = request.get("leases").is_some();
        let kept = match how.completes() {
            true => self.keep(&mut request, leases.len(), rng),
            false => Vec::new(),
        };
        let began = self.load.recorder.now();
        let told = ask(self.process, &self.load.recorder, request).await;
        self.note(told, began, leases, how, many, &kept);
    }

    /// Sometimes asks that results are kept, or that the items are retained, in a call that completes so many.
    /// Returns what it asks for.
    pub(super) fn keep(&self, request: &mut Value, count: usize, rng: &mut SeededRng) -> Vec<Kept> {
        let mut kept = vec![Kept::default(); count];
        if !self.load.is_extended() {
            return kept;
        }
        if rng.chance(25) {
            let results: Vec<_> =
                (0..count).map(|_| format!("result {}", self.load.next_data())).collect();
            let mut texts: Vec<Value> =
                results.iter().map(|result| hex(result.as_bytes()).into()).collect();
            for (kept, result) in kept.iter_mut().zip(&results) {
                kept.result = Some(digest(result.as_bytes()));
            }
            if request.get("leases").is_none() {
                request["result"] = texts[0].take();
            } else {
                if count > 1 && rng.chance(30) {
                    (texts[0], kept[0].result) = (Value::Null, None);
                }
                request["results"] = texts.into();
            }
        }
        if rng.chance(8) {
            let retain_ms = *rng.pick(&[0, 50, 700, 3_600_000]);
            request["retain_ms"] = retain_ms.into();
            kept.iter_mut().for_each(|kept| kept.retain_ms = Some(retain_ms));
        }
        kept
    }

    /// Records the outcome of a call.
    pub(super) fn note(
        &self,
        told: Told,
        began: Time,
        leases: &[usize],
        how: How,
        many: bool,
        kept: &[Kept],
    ) {
        let recorder = &self.load.recorder;
        let (span, _) = self.load.span(began, &told);
        if let Some(Ok(Value::Array(answers))) = &told
            && answers.len() != leases.len()
        {
            recorder.fault(format!("{} answers for {} leases", answers.len(), leases.len()));
        }
        for (i, lease) in leases.iter().enumerate() {
            let mut outcome = outcome_of(&told, i);
            let value = told.as_ref().and_then(|told| told.as_ref().ok());
            let value = value.and_then(|value| if many { value.get(i) } else { Some(value) });
            let kept = kept.get(i).copied().unwrap_or_default();
            let (mut deadline_ms, mut state) = (None, None);
            match how {
                How::Extend => deadline_ms = value.and_then(Value::as_u64),
                How::Fail | How::FailDead => {
                    state = value.and_then(Value::as_str).map(str::to_owned);
                }
                How::Look if outcome == Outcome::Yes => {
                    deadline_ms = value.and_then(|value| value["deadline_ms"].as_u64());
                    if value.is_some_and(|value| value["lost"] == true) {
                        (outcome, deadline_ms) = (Outcome::No, None);
                    }
                }
                _ => {}
            }
            if how.completes() && outcome == Outcome::Yes {
                self.load.note_completed();
            }
            let (who, lease) = (self.worker_slot.name.clone(), *lease);
            let said = match &told {
                Some(Err(failure)) => Some(format!("{}: {}", failure.kind, failure.message)),
                _ => None,
            };
            let settle = Settle { who, span, lease, how, outcome, deadline_ms, state, kept, said };
            recorder.history().settles.push(settle);
        }
    }
}

fn words(how: How, many: bool, rng: &mut SeededRng) -> Value {
    let (op, op_many) = match how {
        How::Complete | How::CompleteStrict => ("complete", "complete_many"),
        How::Extend => ("extend", "extend_many"),
        How::Release => ("release", "release_many"),
        How::Fail | How::FailDead => ("fail", "fail_many"),
        How::Look => ("look", "look"),
    };
    let mut request = json!({ "op": if many { op_many } else { op } });
    match how {
        How::CompleteStrict => request["strict"] = true.into(),
        How::FailDead => request["dead"] = true.into(),
        How::Extend => request["duration_ms"] = rng.number(20..600).into(),
        How::Release | How::Fail if rng.chance(30) => {
            request["delay_ms"] = rng.number(1..60).into();
        }
        _ => {}
    }
    request
}
