//! Settings of a queue, which are stored with it and hold for every client.

use std::time::{Duration, SystemTime};

use crate::key_rate::KeyRate;
use crate::options::{
    DEFAULT_KEY_LIMIT, MAX_ATTEMPTS, MAX_EVENTS, MAX_KEPT, MAX_KEY_LIMIT, MAX_RATE,
    MAX_RATE_PERIOD, MAX_RETAIN, MIN_KEPT_AGE, check_duration, check_kept, check_key_limit,
    check_retain,
};
use crate::pause::{Begun, Paused};
use crate::rate::{Rate, StoredRate};
use crate::unix_time::from_ms;
use crate::{Error, Result};

/// How many numbers are stored.
const COUNT: usize = 14;

/// One of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    MaxAttempts,
    Retain,
    MaxDead,
    MaxRetained,
    MaxDeadAge,
    MaxRetainedAge,
    KeyLimit,
    Events,
    /// The three numbers of a rate are set together.
    Rate,
    RatePeriod,
    RateBurst,
    /// As those of the queue's rate.
    KeyRate,
    KeyRatePeriod,
    KeyRateBurst,
}

impl Setting {
    pub(crate) const ALL: [Setting; COUNT] = [
        Setting::MaxAttempts,
        Setting::Retain,
        Setting::MaxDead,
        Setting::MaxRetained,
        Setting::MaxDeadAge,
        Setting::MaxRetainedAge,
        Setting::KeyLimit,
        Setting::Events,
        Setting::Rate,
        Setting::RatePeriod,
        Setting::RateBurst,
        Setting::KeyRate,
        Setting::KeyRatePeriod,
        Setting::KeyRateBurst,
    ];

    /// The name under which the engines store it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Setting::MaxAttempts => "max_attempts",
            Setting::Retain => "retain",
            Setting::MaxDead => "max_dead",
            Setting::MaxRetained => "max_retained",
            Setting::MaxDeadAge => "max_dead_age",
            Setting::MaxRetainedAge => "max_retained_age",
            Setting::KeyLimit => "key_limit",
            Setting::Events => "events",
            Setting::Rate => "rate",
            Setting::RatePeriod => "rate_period",
            Setting::RateBurst => "rate_burst",
            Setting::KeyRate => "key_rate",
            Setting::KeyRatePeriod => "key_rate_period",
            Setting::KeyRateBurst => "key_rate_burst",
        }
    }

    /// The highest value that is stored.
    pub(crate) fn most(self) -> u64 {
        match self {
            Setting::MaxAttempts => MAX_ATTEMPTS.into(),
            Setting::MaxDead | Setting::MaxRetained => MAX_KEPT,
            Setting::Retain | Setting::MaxDeadAge | Setting::MaxRetainedAge => {
                MAX_RETAIN.as_millis() as u64
            }
            Setting::KeyLimit => MAX_KEY_LIMIT.into(),
            Setting::Events => MAX_EVENTS,
            Setting::Rate | Setting::RateBurst | Setting::KeyRate | Setting::KeyRateBurst => {
                MAX_RATE
            }
            Setting::RatePeriod | Setting::KeyRatePeriod => MAX_RATE_PERIOD.as_millis() as u64,
        }
    }
}

/// The three numbers of a rate.
const RATE: [Setting; 3] = [Setting::Rate, Setting::RatePeriod, Setting::RateBurst];
const KEY_RATE: [Setting; 3] = [Setting::KeyRate, Setting::KeyRatePeriod, Setting::KeyRateBurst];

/// The settings of a queue as they are stored: times in ms, and 0 for what is not set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stored([u64; COUNT]);

impl Stored {
    pub(crate) fn get(self, setting: Setting) -> u64 {
        self.0[setting as usize]
    }

    /// What is out of range counts as not set.
    pub(crate) fn set(&mut self, setting: Setting, value: u64) {
        self.0[setting as usize] = if value <= setting.most() { value } else { 0 };
    }

    /// The rate of the queue.
    pub(crate) fn rate(self) -> Option<StoredRate> {
        self.rate_in(RATE)
    }

    /// The rate of each key.
    pub(crate) fn key_rate(self) -> Option<KeyRate> {
        self.rate_in(KEY_RATE).and_then(KeyRate::of)
    }

    fn rate_in(self, parts: [Setting; 3]) -> Option<StoredRate> {
        let [count, period, burst] = parts.map(|part| self.get(part));
        (count > 0 && period > 0 && burst > 0).then_some(StoredRate { count, period, burst })
    }

    /// Without parts of a rate: it counts as not set.
    pub(crate) fn whole(mut self) -> Stored {
        let rates = [(RATE, self.rate().is_some()), (KEY_RATE, self.key_rate().is_some())];
        for part in rates.into_iter().filter(|(_, is_set)| !is_set).flat_map(|(parts, _)| parts) {
            self.set(part, 0);
        }
        self
    }

    /// How many items of a key that has no limit of its own are leased at the same time.
    pub(crate) fn key_limit(self) -> u32 {
        match self.get(Setting::KeyLimit) {
            0 => DEFAULT_KEY_LIMIT,
            limit => limit as u32,
        }
    }

    /// For how long an item is retained that ends now, in ms. `own`: what its completion says, or else the item.
    pub(crate) fn retention(self, own: Option<u64>) -> u64 {
        let time = own.unwrap_or(self.get(Setting::Retain));
        match self.get(Setting::MaxRetainedAge) {
            0 => time,
            most => time.min(most),
        }
    }
}

/// A change of settings, for an engine.
#[derive(Debug, Clone)]
pub(crate) struct Configure {
    /// Each with its new value; 0: it is not set any more.
    pub(crate) changes: Vec<(Setting, u64)>,
    /// The revision that must be stored.
    pub(crate) revision: Option<u64>,
}

/// The settings of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// After so many failed or expired attempts an item is dead that was added without a limit of its own. `None`: it
    /// has no limit.
    pub max_attempts: Option<u32>,
    /// For how long a completed or cancelled item is retained if neither the item nor its completion says so. Zero:
    /// not at all.
    pub retain: Duration,
    /// The most dead items that the queue keeps; the oldest are removed. `None`: there is no limit.
    pub max_dead: Option<u64>,
    /// The most retained items that the queue keeps; those are removed first whose time ends first. `None`: there is
    /// no limit.
    pub max_retained: Option<u64>,
    /// Dead items are removed after this time. `None`: they stay.
    pub max_dead_age: Option<Duration>,
    /// The longest time for which an item is retained, whatever it was added or completed with. `None`: there is no
    /// limit.
    pub max_retained_age: Option<Duration>,
    /// How many items of a [key](crate::Item::key) are leased at the same time, unless it has a limit of its own.
    pub key_limit: u32,
    /// How many of its last changes the queue keeps as [events](crate::WorkQueue::events). `None`: none.
    pub events: Option<u64>,
    /// How many leases the queue gives in a time. `None`: there is no limit.
    pub rate: Option<Rate>,
    /// How many leases each [key](crate::Item::key) gets in a time. `None`: there is no limit.
    pub key_rate: Option<Rate>,
    /// Goes up with each change. 0: the queue was never configured.
    pub revision: u64,
    /// Whether leasing is paused. A pause is no change of settings, and has no revision.
    pub paused: bool,
    /// When leasing goes on by itself, by the server's clock. `None`: it is not paused, or until
    /// [`resume`](crate::WorkQueue::resume).
    pub paused_until: Option<SystemTime>,
    /// When the pause has begun, by the server's clock. `None`: it is not paused.
    pub paused_at: Option<SystemTime>,
    /// [Who](crate::PauseOptions::by) has paused it. Empty: it is not paused, or nobody said so.
    pub paused_by: String,
    /// [Why](crate::PauseOptions::reason) it was paused. Empty: it is not paused, or nobody said so.
    pub pause_reason: String,
    /// When the rate allows the next lease, by the server's clock. `None`: it allows one now, or there is no rate.
    pub rate_limited_until: Option<SystemTime>,
}

/// Those of a queue that was never configured.
impl Default for Settings {
    fn default() -> Self {
        Settings::new(Stored::default(), 0, Paused::No, "", None)
    }
}

impl Settings {
    /// `note`: what is stored of the pause. `opens`: when the rate allows the next lease, in ms since 1970, if it allows
    /// none now.
    pub(crate) fn new(
        stored: Stored,
        revision: u64,
        paused: Paused,
        note: &str,
        opens: Option<u64>,
    ) -> Settings {
        let some = |setting| Some(stored.get(setting)).filter(|value| *value > 0);
        let time = |setting| some(setting).map(Duration::from_millis);
        let begun = if paused == Paused::No { Begun::default() } else { Begun::read(note) };
        Settings {
            max_attempts: some(Setting::MaxAttempts).map(|most| most as u32),
            retain: Duration::from_millis(stored.get(Setting::Retain)),
            max_dead: some(Setting::MaxDead),
            max_retained: some(Setting::MaxRetained),
            max_dead_age: time(Setting::MaxDeadAge),
            max_retained_age: time(Setting::MaxRetainedAge),
            key_limit: stored.key_limit(),
            events: some(Setting::Events),
            rate: stored.rate_in(RATE).map(Rate::from),
            key_rate: stored.rate_in(KEY_RATE).map(Rate::from),
            revision,
            paused: paused != Paused::No,
            paused_until: match paused {
                Paused::Until(ms) => Some(from_ms(ms)),
                Paused::No | Paused::UntilResumed => None,
            },
            paused_at: begun.at,
            paused_by: begun.by,
            pause_reason: begun.reason,
            rate_limited_until: opens.map(from_ms),
        }
    }
}

/// What [`configure`](crate::WorkQueue::configure) changes of the settings of a queue; everything else stays as it is.
/// `None` removes a setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsChange {
    max_attempts: Option<Option<u32>>,
    retain: Option<Option<Duration>>,
    max_dead: Option<Option<u64>>,
    max_retained: Option<Option<u64>>,
    max_dead_age: Option<Option<Duration>>,
    max_retained_age: Option<Option<Duration>>,
    key_limit: Option<Option<u32>>,
    events: Option<Option<u64>>,
    rate: Option<Option<Rate>>,
    key_rate: Option<Option<Rate>>,
    revision: Option<u64>,
}

impl SettingsChange {
    /// Changes nothing yet.
    pub fn new() -> Self {
        SettingsChange::default()
    }

    /// After so many failed or expired attempts, 1 to 65,535, an item is dead that was added without a limit of its
    /// own. It holds for items that are in the queue already, too.
    pub fn max_attempts(mut self, most: impl Into<Option<u32>>) -> Self {
        self.max_attempts = Some(most.into());
        self
    }

    /// For how long, at most 366 days, a completed or cancelled item is retained if neither the item nor its
    /// completion says so. Zero is the same as `None`.
    pub fn retain(mut self, retain: impl Into<Option<Duration>>) -> Self {
        self.retain = Some(retain.into());
        self
    }

    /// The most dead items that the queue keeps, 1 to 1,000,000,000. Whoever leases or cleans removes the oldest
    /// others.
    pub fn max_dead(mut self, most: impl Into<Option<u64>>) -> Self {
        self.max_dead = Some(most.into());
        self
    }

    /// The most retained items that the queue keeps, 1 to 1,000,000,000. Whoever leases or cleans removes the others,
    /// those first whose time ends first.
    pub fn max_retained(mut self, most: impl Into<Option<u64>>) -> Self {
        self.max_retained = Some(most.into());
        self
    }

    /// Dead items are removed after this time, 1 ms to 366 days, by whoever leases or cleans.
    pub fn max_dead_age(mut self, most: impl Into<Option<Duration>>) -> Self {
        self.max_dead_age = Some(most.into());
        self
    }

    /// The longest time, 1 ms to 366 days, for which items are retained that end from now on, whatever they were added
    /// or completed with.
    pub fn max_retained_age(mut self, most: impl Into<Option<Duration>>) -> Self {
        self.max_retained_age = Some(most.into());
        self
    }

    /// How many items of a [key](crate::Item::key) are leased at the same time, 1 to 1,000, unless it has a [limit of its
    /// own](crate::WorkQueue::set_key_limits). `None`: 1. A lower limit takes no lease away.
    pub fn key_limit(mut self, limit: impl Into<Option<u32>>) -> Self {
        self.key_limit = Some(limit.into());
        self
    }

    /// How many of its last changes the queue keeps as [events](crate::WorkQueue::events), 1 to 1,000,000. `None`: none, and
    /// what it has kept is deleted.
    pub fn events(mut self, most: impl Into<Option<u64>>) -> Self {
        self.events = Some(most.into());
        self
    }

    /// How many leases the queue gives in a time, to all clients together, by the server's clock. When they are used up,
    /// items stay ready, and calls that wait get theirs when the next lease is allowed. It holds at once. What was used
    /// up of an earlier rate stays used up, as far as the new burst reaches.
    pub fn rate(mut self, rate: impl Into<Option<Rate>>) -> Self {
        self.rate = Some(rate.into());
        self
    }

    /// How many leases each [key](crate::Item::key) gets in a time, to all clients together, by the server's clock. When a
    /// key's leases are used up, its items are [held](crate::State::Held), and calls that wait get one when the next lease is
    /// allowed; items of other keys go on. The burst must be used up for at most 366 days: burst × period / count. It holds
    /// at once. What was used up stays used up, as far as the new burst reaches.
    pub fn key_rate(mut self, rate: impl Into<Option<Rate>>) -> Self {
        self.key_rate = Some(rate.into());
        self
    }

    /// Changes nothing if the stored revision is another than this one, which the caller has seen. 0: the queue must
    /// never have been configured.
    pub fn expect_revision(mut self, revision: u64) -> Self {
        self.revision = Some(revision);
        self
    }

    pub(crate) fn validate(&self) -> Result<Configure> {
        let mut changes = Vec::new();
        let mut change = |setting, value: Option<Result<u64>>| -> Result<()> {
            changes.push((setting, value.transpose()?.unwrap_or(0)));
            Ok(())
        };
        if let Some(most) = self.max_attempts {
            change(Setting::MaxAttempts, most.map(|most| check_attempts(most).map(u64::from)))?;
        }
        if let Some(retain) = self.retain {
            change(Setting::Retain, retain.map(check_retain))?;
        }
        if let Some(most) = self.max_dead {
            change(Setting::MaxDead, most.map(|most| check_kept("max_dead", most)))?;
        }
        if let Some(most) = self.max_retained {
            change(Setting::MaxRetained, most.map(|most| check_kept("max_retained", most)))?;
        }
        let check_age = |name, age| check_duration(name, age, MIN_KEPT_AGE, MAX_RETAIN);
        if let Some(most) = self.max_dead_age {
            change(Setting::MaxDeadAge, most.map(|most| check_age("max_dead_age", most)))?;
        }
        if let Some(most) = self.max_retained_age {
            change(Setting::MaxRetainedAge, most.map(|most| check_age("max_retained_age", most)))?;
        }
        if let Some(limit) = self.key_limit {
            change(Setting::KeyLimit, limit.map(|limit| check_key_limit(limit).map(u64::from)))?;
        }
        if let Some(most) = self.events {
            change(Setting::Events, most.map(check_events))?;
        }
        if let Some(rate) = self.rate {
            let stored = rate.map(Rate::validate).transpose()?;
            changes.extend(RATE.into_iter().zip(StoredRate::numbers(stored)));
        }
        if let Some(rate) = self.key_rate {
            let stored = rate.map(Rate::validate).transpose()?;
            stored.map(KeyRate::check).transpose()?;
            changes.extend(KEY_RATE.into_iter().zip(StoredRate::numbers(stored)));
        }
        Ok(Configure { changes, revision: self.revision })
    }
}

fn check_attempts(most: u32) -> Result<u32> {
    if (1..=MAX_ATTEMPTS).contains(&most) {
        return Ok(most);
    }
    Err(Error::invalid(format_args!("max_attempts {most} is not between 1 and {MAX_ATTEMPTS}")))
}

fn check_events(most: u64) -> Result<u64> {
    if (1..=MAX_EVENTS).contains(&most) {
        return Ok(most);
    }
    Err(Error::invalid(format_args!("events of {most} is not between 1 and {MAX_EVENTS}")))
}
