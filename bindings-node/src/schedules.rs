//! Schedules of a queue.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use leaseq::options::MAX_CAUGHT_UP;
use leaseq::{
    GetOptions, Item, Missed, PauseOptions, PutSchedule, Schedule, ScheduleInfo, ScheduleRule,
    SyncedSchedules,
};
use napi::Result;
use napi::bindgen_prelude::{Array, Either};
use napi_derive::napi;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::{duration, time, whole};
use crate::item::items;
use crate::queue::NativeQueue;
use crate::time::ms;
use crate::wire::Outcome;

/// A schedule without its item.
#[napi(object, object_to_js = false)]
pub struct NativeSchedule {
    pub name: String,
    pub cron: Option<String>,
    pub zone: Option<String>,
    pub every_ms: Option<f64>,
    pub missed: Option<Either<String, f64>>,
    pub grace_ms: Option<f64>,
    pub overlap: Option<bool>,
}

#[napi]
impl NativeQueue {
    /// Answers with a word.
    #[napi]
    pub fn put_schedule(
        &self,
        call: u32,
        schedule: NativeSchedule,
        #[napi(ts_arg_type = "unknown[]")] item: Array<'_>,
        owner: String,
        revision: f64,
    ) -> Result<()> {
        let schedule = schedules(vec![schedule], &item)?.and_then(|mut all| {
            let schedule = all.pop().ok_or_else(|| Failure::invalid("no schedule"))?;
            Ok(schedule.owner(owner).revision(self::revision(revision)?))
        });
        self.call(call, schedule, |queue, schedule| async move {
            let word = match queue.put_schedule(schedule).await? {
                PutSchedule::Added => "added",
                PutSchedule::Updated => "updated",
                PutSchedule::Unchanged => "unchanged",
                _ => "outdated",
            };
            Ok(Outcome::Json(word.into()))
        });
        Ok(())
    }

    /// Answers with lists of names.
    #[napi]
    pub fn sync_schedules(
        &self,
        call: u32,
        owner: String,
        revision: f64,
        all: Vec<NativeSchedule>,
        #[napi(ts_arg_type = "unknown[]")] items: Array<'_>,
    ) -> Result<()> {
        let all = schedules(all, &items)?.and_then(|all| Ok((all, self::revision(revision)?)));
        self.call(call, all, |queue, (all, revision)| async move {
            let done = queue.sync_schedules(&owner, revision, all).await?;
            let SyncedSchedules { added, updated, removed, unchanged, outdated, .. } = done;
            Ok(Outcome::Json(json!({
                "added": added,
                "updated": updated,
                "removed": removed,
                "unchanged": unchanged,
                "outdated": outdated,
            })))
        });
        Ok(())
    }

    /// Answers with schedules.
    #[napi]
    pub fn schedules(&self, call: u32, with_data: bool) {
        let mut options = GetOptions::new();
        options.data = with_data;
        self.call(call, Ok(options), |queue, options| async move {
            let all = queue.schedules_with(options).await?;
            let about = all.iter().map(about).collect();
            let data = all.into_iter().map(|schedule| schedule.data).collect();
            Ok(Outcome::WithData { about, data })
        });
    }

    /// Answers with a boolean.
    #[napi]
    pub fn pause_schedule(&self, call: u32, name: String, by: String, reason: String) {
        let options = PauseOptions::new().by(by).reason(reason);
        self.call(call, Ok((name, options)), |queue, (name, options)| async move {
            Ok(Outcome::Bool(queue.pause_schedule_with(&name, options).await?))
        });
    }

    /// `change`: 0 removes the schedule, 1 resumes it, 2 runs it now. Answers with a boolean.
    #[napi]
    pub fn change_schedule(&self, call: u32, change: u32, name: String) {
        self.call(call, Ok(name), move |queue, name| async move {
            Ok(Outcome::Bool(match change {
                0 => queue.remove_schedule(&name).await?,
                1 => queue.resume_schedule(&name).await?,
                _ => queue.run_now(&name).await?,
            }))
        });
    }
}

/// The next times of a rule, in ms since 1970, or the error as text.
#[napi]
#[allow(dead_code, unreachable_pub, reason = "exported by its name")]
pub fn schedule_times(
    cron: Option<String>,
    zone: Option<String>,
    every_ms: Option<f64>,
    after_ms: Option<f64>,
    count: f64,
) -> Either<Vec<f64>, String> {
    let times = || {
        let rule = rule(cron, zone, every_ms)?;
        let after = after_ms.map_or(Ok(SystemTime::now()), |ms| time("after", ms))?;
        let count = whole::<usize>("count", count, "a whole number, 0 or more")?;
        Ok::<_, Failure>(rule.times_after(after, count)?)
    };
    match times() {
        Ok(times) => Either::A(times.into_iter().map(ms).collect()),
        Err(failure) => Either::B(failure.message),
    }
}

fn revision(number: f64) -> std::result::Result<u64, Failure> {
    whole("revision", number, "a whole number, 0 or more")
}

fn rule(
    cron: Option<String>,
    zone: Option<String>,
    every_ms: Option<f64>,
) -> std::result::Result<ScheduleRule, Failure> {
    match (cron, every_ms, zone) {
        (Some(cron), None, zone) => {
            Ok(ScheduleRule::cron(&cron, zone.as_deref().unwrap_or("UTC"))?)
        }
        (None, Some(ms), None) => {
            Ok(ScheduleRule::every(duration("the interval of a schedule", ms)?)?)
        }
        (None, Some(_), Some(_)) => Err(Failure::invalid("an interval has no zone")),
        _ => Err(Failure::invalid("a schedule has either cron or everyMs")),
    }
}

fn missed(value: Either<String, f64>) -> std::result::Result<Missed, Failure> {
    match value {
        Either::A(word) if word == "skip" => Ok(Missed::Skip),
        Either::A(word) if word == "one" => Ok(Missed::One),
        Either::A(word) => {
            let wrong = format_args!("missed: {word:?} is neither 'skip', 'one' nor a number");
            Err(Failure::invalid(wrong))
        }
        Either::B(most) => {
            let limits = format!("a whole number between 1 and {MAX_CAUGHT_UP}");
            Ok(Missed::All(whole("missed:", most, &limits)?))
        }
    }
}

impl NativeSchedule {
    fn with(self, item: Item) -> std::result::Result<Schedule, Failure> {
        let rule = rule(self.cron, self.zone, self.every_ms)?;
        let mut schedule = Schedule::new(self.name, rule, item);
        if let Some(value) = self.missed {
            schedule = schedule.missed(missed(value)?);
        }
        if let Some(grace) = self.grace_ms {
            schedule = schedule.grace(duration("the grace", grace)?);
        }
        Ok(if self.overlap == Some(true) { schedule.overlap() } else { schedule })
    }
}

/// A schedule for each item.
fn schedules(
    about: Vec<NativeSchedule>,
    items: &Array<'_>,
) -> Result<std::result::Result<Vec<Schedule>, Failure>> {
    let items = self::items(items)?;
    Ok(items.and_then(|items| {
        about.into_iter().zip(items).map(|(about, item)| about.with(item)).collect()
    }))
}

/// All fields except the data.
fn about(info: &ScheduleInfo) -> Value {
    // Its text is `cron ZONE EXPRESSION` or `every MILLISECONDS`.
    let rule = info.rule.to_string();
    let mut words = rule.splitn(3, ' ');
    let is_cron = words.next() == Some("cron");
    let (second, cron) = (words.next(), words.next());
    let in_ms = |time: Duration| time.as_millis() as f64;
    let unless_zero = |time: Duration| (!time.is_zero()).then(|| in_ms(time));
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    json!({
        "name": info.name,
        "cron": cron,
        "zone": second.filter(|_| is_cron),
        "everyMs": second.filter(|_| !is_cron).and_then(|ms| ms.parse::<f64>().ok()),
        "owner": info.owner,
        "revision": info.revision,
        "missed": match info.missed {
            Missed::Skip => Value::from("skip"),
            Missed::All(most) => most.into(),
            _ => "one".into(),
        },
        "graceMs": info.grace.map(in_ms),
        "overlap": info.overlap,
        "priority": info.priority,
        "delayMs": in_ms(info.delay),
        "maxAttempts": info.max_attempts,
        "retainMs": unless_zero(info.retain),
        "unique": info.unique.as_ref().map(text),
        "uniqueForMs": unless_zero(info.unique_for),
        "replace": info.replace,
        "successor": info.successor,
        "key": info.key.as_ref().map(text),
        "expiresInMs": info.expires_in.map(in_ms),
        "paused": info.paused,
        "pausedAtMs": info.paused_at.map(ms),
        "pausedBy": info.paused_by,
        "pauseReason": info.pause_reason,
        "nextMs": info.next.map(ms),
        "lastId": info.last_id.as_ref().map(text),
    })
}
