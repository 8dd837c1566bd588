//! Pauses: how they are asked for, and what is known of one.

use std::time::{Duration, SystemTime};

use crate::options::{MAX_PAUSE_REASON, MAX_PAUSED_BY, check_pause};
use crate::text::check_printable;
use crate::unix_time::from_ms;
use crate::{Error, Result};

/// How [`WorkQueue::pause_with`](crate::WorkQueue::pause_with) and
/// [`WorkQueue::pause_schedule_with`](crate::WorkQueue::pause_schedule_with) pause.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PauseOptions {
    /// For how long, 1 ms to 366 days; not for schedules. Default: until [`resume`](crate::WorkQueue::resume).
    pub duration: Option<Duration>,
    /// Who pauses, for those who see the pause: up to 128 bytes without control characters. Default: empty.
    pub by: String,
    /// Why, up to 256 bytes without control characters. Default: empty.
    pub reason: String,
}

impl PauseOptions {
    /// The defaults.
    pub fn new() -> Self {
        PauseOptions::default()
    }

    /// Leasing goes on by itself after this time, 1 ms to 366 days.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// Who pauses, up to 128 bytes, such as `ada@web-1`.
    pub fn by(mut self, by: impl Into<String>) -> Self {
        self.by = by.into();
        self
    }

    /// Why, up to 256 bytes.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    pub(crate) fn validate(&self) -> Result<Pause> {
        let duration_ms = self.duration.map(check_pause).transpose()?;
        Ok(Pause::Begin { duration_ms, note: self.note()? })
    }

    /// Of a pause of a schedule.
    pub(crate) fn without_duration(&self) -> Result<PauseNote> {
        match self.duration {
            Some(_) => Err(Error::invalid("the pause of a schedule has no duration")),
            None => self.note(),
        }
    }

    fn note(&self) -> Result<PauseNote> {
        check("who pauses", &self.by, MAX_PAUSED_BY)?;
        check("the reason of a pause", &self.reason, MAX_PAUSE_REASON)?;
        Ok(PauseNote(format!("{}\n{}", self.by, self.reason)))
    }
}

fn check(what: &str, text: &str, most: usize) -> Result<()> {
    if text.len() > most {
        let length = text.len();
        return Err(Error::invalid(format_args!(
            "{what} has {length} bytes, which is over the limit of {most}"
        )));
    }
    check_printable(what, text)
}

/// What leasing from a queue is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It goes on.
    End,
    /// It stops, for so many ms, or until it is resumed.
    Begin { duration_ms: Option<u64>, note: PauseNote },
}

/// Who pauses and why: two lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PauseNote(String);

impl PauseNote {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// As it is stored, with the time in ms since 1970 at which the pause begins.
    pub(crate) fn at(&self, now_ms: u64) -> String {
        format!("{now_ms}\n{}", self.0)
    }
}

/// When a pause has begun, who has begun it, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) at: Option<SystemTime>,
    pub(crate) by: String,
    pub(crate) reason: String,
}

impl Begun {
    /// Reads what [`PauseNote::at`] has written; nothing is known if it cannot be read.
    pub(crate) fn read(stored: &str) -> Begun {
        let mut lines = stored.splitn(3, '\n');
        let at = lines.next().and_then(|ms| ms.parse().ok()).map(from_ms);
        match (at, lines.next(), lines.next()) {
            (Some(at), Some(by), Some(reason)) => {
                Begun { at: Some(at), by: by.to_owned(), reason: reason.to_owned() }
            }
            _ => Begun::default(),
        }
    }
}

/// What a queue is paused until, as an engine knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paused {
    No,
    UntilResumed,
    /// Until this time, in ms since 1970, which has not passed.
    Until(u64),
}

impl Paused {
    /// By the time that is stored: 1 until it is resumed, 0 or a time that has passed if it is not paused.
    pub(crate) fn at(stored: i64, now: u64) -> Paused {
        match u64::try_from(stored) {
            Ok(1) => Paused::UntilResumed,
            Ok(until) if until > now => Paused::Until(until),
            _ => Paused::No,
        }
    }
}
