//! Converts values from JavaScript for the core, which checks their limits.

use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use leaseq::options::{MAX_ATTEMPTS, MAX_PLACES, MAX_PRIORITY};
use leaseq::{
    CompleteOptions, FailOptions, FollowUp, Group, Item, KeepAlive, LeaseOptions, ListOptions,
    OutcomeOptions, ReleaseOptions, Revision,
};
use napi::bindgen_prelude::Either;

use crate::failure::Failure;

/// Bytes or text, read during the call.
pub(crate) type Data<'a> = Either<String, &'a [u8]>;

pub(crate) fn bytes<'a>(data: &'a Data<'a>) -> &'a [u8] {
    match data {
        Either::A(text) => text.as_bytes(),
        Either::B(bytes) => bytes,
    }
}

/// Milliseconds, perhaps with a fraction.
pub(crate) fn duration(what: impl Display, ms: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(ms / 1e3)
        .map_err(|_| Failure::invalid(format_args!("{what} of {ms} ms: not a length of time")))
}

/// Converts a number to an integer type.
pub(crate) fn whole<T: TryFrom<u64>>(
    what: impl Display,
    value: f64,
    limits: &str,
) -> Result<T, Failure> {
    let whole = value >= 0.0 && value.fract() == 0.0 && value <= u64::MAX as f64;
    let number = if whole { T::try_from(value as u64).ok() } else { None };
    number.ok_or_else(|| Failure::invalid(format_args!("{what} {value} is not {limits}")))
}

pub(crate) fn count(what: &str, value: f64) -> Result<usize, Failure> {
    whole(what, value, "a whole number, 1 or more")
}

pub(crate) fn size(what: &str, value: f64) -> Result<usize, Failure> {
    whole(what, value, "a whole number of bytes")
}

pub(crate) fn replicas(value: f64) -> Result<u32, Failure> {
    whole("replicas", value, "a whole number from 0 to 10")
}

pub(crate) fn lease_options(
    duration_ms: f64,
    wait_ms: Option<f64>,
    keep_alive_ms: Option<f64>,
) -> Result<LeaseOptions, Failure> {
    let mut options = LeaseOptions::new(duration("a lease", duration_ms)?);
    if let Some(wait) = wait_ms.filter(|wait| *wait != f64::INFINITY) {
        options = options.wait(duration("a wait", wait)?);
    }
    if let Some(limit) = keep_alive_ms {
        let mut keep_alive = KeepAlive::new();
        if limit != f64::INFINITY {
            keep_alive = keep_alive.limit(duration("a keep-alive limit", limit)?);
        }
        options = options.keep_alive(keep_alive);
    }
    Ok(options)
}

pub(crate) fn outcome_options(
    wait_ms: Option<f64>,
    expect: bool,
) -> Result<OutcomeOptions, Failure> {
    let mut options = OutcomeOptions::new();
    if let Some(wait) = wait_ms.filter(|wait| *wait != f64::INFINITY) {
        options = options.wait(duration("a wait", wait)?);
    }
    options.expect = expect;
    Ok(options)
}

/// The options of completing, without results.
pub(crate) fn complete_options(
    strict: bool,
    retain_ms: Option<f64>,
) -> Result<CompleteOptions, Failure> {
    let mut options = CompleteOptions::new();
    options.strict = strict;
    options.retain = retain_ms.map(|ms| duration("a retention", ms)).transpose()?;
    Ok(options)
}

/// The results of many items, each of which may have none.
pub(crate) fn results(given: &[Option<Data<'_>>]) -> Vec<Option<Bytes>> {
    given.iter().map(|one| one.as_ref().map(|one| Bytes::copy_from_slice(bytes(one)))).collect()
}

pub(crate) fn fail_options(delay_ms: f64, dead: bool) -> Result<FailOptions, Failure> {
    let options = FailOptions::new().delay(duration("a delay", delay_ms)?);
    Ok(if dead { options.dead() } else { options })
}

pub(crate) fn release_options(delay_ms: f64, reason: String) -> Result<ReleaseOptions, Failure> {
    Ok(ReleaseOptions::new().delay(duration("a delay", delay_ms)?).reason(reason))
}

pub(crate) fn list_options(
    limit: f64,
    since_ms: Option<f64>,
    until_ms: Option<f64>,
) -> Result<ListOptions, Failure> {
    let mut options = ListOptions::new().limit(count("a limit of", limit)?);
    options.since = since_ms.map(|ms| time("since", ms)).transpose()?;
    options.until = until_ms.map(|ms| time("until", ms)).transpose()?;
    Ok(options)
}

/// The last time that JavaScript knows, in ms since 1970.
const LAST_TIME: f64 = 8.64e15;

/// A time in ms since 1970; one before is as good as 1970.
pub(crate) fn time(what: impl Display, ms: f64) -> Result<SystemTime, Failure> {
    if ms.is_nan() || ms > LAST_TIME {
        return Err(Failure::invalid(format_args!("{what} {ms} ms: not a time")));
    }
    Ok(UNIX_EPOCH + Duration::from_millis(ms.max(0.0).ceil() as u64))
}

/// The options of an item that are given.
pub(crate) struct Changes {
    priority: Option<u8>,
    delay: Option<Duration>,
    due_at: Option<SystemTime>,
    max_attempts: Option<u32>,
}

impl Changes {
    fn set(self, mut item: Item) -> Item {
        item = self.priority.into_iter().fold(item, Item::priority);
        item = self.delay.into_iter().fold(item, Item::delay);
        item = self.due_at.into_iter().fold(item, Item::due_at);
        self.max_attempts.into_iter().fold(item, Item::max_attempts)
    }

    pub(crate) fn revise(self, mut revision: Revision) -> Revision {
        revision = self.priority.into_iter().fold(revision, Revision::priority);
        revision = self.delay.into_iter().fold(revision, Revision::delay);
        revision = self.due_at.into_iter().fold(revision, Revision::due_at);
        self.max_attempts.into_iter().fold(revision, Revision::max_attempts)
    }
}

/// `item`: for errors.
pub(crate) fn changes(
    item: &Item,
    priority: Option<f64>,
    delay_ms: Option<f64>,
    due_at_ms: Option<f64>,
    max_attempts: Option<f64>,
) -> Result<Changes, Failure> {
    let priority = priority.map(|priority| {
        let limits = format!("a whole number between 0 and {MAX_PRIORITY}");
        whole(format_args!("{item}: priority"), priority, &limits)
    });
    let delay = delay_ms.map(|delay| duration(format_args!("{item}: a delay"), delay));
    let due_at = due_at_ms.map(|at| time(format_args!("{item}: due at"), at));
    let max_attempts = max_attempts.map(|most| {
        let limits = format!("a whole number between 1 and {MAX_ATTEMPTS}");
        whole(format_args!("{item}: max_attempts"), most, &limits)
    });
    Ok(Changes {
        priority: priority.transpose()?,
        delay: delay.transpose()?,
        due_at: due_at.transpose()?,
        max_attempts: max_attempts.transpose()?,
    })
}

/// The options of an item that are given.
pub(crate) struct ItemOptions<'a> {
    pub(crate) id: Option<Data<'a>>,
    pub(crate) priority: Option<f64>,
    pub(crate) delay_ms: Option<f64>,
    pub(crate) due_at_ms: Option<f64>,
    pub(crate) max_attempts: Option<f64>,
    pub(crate) retain_ms: Option<f64>,
    pub(crate) unique: Option<Data<'a>>,
    pub(crate) unique_for_ms: Option<f64>,
    pub(crate) replace: Option<bool>,
    pub(crate) successor: Option<bool>,
    pub(crate) expires_in_ms: Option<f64>,
    pub(crate) key: Option<Data<'a>>,
    pub(crate) queue: Option<String>,
    pub(crate) follow_ups: Vec<FollowUp>,
    pub(crate) place: Option<(Group, f64)>,
}

impl ItemOptions<'_> {
    /// The item with these options.
    pub(crate) fn apply(self, mut item: Item) -> Result<Item, Failure> {
        if let Some(id) = &self.id {
            item = item.with_id(bytes(id));
        }
        let (priority, delay) = (self.priority, self.delay_ms);
        item = changes(&item, priority, delay, self.due_at_ms, self.max_attempts)?.set(item);
        if let Some(retain) = self.retain_ms {
            let retain = duration(format_args!("{item}: a retention"), retain)?;
            item = item.retain(retain);
        }
        if let Some(key) = &self.unique {
            item = item.unique(bytes(key));
        }
        if let Some(time) = self.unique_for_ms {
            let time = duration(format_args!("{item}: unique_for"), time)?;
            item = item.unique_for(time);
        }
        if let Some(time) = self.expires_in_ms {
            let time = duration(format_args!("{item}: expires_in"), time)?;
            item = item.expires_in(time);
        }
        if let Some(key) = &self.key {
            item = item.key(bytes(key));
        }
        if let Some(queue) = self.queue {
            item = item.queue(queue);
        }
        if let Some((group, place)) = &self.place {
            let limits = format!("a whole number between 0 and {}", MAX_PLACES - 1);
            let place = whole(format_args!("{item}: place"), *place, &limits)?;
            item = item.in_group(group, place);
        }
        item = self.follow_ups.into_iter().fold(item, Item::follow_up);
        if self.successor == Some(true) {
            item = item.successor();
        }
        Ok(if self.replace == Some(true) { item.replace() } else { item })
    }
}
