//! The jobs of a run: what their handlers do, and which of them are cancelled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::control::{Control, KEY_LIMIT};
use super::history::{Job, Left, MS, Micros, now};
use crate::conformance::value::{hex, unhex};
use crate::error::Error;
use crate::faults::rng::SeededRng;

const KEYS: [&str; 3] = ["k0", "k1", "k2"];
/// Enough to keep the workers busy, few enough to drain soon.
const BACKLOG: u64 = 60;
/// The limit of attempts by the rules of the workers.
const MAX_ATTEMPTS: u32 = 5;

pub(super) struct Load {
    control: Control,
    rng: SeededRng,
    /// Whether handlers run in children, which some of them harm.
    children: bool,
    jobs: Vec<Job>,
}

impl Load {
    pub(super) fn new(control: Control, rng: SeededRng, children: bool) -> Load {
        Load { control, rng, children, jobs: Vec::new() }
    }

    pub(super) fn into_jobs(self) -> Vec<Job> {
        self.jobs
    }

    async fn counts(&self) -> Result<Value, Error> {
        self.control.ask(json!({ "op": "counts" })).await
    }

    pub(super) async fn completed(&self) -> Result<u64, Error> {
        Ok(self.counts().await?["totals"]["completed"].as_u64().unwrap_or_default())
    }

    /// How many leases there were so far.
    pub(super) async fn leased(&self) -> Result<u64, Error> {
        Ok(self.counts().await?["totals"]["leased"].as_u64().unwrap_or_default())
    }

    /// How many jobs are neither ended nor unknown to the workers.
    async fn open(&self) -> Result<u64, Error> {
        let counts = self.counts().await?;
        let count = |state: &str| counts[state].as_u64().unwrap_or_default();
        let open: u64 = ["ready", "held", "delayed", "leased"].into_iter().map(count).sum();
        let unknown = self.jobs.iter().filter(|job| job.is_unknown).count() as u64;
        Ok(open.saturating_sub(unknown))
    }

    /// Adds and cancels jobs until then.
    pub(super) async fn run_until(&mut self, end: Instant) -> Result<(), Error> {
        while Instant::now() < end {
            if self.open().await? < BACKLOG {
                let count = self.rng.number(1..20) as usize;
                let jobs = (0..count).map(|_| self.job()).collect();
                self.add(jobs).await?;
            }
            if self.rng.chance(20) {
                self.cancel_one().await?;
            }
            tokio::time::sleep(self.rng.ms(1..10)).await;
        }
        Ok(())
    }

    /// Adds these jobs, each with its data.
    async fn add(&mut self, jobs: Vec<(Job, Value, u64)>) -> Result<(), Error> {
        let item = |(job, data, priority): &(Job, Value, u64)| {
            let mut item = json!({
                "id": hex(job.id.as_bytes()),
                "data": hex(data.to_string().as_bytes()),
                "retain_ms": 3_600_000,
                "priority": priority,
            });
            if job.max_attempts != MAX_ATTEMPTS {
                item["max_attempts"] = job.max_attempts.into();
            }
            if let Some(key) = job.key {
                item["key"] = hex(key.as_bytes()).into();
            }
            item
        };
        let items: Value = jobs.iter().map(item).collect();
        let added = self.control.ask(json!({ "op": "add_items", "items": items })).await?;
        if added.as_array().is_none_or(|all| all.iter().any(|added| *added != true)) {
            return Err(format!("jobs with new ids were not added: {added}").into());
        }
        self.jobs.extend(jobs.into_iter().map(|(job, ..)| job));
        Ok(())
    }

    fn next_id(&self) -> String {
        // Not that of another job of the same batch.
        format!("j{}-{}", self.jobs.len(), rand::random::<u32>())
    }

    /// A job, its data, and its priority.
    fn job(&mut self) -> (Job, Value, u64) {
        let rng = &mut self.rng;
        let key = rng.chance(40).then(|| *rng.pick(&KEYS));
        let max_attempts = *rng.pick(&[2, 3, MAX_ATTEMPTS, MAX_ATTEMPTS]);
        let sleep = json!({ "sleep_ms": rng.number(0..30) });
        let from = json!({ "skip_from": rng.number(2..4) });
        let after = rng.number(50..200);
        let kind = rng.number(0..100);
        let harm = (self.children && rng.chance(30)).then(|| harm(rng));
        let mut job = Job { id: self.next_id(), key, max_attempts, ..Job::default() };
        let done = json!({ "return": job.id });
        let (name, steps) = match kind {
            _ if harm.is_some() => ("work", json!([sleep, { "skip_from": 2 }, harm, done])),
            0..50 => ("work", json!([sleep, done])),
            50..62 => ("work", json!([sleep, from, { "raise": "Broken" }, done])),
            62..77 => {
                job.retry_after = Some(after * MS);
                ("work", json!([from, { "retry_after_ms": after }, done]))
            }
            77..84 => ("work", json!([{ "skip_from": 2 }, { "sleep_ms": 5_000 }, done])),
            // Three of them, one after the other in one event loop, must not look as if it hung.
            84..91 => ("other", json!([{ "skip_from": 2 }, { "block_ms": 300 }, done])),
            91..95 => {
                job.buries = true;
                ("work", json!([sleep, "bury"]))
            }
            _ => {
                job.is_unknown = true;
                ("unknown", json!([]))
            }
        };
        // Of the jobs that no worker knows, half are of a newer format.
        let version = if job.is_unknown && kind.is_multiple_of(2) { 2 } else { 1 };
        let mut data = json!({ "v": version, "job": name, "args": { "steps": steps } });
        if let Some(key) = key {
            // For handlers that watch the limit themselves.
            data["meta"] = json!({ "key": key, "key_limit": KEY_LIMIT.to_string() });
        }
        (job, data, 0)
    }

    /// Adds so many jobs of a name that no worker knows.
    pub(super) async fn add_unknown(&mut self, count: usize) -> Result<(), Error> {
        let data = json!({ "v": 1, "job": "not.deployed", "args": {} });
        let one = |number| {
            let id = format!("unknown{number}-{}", rand::random::<u32>());
            let job = Job { id, max_attempts: 2, is_unknown: true, ..Job::default() };
            (job, data.clone(), 0)
        };
        let jobs = (0..count).map(one).collect();
        self.add(jobs).await
    }

    /// Adds so many jobs that run until they are cancelled, before all others. Returns their ids.
    pub(super) async fn add_endless(&mut self, count: usize) -> Result<Vec<String>, Error> {
        let mut jobs = Vec::new();
        for number in 0..count {
            let id = format!("endless{number}-{}", rand::random::<u32>());
            let job = Job { id, max_attempts: MAX_ATTEMPTS, ..Job::default() };
            let data =
                json!({ "v": 1, "job": "third", "args": { "steps": [{ "sleep_ms": 60_000 }] } });
            jobs.push((job, data, 9));
        }
        let ids = jobs.iter().map(|(job, ..)| job.id.clone()).collect();
        self.add(jobs).await?;
        Ok(ids)
    }

    /// One of the latest jobs.
    async fn cancel_one(&mut self) -> Result<(), Error> {
        let Some(last) = self.jobs.len().checked_sub(1) else { return Ok(()) };
        let back = self.rng.number(0..40) as usize;
        let id = self.jobs[last.saturating_sub(back)].id.clone();
        self.cancel(&[id]).await
    }

    pub(super) async fn cancel(&mut self, ids: &[String]) -> Result<(), Error> {
        let hex_ids: Vec<_> = ids.iter().map(|id| hex(id.as_bytes())).collect();
        let answer = self.control.ask(json!({ "op": "cancel_many", "ids": hex_ids })).await?;
        for (i, id) in ids.iter().enumerate().filter(|(i, _)| answer[*i] == true) {
            let job = self.jobs.iter_mut().rev().find(|job| job.id == *id);
            let job = job.ok_or_else(|| format!("cancelled {i}, which is no job"))?;
            job.cancelled = Some(now());
            // It is not there any more, unless it is leased.
            job.is_unknown = false;
        }
        Ok(())
    }

    /// Until every job has ended that a worker can run.
    pub(super) async fn until_drained(&self, time: Duration) -> Result<(), Error> {
        let end = Instant::now() + time;
        while self.open().await? > 0 {
            if Instant::now() >= end {
                return Err(format!("not drained in {time:?}: {}", self.counts().await?).into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// All items that the queue has, by id.
    pub(super) async fn left(&self) -> Result<BTreeMap<String, Left>, Error> {
        let mut all = BTreeMap::new();
        for state in ["ready", "held", "delayed", "leased", "dead", "completed", "cancelled"] {
            let mut list = json!({ "op": "list", "state": state, "limit": 500 });
            loop {
                let page = self.control.ask(list.clone()).await?;
                for item in page["items"].as_array().into_iter().flatten() {
                    let text = |name: &str| -> Result<Option<String>, Error> {
                        let bytes = item[name].as_str().map(unhex).transpose()?;
                        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
                    };
                    let number = |name: &str| item[name].as_u64().unwrap_or_default();
                    let left = Left {
                        state: state.to_owned(),
                        failures: number("failures"),
                        expiries: number("expiries"),
                        releases: item["releases"]["count"].as_u64().unwrap_or_default(),
                        result: text("result")?,
                    };
                    all.insert(text("id")?.unwrap_or_default(), left);
                }
                list["cursor"] = page["cursor"].clone();
                if list["cursor"].is_null() {
                    break;
                }
            }
        }
        Ok(all)
    }

    pub(super) async fn sound(&self) -> Result<(), Error> {
        let check = self.control.ask(json!({ "op": "check" })).await?;
        if check["sound"] == true { Ok(()) } else { Err(format!("check found {check}").into()) }
    }
}

/// How soon a job whose cancellation was acknowledged must stop.
pub(super) const CANCELLED_WITHIN: Micros = 7_000 * MS;

/// What a handler does to its child. Some answers are given before, and count.
fn harm(rng: &mut SeededRng) -> Value {
    let harms = [
        json!({ "exit": 3 }),
        json!({ "signal": 9 }),
        json!({ "signal": 11 }),
        json!({ "signal": 19 }),
        json!("hang"),
        json!("hang_in_c"),
        json!({ "flood": 200 }),
        json!("half_frame"),
        json!("answer_twice"),
        json!("answer_and_exit"),
        json!("grandchild"),
        json!("close"),
        json!({ "allocate_mib": 240 }),
        json!("ignore_term"),
    ];
    rng.pick(&harms).clone()
}
