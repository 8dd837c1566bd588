//! The operators: they look at items, and change them by their ids, sometimes only the generation that they have
//! seen.

use std::sync::Arc;

use serde_json::{Value, json};

use super::history::{
    BURST, Change, HIGHEST_KEY_RATE, HIGHEST_RATE, Id, KEY_BURST, LimitSet, Look, Outcome, RateSet,
    Seen, Span, What,
};
use super::item::{has_single_id, id_of, is_single};
use super::load::{Load, Stage, rest};
use super::rng::{SeededRng, digest};
use super::worker_pool::{WorkerSlot, ask, outcome_of};
use crate::conformance::testee::Testee;
use crate::conformance::value::{hex, unhex};

/// How many of the latest items operators know.
const KNOWN: u64 = 250;

/// Works until producers stop.
pub(super) async fn operate(load: Arc<Load>, worker_slot: Arc<WorkerSlot>, mut rng: SeededRng) {
    while load.stage() == Stage::Load {
        tokio::time::sleep(rng.ms(20..100)).await;
        let Some(process) = worker_slot.process().await else { continue };
        let operator = Operator { load: &load, who: &worker_slot.name, process: &process };
        let failed = match rng.number(0..100) {
            0..=9 if load.is_rated() => operator.set_rate(&mut rng).await,
            10..=11 if load.are_keys_rated() => operator.set_key_rate(&mut rng).await,
            10..=14 if let Some(limit) = load.key_limit() => {
                operator.set_key_limits(limit, &mut rng).await
            }
            0..=44 => operator.look_and_change(&mut rng).await,
            45..=54 => operator.change_dead(&mut rng).await,
            55..=59 => operator.count().await,
            _ => {
                let numbers = operator.some(&mut rng);
                let targets = numbers.into_iter().map(|number| Target {
                    id: id_of(number),
                    expects: None,
                    is_one: is_single(number),
                });
                operator.change(targets.collect(), &mut rng).await
            }
        };
        rest(&mut rng, failed.is_none()).await;
    }
}

/// An item to change.
struct Target {
    id: Id,
    /// The look whose generation is expected, and that generation.
    expects: Option<(usize, String)>,
    /// It is known which item a change concerns.
    is_one: bool,
}

pub(super) struct Operator<'a> {
    pub(super) load: &'a Load,
    pub(super) who: &'a str,
    pub(super) process: &'a Testee,
}

impl Operator<'_> {
    /// The numbers of some of the latest items, each once.
    fn some(&self, rng: &mut SeededRng) -> Vec<u64> {
        let made = self.load.made().max(1);
        let count = if rng.chance(50) { 1 } else { rng.number(2..8) };
        let mut numbers: Vec<u64> =
            (0..count).map(|_| rng.number(made.saturating_sub(KNOWN)..made)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Asks; returns the answer and its span. `None` if the call failed.
    async fn read(&self, request: Value) -> Option<(Value, Span)> {
        let began = self.load.recorder.now();
        let told = ask(self.process, &self.load.recorder, request).await;
        let (span, _) = self.load.span(began, &told);
        Some((told?.ok()?, span))
    }

    async fn look_and_change(&self, rng: &mut SeededRng) -> Option<()> {
        let ids: Vec<Id> = self.some(rng).into_iter().map(id_of).collect();
        let (answer, span) = match &ids[..] {
            [id] => self.read(json!({ "op": "get", "id": hex(id.as_bytes()) })).await?,
            _ => self.read(json!({ "op": "get_many", "ids": hexes(&ids) })).await?,
        };
        let answers = match answer {
            Value::Array(answers) => answers,
            one => vec![one],
        };
        let mut targets = Vec::new();
        for (id, answer) in ids.into_iter().zip(&answers) {
            targets.extend(self.note_look(id, answer, span, false));
        }
        if rng.chance(40) || targets.is_empty() {
            return Some(());
        }
        self.change(targets, rng).await
    }

    /// Changes some of the dead items: to requeue them is not the only choice. Sometimes another item has got the unique
    /// key of one before.
    async fn change_dead(&self, rng: &mut SeededRng) -> Option<()> {
        let list = json!({ "op": "list", "state": "dead", "limit": 5, "reverse": rng.chance(70) });
        let (page, span) = self.read(list).await?;
        let mut targets = Vec::new();
        if rng.chance(50) {
            let keys = page["items"].as_array().into_iter().flatten().map(read_item);
            if let Some(key) = keys.flatten().find_map(|seen| seen.key) {
                let items = vec![self.load.item(rng).with_key(key)];
                self.load.add(self.process, self.who, items).await;
            }
        }
        for item in page["items"].as_array().into_iter().flatten() {
            let id = unhex(item["id"].as_str().unwrap_or_default()).ok();
            let Some(id) = id.and_then(|id| String::from_utf8(id).ok()) else { continue };
            targets.extend(self.note_look(id, item, span, true));
        }
        if targets.is_empty() {
            return Some(());
        }
        self.change(targets, rng).await
    }

    /// Sets one of the rates. All have the same burst, so that the checker knows it whichever holds.
    async fn set_rate(&self, rng: &mut SeededRng) -> Option<()> {
        let count = *rng.pick(&[HIGHEST_RATE / 2, HIGHEST_RATE]);
        let rate = json!({ "count": count, "period_ms": 1_000, "burst": BURST });
        self.configure_rate(false, count, json!({ "rate": rate })).await
    }

    /// Sets one of the rates of keys.
    async fn set_key_rate(&self, rng: &mut SeededRng) -> Option<()> {
        let share = *rng.pick(&[1, 2]);
        let (count, burst) = (HIGHEST_KEY_RATE / share, KEY_BURST / share);
        let rate = json!({ "count": count, "period_ms": 1_000, "burst": burst });
        self.configure_rate(true, count, json!({ "key_rate": rate })).await
    }

    async fn configure_rate(&self, of_keys: bool, per_second: u64, change: Value) -> Option<()> {
        let began = self.load.recorder.now();
        let request = json!({ "op": "configure", "change": change });
        let told = ask(self.process, &self.load.recorder, request).await;
        let (span, failed) = self.load.span(began, &told);
        let outcome = outcome_of(&told, 0);
        // The server's time at the last change, at which this rate held.
        let revision = match &told {
            Some(Ok(settings)) => settings["revision"].as_u64(),
            _ => None,
        };
        let set = RateSet { span, of_keys, per_second, revision, outcome };
        self.load.recorder.history().rates.push(set);
        (!failed).then_some(())
    }

    /// Sets the limit of all keys, or of one. Leases that are current go on if it becomes lower.
    async fn set_key_limits(&self, limit: u64, rng: &mut SeededRng) -> Option<()> {
        let limit = if rng.chance(50) { limit } else { rng.number(1..limit + 1) };
        let (key, limit, request) = match rng.chance(50) {
            true => {
                let change = json!({ "key_limit": limit });
                (None, Some(limit), json!({ "op": "configure", "change": change }))
            }
            false => {
                let (key, limit) = ("hot", rng.chance(70).then_some(limit));
                let one = json!({ "key": hex(key.as_bytes()), "limit": limit });
                (Some(key), limit, json!({ "op": "set_key_limits", "limits": [one] }))
            }
        };
        let began = self.load.recorder.now();
        let told = ask(self.process, &self.load.recorder, request).await;
        let (span, failed) = self.load.span(began, &told);
        // Any answer says that it is set, whatever it was before.
        let outcome = if failed { outcome_of(&told, 0) } else { Outcome::Yes };
        let set = LimitSet { span, key: key.map(str::to_owned), limit, outcome };
        self.load.recorder.history().limits.push(set);
        (!failed).then_some(())
    }

    async fn count(&self) -> Option<()> {
        let (counts, _) = self.read(json!({ "op": "counts" })).await?;
        let count = |state: &str| counts[state].as_i64().unwrap_or_default();
        self.load.set_backlog(count("ready") + count("held") + count("delayed") + count("leased"));
        Some(())
    }

    /// Records what was seen; the item to change if there is one.
    fn note_look(&self, id: Id, item: &Value, span: Span, listed: bool) -> Option<Target> {
        let seen = (!item.is_null()).then(|| read_item(item));
        if matches!(seen, Some(None)) {
            let what = format!("{} sees an item that cannot be read: {item}", self.who);
            self.load.recorder.fault(what);
            return None;
        }
        let (who, seen) = (self.who.to_owned(), seen.flatten());
        let generation = seen.as_ref().map(|seen| seen.generation.clone());
        let mut history = self.load.recorder.history();
        history.looks.push(Look { who, span, id: id.clone(), seen, listed });
        let expects = Some((history.looks.len() - 1, generation?));
        Some(Target { id, expects, is_one: true })
    }

    /// Somebody else changes an item that a worker has leased, or adds one that replaces it.
    pub(super) async fn change_leased(&self, id: Id, rng: &mut SeededRng) {
        let what = match rng.number(0..10) {
            0..=5 if self.load.is_extended() => What::Cancel,
            6 if self.load.is_extended() && !has_single_id(&id) => {
                let items = vec![self.load.item(rng).replacing(id)];
                self.load.add(self.process, self.who, items).await;
                return;
            }
            0..=7 => What::Revise { data: None, limits: false },
            8 => What::Bury,
            _ => What::Remove,
        };
        let targets = vec![Target { id, expects: None, is_one: false }];
        self.make(what, targets, rng).await;
    }

    /// Makes a random change of them, in one call; `None` if the call failed.
    async fn change(&self, targets: Vec<Target>, rng: &mut SeededRng) -> Option<()> {
        let what = match rng.number(0..100) {
            0..=34 if self.load.is_extended() => What::Cancel, // of a leased item
            0..=34 => What::Requeue,
            35..=49 => What::Remove,
            50..=62 => What::Bury,
            63..=79 => What::Requeue,
            _ => What::Revise { data: None, limits: false },
        };
        self.make(what, targets, rng).await
    }

    /// Makes this change of them.
    async fn make(&self, what: What, targets: Vec<Target>, rng: &mut SeededRng) -> Option<()> {
        let (whats, request) = match what {
            What::Revise { .. } => self.revisions(&targets, rng),
            _ => (vec![what; targets.len()], request(what, &targets)),
        };
        let began = self.load.recorder.now();
        let told = ask(self.process, &self.load.recorder, request).await;
        let (span, failed) = self.load.span(began, &told);
        for (i, (target, what)) in targets.into_iter().zip(whats).enumerate() {
            let (who, outcome) = (self.who.to_owned(), outcome_of(&told, i));
            let expects = target.expects.map(|(look, _)| look);
            let change = Change { who, span, id: target.id, what, expects, outcome };
            self.load.recorder.history().changes.push(change);
        }
        (!failed).then_some(())
    }

    /// Data changes only if it is known which item gets it.
    fn revisions(&self, targets: &[Target], rng: &mut SeededRng) -> (Vec<What>, Value) {
        let (mut whats, mut requests) = (Vec::new(), Vec::new());
        for target in targets {
            let mut request = json!({ "id": hex(target.id.as_bytes()) });
            if let Some((_, generation)) = &target.expects {
                request["if_generation"] = generation.as_str().into();
            }
            let mut new_data = None;
            if target.is_one && rng.chance(60) {
                let size = *rng.pick(&[0, 0, 1_500, 20_000]);
                let data = format!("r{}:{}", self.load.next_data(), "x".repeat(size)).into_bytes();
                request["data"] = hex(&data).into();
                new_data = Some(digest(&data));
            }
            if new_data.is_none() || rng.chance(30) {
                request["priority"] = rng.number(0..4).into();
            }
            if rng.chance(20) {
                request["delay_ms"] = rng.number(0..80).into();
            }
            let limits = rng.chance(10);
            if limits {
                request["max_attempts"] = rng.number(1..4).into();
            }
            whats.push(What::Revise { data: new_data, limits });
            requests.push(request);
        }
        let request = if let [one] = &mut requests[..] {
            one["op"] = "revise".into();
            one.take()
        } else {
            json!({ "op": "revise_many", "revisions": requests })
        };
        (whats, request)
    }
}

fn hexes<'a>(ids: impl IntoIterator<Item = &'a Id>) -> Value {
    ids.into_iter().map(|id| Value::from(hex(id.as_bytes()))).collect()
}

/// The call for these items: for one of them, or for many. All have expected generations, or none has.
fn request(what: What, targets: &[Target]) -> Value {
    let (one, many) = match what {
        What::Cancel => (Some("cancel_item"), "cancel_many"),
        What::Remove => (Some("remove"), "remove_many"),
        What::Bury => (None, "bury"),
        _ => (None, "requeue"),
    };
    let expected: Option<Vec<_>> =
        targets.iter().map(|target| Some(target.expects.as_ref()?.1.as_str())).collect();
    let (mut request, expected) = match (one, targets) {
        (Some(op), [target]) => (
            json!({ "op": op, "id": hex(target.id.as_bytes()) }),
            expected.map(|expected| Value::from(expected[0])),
        ),
        _ => (
            json!({ "op": many, "ids": hexes(targets.iter().map(|target| &target.id)) }),
            expected.map(Value::from),
        ),
    };
    if let Some(expected) = expected {
        request["if_generation"] = expected;
    }
    if many == "bury" {
        request["error"] = "buried".into();
    }
    request
}

/// An item as a testee shows it.
pub(super) fn read_item(item: &Value) -> Option<Seen> {
    let text = |name: &str| Some(item[name].as_str()?.to_owned());
    let bytes = |name: &str| unhex(item[name].as_str()?).ok();
    let state = text("state")?;
    let ended = matches!(state.as_str(), "completed" | "cancelled");
    Some(Seen {
        data: digest(&bytes("data")?),
        generation: text("generation")?,
        result: bytes("result").map(|result| digest(&result)),
        kept_until_ms: item["at_ms"].as_u64().filter(|_| ended),
        key: bytes("unique").and_then(|key| String::from_utf8(key).ok()),
        state,
    })
}
