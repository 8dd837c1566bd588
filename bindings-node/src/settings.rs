//! Settings of a queue, and pausing it.

use leaseq::options::{MAX_ATTEMPTS, MAX_EVENTS, MAX_KEPT, MAX_KEY_LIMIT, MAX_RATE};
use leaseq::{PauseOptions, Rate, Settings, SettingsChange};
use napi_derive::napi;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::{duration, whole};
use crate::queue::NativeQueue;
use crate::time::ms;
use crate::wire::Outcome;

#[napi]
impl NativeQueue {
    /// `changed`: which of the settings are named, in the order of `change`; without a value they are
    /// removed. The last two, the rates, have three each: count, period in ms, burst. Answers with
    /// settings, or null if another revision is stored.
    #[napi]
    pub fn configure(
        &self,
        call: u32,
        changed: Vec<bool>,
        values: Vec<Option<f64>>,
        revision: Option<f64>,
    ) {
        let change = change(&changed, &values, revision);
        self.call(call, change, |queue, change| async move {
            let settings = queue.configure(change).await?;
            Ok(Outcome::Json(settings.as_ref().map_or(Value::Null, about)))
        });
    }

    /// Answers with settings.
    #[napi]
    pub fn settings(&self, call: u32) {
        self.call(call, Ok(()), |queue, ()| async move {
            Ok(Outcome::Json(about(&queue.settings().await?)))
        });
    }

    /// Without a duration until it is resumed. Answers with nothing.
    #[napi]
    pub fn pause(&self, call: u32, duration_ms: Option<f64>, by: String, reason: String) {
        let options = PauseOptions::new().by(by).reason(reason);
        let options = duration_ms
            .map(|ms| duration("a pause", ms))
            .transpose()
            .map(|time| time.into_iter().fold(options, PauseOptions::duration));
        self.call(call, options, |queue, options| async move {
            queue.pause_with(options).await?;
            Ok(Outcome::Done)
        });
    }

    /// Answers with nothing.
    #[napi]
    pub fn resume(&self, call: u32) {
        self.call(call, Ok(()), |queue, ()| async move {
            queue.resume().await?;
            Ok(Outcome::Done)
        });
    }
}

fn change(
    changed: &[bool],
    values: &[Option<f64>],
    revision: Option<f64>,
) -> Result<SettingsChange, Failure> {
    let named = |place: usize| changed.get(place) == Some(&true);
    let value = |place: usize| values.get(place).copied().flatten();
    let kept = |what: &str, place| {
        let limits = format!("a whole number between 1 and {MAX_KEPT}");
        value(place).map(|most| whole::<u64>(what, most, &limits)).transpose()
    };
    let time = |what: &str, place| value(place).map(|ms| duration(what, ms)).transpose();
    let mut change = SettingsChange::new();
    if named(0) {
        let limits = format!("a whole number between 1 and {MAX_ATTEMPTS}");
        let most = value(0).map(|most| whole::<u32>("max_attempts", most, &limits));
        change = change.max_attempts(most.transpose()?);
    }
    if named(1) {
        change = change.retain(time("a retention", 1)?);
    }
    if named(2) {
        change = change.max_dead(kept("max_dead", 2)?);
    }
    if named(3) {
        change = change.max_retained(kept("max_retained", 3)?);
    }
    if named(4) {
        change = change.max_dead_age(time("max_dead_age", 4)?);
    }
    if named(5) {
        change = change.max_retained_age(time("max_retained_age", 5)?);
    }
    if named(6) {
        let limits = format!("a whole number between 1 and {MAX_KEY_LIMIT}");
        let limit = value(6).map(|limit| whole::<u32>("key_limit", limit, &limits));
        change = change.key_limit(limit.transpose()?);
    }
    if named(7) {
        let limits = format!("a whole number between 1 and {MAX_EVENTS}");
        let most = value(7).map(|most| whole::<u64>("events", most, &limits));
        change = change.events(most.transpose()?);
    }
    // Count, period and burst, from this place on.
    let rate = |place: usize| {
        let number = |what: &str, place| {
            let limits = format!("a whole number between 1 and {MAX_RATE}");
            value(place).map(|number| whole::<u32>(what, number, &limits)).transpose()
        };
        let count = number("a rate of", place)?;
        let period = time("the period of a rate", place + 1)?;
        let burst = number("the burst of a rate of", place + 2)?;
        let rate = count.zip(period).map(|(count, period)| Rate::new(count, period));
        Ok::<_, Failure>(rate.map(|rate| burst.into_iter().fold(rate, Rate::burst)))
    };
    if named(8) {
        change = change.rate(rate(8)?);
    }
    if named(9) {
        change = change.key_rate(rate(11)?);
    }
    if let Some(revision) = revision {
        let revision = whole("a revision of", revision, "a whole number, 0 or more")?;
        change = change.expect_revision(revision);
    }
    Ok(change)
}

fn about_rate(rate: Rate) -> Value {
    json!({
        "count": rate.count,
        "periodMs": rate.period.as_millis() as f64,
        "burst": rate.burst,
    })
}

fn about(settings: &Settings) -> Value {
    let time = |time: Option<std::time::Duration>| time.map(|time| time.as_millis() as f64);
    json!({
        "maxAttempts": settings.max_attempts,
        "retainMs": settings.retain.as_millis() as f64,
        "maxDead": settings.max_dead,
        "maxRetained": settings.max_retained,
        "maxDeadAgeMs": time(settings.max_dead_age),
        "maxRetainedAgeMs": time(settings.max_retained_age),
        "keyLimit": settings.key_limit,
        "events": settings.events,
        "rate": settings.rate.map(about_rate),
        "keyRate": settings.key_rate.map(about_rate),
        "revision": settings.revision,
        "paused": settings.paused,
        "pausedUntilMs": settings.paused_until.map(ms),
        "pausedAtMs": settings.paused_at.map(ms),
        "pausedBy": settings.paused_by,
        "pauseReason": settings.pause_reason,
        "rateLimitedUntilMs": settings.rate_limited_until.map(ms),
    })
}
