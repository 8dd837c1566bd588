//! Settings, and pausing.

use std::collections::BTreeSet;

use leaseq::{PauseOptions, Rate, SettingsChange, State, WorkQueue};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::driver::Driver;
use crate::model::{Entry, Model};
use crate::support::*;

/// Of all rates, in ms.
pub(crate) const PERIOD: u64 = 20;

/// How much of a rate is used up, in 1/20 of a lease.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Used {
    parts: u64,
    at: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) max_attempts: Option<u32>,
    retain: u64,
    max_dead: Option<u64>,
    max_retained: Option<u64>,
    max_dead_age: Option<u64>,
    max_retained_age: Option<u64>,
    pub(crate) key_limit: Option<u32>,
    /// Leases in each [`PERIOD`], and the burst.
    rate: Option<(u32, u32)>,
    pub(crate) key_rate: Option<(u32, u32)>,
    revision: u64,
}

impl Settings {
    /// For how long an item is retained. `own`: what it or its completion says.
    pub(crate) fn retention(&self, own: Option<u64>) -> u64 {
        let time = own.unwrap_or(self.retain);
        self.max_retained_age.map_or(time, |most| time.min(most))
    }

    pub(crate) fn retention_of(&self, entry: &Entry) -> u64 {
        self.retention(Some(entry.retain).filter(|own| *own > 0))
    }
}

impl Model {
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.is_some_and(|until| until > self.now)
    }

    /// How many leases the rate allows now.
    pub(crate) fn allowed(&mut self) -> usize {
        let Some((_, burst)) = self.settings.rate else { return usize::MAX };
        self.use_up(0);
        (u64::from(burst) - self.used.parts.div_ceil(PERIOD)) as usize
    }

    pub(crate) fn use_up(&mut self, leases: usize) {
        let Some((count, _)) = self.settings.rate else { return };
        let lost = (self.now - self.used.at) * u64::from(count);
        let parts = self.used.parts.saturating_sub(lost) + leases as u64 * PERIOD;
        self.used = Used { parts, at: self.now };
    }

    /// When the next lease is allowed; `None`: one is allowed now.
    fn opens(&mut self) -> Option<u64> {
        let (count, burst) = self.settings.rate?;
        if self.allowed() > 0 {
            return None;
        }
        let over = self.used.parts - (u64::from(burst) - 1) * PERIOD;
        Some(self.now + over.div_ceil(count.into()))
    }

    pub(crate) fn is_limited(&mut self) -> bool {
        self.allowed() == 0
    }

    fn configure(&mut self, mut settings: Settings, expected: Option<u64>) -> Option<Settings> {
        let before = self.settings;
        if expected.is_some_and(|expected| expected != before.revision) {
            return None;
        }
        settings.revision = before.revision;
        if settings != before {
            settings.revision = (before.revision + 1).max(self.now);
            self.exists = true;
            self.use_up(0);
            self.settings = settings;
            self.used = match (before.rate, settings.rate) {
                (Some(_), Some((_, burst))) => {
                    Used { parts: self.used.parts.min(u64::from(burst) * PERIOD), ..self.used }
                }
                _ => Used { parts: 0, at: self.now },
            };
        }
        Some(settings)
    }

    /// Removes what the settings allow no longer. Which ones of those go whose time ends in the same millisecond, the queue
    /// decides.
    pub(crate) fn sweep_by_settings(&mut self) {
        let retained = |model: &Model, state| {
            let all = model.list(state).into_iter();
            all.map(|number| (model.items[&number].at, number)).collect::<Vec<_>>()
        };
        let mut kept = retained(self, State::Completed);
        kept.extend(retained(self, State::Cancelled));
        kept.sort_unstable();
        let dead = self.by_time(State::Dead, u64::MAX);
        let excess = |count: usize, most: Option<u64>| {
            most.map_or(0, |most| count.saturating_sub(most as usize))
        };
        let old = |number: &u64| {
            let most = self.settings.max_dead_age;
            most.is_some_and(|most| self.items[number].at + most <= self.now)
        };
        let too_old = dead.iter().filter(|number| old(number)).count();
        let excess_kept = excess(kept.len(), self.settings.max_retained);
        // Up to here it is certain.
        let certain = match kept.get(excess_kept) {
            Some((first_kept, _)) => kept.partition_point(|(at, _)| at < first_kept),
            None => kept.len(),
        };
        if certain < excess_kept {
            let at = kept[excess_kept].0;
            let same = kept.iter().filter(|(other, _)| *other == at).map(|(_, number)| *number);
            self.undecided = Some((same.collect(), excess_kept - certain));
            self.totals[6] += (excess_kept - certain) as u64;
        }
        let gone = kept.iter().map(|(_, number)| *number).take(certain);
        let too_many = excess(dead.len(), self.settings.max_dead);
        let gone: Vec<u64> = gone.chain(dead.iter().copied().take(too_many.max(too_old))).collect();
        for generation in &gone {
            self.forget(*generation);
        }
        self.totals[6] += gone.len() as u64;
    }

    /// When the next dead item is too old.
    pub(crate) fn next_too_old(&self) -> Option<u64> {
        let oldest = self.by_time(State::Dead, u64::MAX).first().copied()?;
        Some(self.items[&oldest].at + self.settings.max_dead_age?)
    }
}

impl Driver<'_> {
    /// Looks which retained items have gone.
    pub(crate) async fn decide(&mut self, queue: &WorkQueue) {
        let Some((same, count)) = self.model.undecided.take() else { return };
        let mut left = BTreeSet::new();
        for state in State::ALL.into_iter().filter(|state| state.is_retained()) {
            left.extend(
                list_all(queue, state, 1000).await.into_iter().map(|info| info.id.to_vec()),
            );
        }
        let is_gone = |number: &u64| !left.contains(&self.model.items[number].id);
        let gone: Vec<u64> = same.into_iter().filter(is_gone).collect();
        assert_eq!(gone.len(), count, "of those whose time ends in the same millisecond");
        for number in gone {
            self.model.forget(number);
        }
    }

    pub(crate) async fn pause(&mut self, queue: &WorkQueue) {
        let for_ms = *[None, None, Some(1), Some(20), Some(100)].choose(&mut self.rng).unwrap();
        let begins = self.rng.random_bool(0.4);
        self.note(format!("pause {begins}, for {for_ms:?}"));
        self.model.paused = match (begins, for_ms) {
            (true, Some(time)) => {
                queue.pause_with(PauseOptions::new().duration(ms(time))).await.unwrap();
                Some(self.model.now + time)
            }
            (true, None) => {
                queue.pause().await.unwrap();
                Some(u64::MAX)
            }
            (false, _) => {
                queue.resume().await.unwrap();
                None
            }
        };
        self.model.exists |= begins;
    }

    /// Changes some of the settings, of extended queues.
    pub(crate) async fn configure(&mut self, queue: &WorkQueue) {
        if !self.extended {
            return;
        }
        let (mut settings, mut change) = (self.model.settings, SettingsChange::new());
        let rng = &mut self.rng;
        if rng.random_bool(0.3) {
            settings.max_attempts = *[None, Some(1), Some(2)].choose(rng).unwrap();
            change = change.max_attempts(settings.max_attempts);
        }
        if rng.random_bool(0.3) {
            settings.retain = *[0, 20, 5000].choose(rng).unwrap();
            change = change.retain(ms(settings.retain));
        }
        if rng.random_bool(0.3) {
            settings.max_dead = *[None, Some(1), Some(4)].choose(rng).unwrap();
            change = change.max_dead(settings.max_dead);
        }
        if rng.random_bool(0.3) {
            settings.max_retained = *[None, Some(1), Some(4)].choose(rng).unwrap();
            change = change.max_retained(settings.max_retained);
        }
        if rng.random_bool(0.3) {
            settings.max_dead_age = *[None, Some(1), Some(1000)].choose(rng).unwrap();
            change = change.max_dead_age(settings.max_dead_age.map(ms));
        }
        if rng.random_bool(0.3) {
            settings.max_retained_age = *[None, Some(1), Some(100)].choose(rng).unwrap();
            change = change.max_retained_age(settings.max_retained_age.map(ms));
        }
        if rng.random_bool(0.3) {
            settings.key_limit = *[None, Some(2), Some(3)].choose(rng).unwrap();
            change = change.key_limit(settings.key_limit);
        }
        if rng.random_bool(0.3) {
            settings.rate = *[None, Some((1, 1)), Some((3, 2)), Some((7, 40))].choose(rng).unwrap();
            let rate =
                settings.rate.map(|(count, burst)| Rate::new(count, ms(PERIOD)).burst(burst));
            change = change.rate(rate);
        }
        // All can use up the same time: the model does not know when a lease cuts it.
        if rng.random_bool(0.3) {
            settings.key_rate =
                *[None, None, Some((1, 1)), Some((2, 2)), Some((5, 5))].choose(rng).unwrap();
            let rate =
                settings.key_rate.map(|(count, burst)| Rate::new(count, ms(PERIOD)).burst(burst));
            change = change.key_rate(rate);
        }
        let seen = self.model.settings.revision;
        let expected = *[None, Some(seen), Some(seen + 1), Some(0)].choose(rng).unwrap();
        if let Some(revision) = expected {
            change = change.expect_revision(revision);
        }
        self.note(format!("configure {change:?}"));
        let configured = queue.configure(change).await.unwrap();
        let expected = self.model.configure(settings, expected);
        assert_eq!(configured.is_some(), expected.is_some());
        let found = queue.settings().await.unwrap();
        assert!(configured.is_none_or(|answer| answer == found));
        let settings = self.model.settings;
        assert_eq!(
            (found.max_attempts, found.retain),
            (settings.max_attempts, ms(settings.retain))
        );
        assert_eq!(
            (found.max_dead, found.max_retained),
            (settings.max_dead, settings.max_retained)
        );
        assert_eq!(found.key_limit, settings.key_limit.unwrap_or(1));
        assert_eq!(found.max_dead_age, settings.max_dead_age.map(ms));
        assert_eq!(found.max_retained_age, settings.max_retained_age.map(ms));
        assert_eq!(found.rate.map(|rate| (rate.count, rate.burst)), settings.rate);
        assert_eq!(found.key_rate.map(|rate| (rate.count, rate.burst)), settings.key_rate);
        assert_eq!(found.rate_limited_until.map(since_1970), self.model.opens());
        assert_eq!((found.revision, found.paused), (settings.revision, self.model.is_paused()));
        let until = self.model.paused.filter(|at| *at < u64::MAX && *at > self.model.now);
        assert_eq!(found.paused_until.map(since_1970), until);
    }
}
