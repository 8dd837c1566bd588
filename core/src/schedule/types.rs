//! What callers put and see.

use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::rule::ScheduleRule;
use crate::item::Item;
use crate::name::QueueName;
use crate::options::{
    MAX_CAUGHT_UP, MAX_INTERVAL, MAX_SCHEDULE_DATA, MAX_SCHEDULE_NAME, check_duration,
};
use crate::text::check_text;
use crate::{Error, Result};

/// What is done about ticks that were missed: those that nobody processed within their grace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missed {
    /// Nothing.
    Skip,
    /// One item is added for all of them.
    #[default]
    One,
    /// An item is added for each, but for at most so many, the earliest ones: 1 to 1,000.
    All(u32),
}

/// A schedule to put: a name, a rule, and the item that each tick adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub(super) name: String,
    pub(super) rule: ScheduleRule,
    pub(super) item: Item,
    pub(super) owner: String,
    pub(super) revision: u64,
    pub(super) missed: Missed,
    pub(super) grace: Option<Duration>,
    pub(super) overlap: bool,
}

impl Schedule {
    /// A schedule with this name of 1 to 128 bytes without control characters, which is its own in the queue. Each tick adds
    /// an item with the data and the options of `item`, but with the id `NAME@TIME`, where the time is that of the tick in UTC (RFC 3339).
    /// A delay begins with the tick.
    pub fn new(name: impl Into<String>, rule: ScheduleRule, item: Item) -> Self {
        Schedule {
            name: name.into(),
            rule,
            item,
            owner: String::new(),
            revision: 0,
            missed: Missed::default(),
            grace: None,
            overlap: false,
        }
    }

    /// Who declares it, up to 128 bytes without control characters: a program, for
    /// [`sync_schedules`](crate::WorkQueue::sync_schedules). Nobody else can change it. Default: nobody.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// The number of the deployment that declares it, or its time; up to 2^53. A lower one than that of its owner's
    /// stored schedule is refused, also after the schedule was removed. Default: 0.
    pub fn revision(mut self, revision: u64) -> Self {
        self.revision = revision;
        self
    }

    /// What is done about missed ticks. Default: one item is added for all of them.
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// How late a tick may be processed before it is missed, up to 366 days. Default: 60 s, or the time to the
    /// next tick if that is shorter.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Adds an item although the last one of the schedule has not ended. Default: that tick adds none.
    pub fn overlap(mut self) -> Self {
        self.overlap = true;
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn validate(&self, queue: &QueueName, max_data: usize) -> Result<()> {
        check_name("the name of a schedule", &self.name, 1)?;
        self.check(queue, max_data)
            .map_err(|error| Error::invalid(format_args!("schedule {:?}: {error}", self.name)))
    }

    fn check(&self, queue: &QueueName, max_data: usize) -> Result<()> {
        check_deployment(&self.owner, self.revision, 0)?;
        if let Missed::All(most) = self.missed
            && !(1..=MAX_CAUGHT_UP).contains(&most)
        {
            return Err(Error::invalid(format_args!(
                "{most} missed ticks are not between 1 and {MAX_CAUGHT_UP}"
            )));
        }
        if let Some(grace) = self.grace {
            check_duration("the grace", grace, Duration::ZERO, MAX_INTERVAL)?;
        }
        let length = self.item.data().len();
        if length > MAX_SCHEDULE_DATA {
            return Err(Error::invalid(format_args!(
                "data of {length} bytes is longer than {MAX_SCHEDULE_DATA}"
            )));
        }
        if self.item.due_at.is_some() {
            return Err(Error::invalid("the item is due at a time of its own"));
        }
        if !self.item.follow_ups.is_empty() {
            return Err(Error::invalid("the item of a schedule has follow-ups"));
        }
        self.item.check_no_place()?;
        self.item.validate(queue, max_data)
    }
}

/// `least`: how many bytes the owner has at least.
pub(crate) fn check_deployment(owner: &str, revision: u64, least: usize) -> Result<()> {
    check_name("the owner", owner, least)?;
    if revision > 1 << 53 {
        return Err(Error::invalid(format_args!("revision {revision} is above 2^53")));
    }
    Ok(())
}

pub(super) fn check_name(what: &str, name: &str, least: usize) -> Result<()> {
    check_text(what, name, least..=MAX_SCHEDULE_NAME)
}

/// A schedule as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleInfo {
    /// Its name.
    pub name: String,
    /// When it adds items.
    pub rule: ScheduleRule,
    /// The data of its items; empty if it was read without.
    pub data: Bytes,
    /// The priority of its items.
    pub priority: u8,
    /// How long after its tick an item is ready. Zero: at once.
    pub delay: Duration,
    /// The limit of attempts of its items. `None`: they have none of their own.
    pub max_attempts: Option<u32>,
    /// How long an item is retained after its completion. Zero: not at all, unless the queue says so.
    pub retain: Duration,
    /// The unique key of its items, if they have one.
    pub unique: Option<Bytes>,
    /// How long the unique key stays taken at least. Zero: no longer than the item needs it.
    pub unique_for: Duration,
    /// Whether an item replaces another one that has its unique key.
    pub replace: bool,
    /// Whether it waits for the end of the lease if that one is leased: see [`Item::successor`](crate::Item::successor).
    pub successor: bool,
    /// The [key](crate::Item::key) of its items, if they have one.
    pub key: Option<Bytes>,
    /// After which time an item is dead that was not leased. `None`: it does not expire.
    pub expires_in: Option<Duration>,
    /// Who declares it; empty: nobody.
    pub owner: String,
    /// The revision of its owner.
    pub revision: u64,
    /// What is done about missed ticks.
    pub missed: Missed,
    /// How late a tick may be processed; `None`: the default.
    pub grace: Option<Duration>,
    /// Whether an item is added although the last one has not ended.
    pub overlap: bool,
    /// Whether it is paused.
    pub paused: bool,
    /// When it was paused, by the server's clock. `None`: it is not paused.
    pub paused_at: Option<SystemTime>,
    /// [Who](crate::PauseOptions::by) has paused it. Empty: it is not paused, or nobody said so.
    pub paused_by: String,
    /// [Why](crate::PauseOptions::reason) it was paused. Empty: it is not paused, or nobody said so.
    pub pause_reason: String,
    /// The next tick; `None` while it is paused.
    pub next: Option<SystemTime>,
    /// The id of the last item that it has added; `None`: it has added none.
    pub last_id: Option<Bytes>,
}

/// What putting a schedule has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutSchedule {
    /// There was none.
    Added,
    /// Another one was stored. If it had the same rule, the next tick has stayed.
    Updated,
    /// The same one was stored.
    Unchanged,
    /// Its owner has stored or removed one with a higher revision. Nothing has changed.
    Outdated,
}

/// What [`sync_schedules`](crate::WorkQueue::sync_schedules) has done, by the names of the schedules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyncedSchedules {
    /// There was none.
    pub added: Vec<String>,
    /// Another one was stored.
    pub updated: Vec<String>,
    /// The owner declares them no longer.
    pub removed: Vec<String>,
    /// The same ones were stored.
    pub unchanged: Vec<String>,
    /// A newer deployment of the owner has stored or removed schedules: these stay as they are.
    pub outdated: Vec<String>,
}
