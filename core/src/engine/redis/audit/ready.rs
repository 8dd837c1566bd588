//! Checking the ready lists: items that stand there twice, or not at all.

use std::collections::{BTreeSet, HashMap};

use super::state::{Audit, shown};
use super::stretch::Stretch;
use crate::Result;
use crate::clean::Damage;
use crate::engine::Generation;
use crate::engine::redis::scripts::Script;
use crate::engine::redis::{number, reply};
use crate::options::MAX_PRIORITY;

/// Strays that one step mends.
const STRAYS: usize = 100;
/// Entries that a step looks at from each of two places where an item was seen.
const AROUND: u64 = 500;
/// How often to look further on, in case new entries have shifted the first place.
const FURTHER: u64 = 4;

impl Audit<'_> {
    /// Marks the candidates in one list. Adds those that were marked before to `doubled`.
    pub(super) async fn check_ready(
        &mut self,
        priority: u8,
        doubled: &mut BTreeSet<Generation>,
    ) -> Result<()> {
        let mut stretch = Stretch::default();
        loop {
            let reply = self.step(Script::AuditReady, |command| {
                let (first, last) = stretch.places();
                command.arg(priority).arg(first).arg(last).arg(self.mend as u8);
            });
            let [numbers, misplaced] = reply::array(reply.await?)?;
            let misplaced = reply::list(misplaced)?;
            let misplaced: Vec<_> = misplaced.into_iter().map(shown).collect::<Result<_>>()?;
            for number in &misplaced {
                let what = format!("item number {number} is ready as well");
                self.report.note(Damage::SeveralStates, 1, self.mend, what);
            }
            let numbers = number::read_all(numbers)?;
            let fresh_from = stretch.fresh_from(&numbers);
            for (i, number) in numbers.iter().enumerate() {
                // Tombstones may be there twice; only items matter.
                let Some(number) = *number else { continue };
                let fresh = fresh_from.is_some_and(|fresh| i >= fresh);
                let again = self.candidates.mark(number) && fresh;
                if again && !misplaced.contains(&number.to_string()) {
                    doubled.insert(number);
                }
            }
            if !stretch.go_on(&numbers) {
                return Ok(());
            }
        }
    }

    /// Reads the lists again to find the places of these numbers.
    pub(super) async fn find_doubled(&mut self, doubled: BTreeSet<Generation>) -> Result<()> {
        let mut first = HashMap::new();
        for priority in 0..=MAX_PRIORITY {
            let mut stretch = Stretch::default();
            loop {
                let reply = self.step(Script::AuditReady, |command| {
                    let (first, last) = stretch.places();
                    command.arg(priority).arg(first).arg(last).arg(0);
                });
                let [numbers, _] = reply::array(reply.await?)?;
                let numbers = number::read_all(numbers)?;
                let fresh_from = stretch.fresh_from(&numbers);
                for (i, number) in numbers.iter().enumerate() {
                    let Some(number) = number.filter(|number| doubled.contains(number)) else {
                        continue;
                    };
                    let place = (priority, stretch.from + i as u64);
                    match first.get(&number) {
                        None => {
                            first.insert(number, place);
                        }
                        Some(first) if fresh_from.is_some_and(|fresh| i >= fresh) => {
                            self.mend_doubled(number, *first, place).await?;
                        }
                        Some(_) => {}
                    }
                }
                if !stretch.go_on(&numbers) {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn mend_doubled(
        &mut self,
        number: Generation,
        first: (u8, u64),
        second: (u8, u64),
    ) -> Result<()> {
        for further in 0..FURTHER {
            let reply = self.step(Script::MendDoubled, |command| {
                command.arg(number).arg(first.0).arg(first.1 + further * AROUND);
                command.arg(second.0).arg(second.1).arg(AROUND).arg(self.mend as u8);
            });
            let times = reply::number(reply.await?)?;
            if times > 0 {
                let what = format!("item number {number}");
                self.report.note(Damage::Doubled, times, self.mend, what);
                break;
            }
        }
        Ok(())
    }

    /// Makes the candidates that were not seen ready, if they are in no state.
    pub(super) async fn check_strays(&mut self) -> Result<()> {
        let mut missing: Vec<(Generation, u64)> = std::mem::take(&mut self.candidates).unmarked();
        // The oldest are pushed to the front last, so that they are leased first.
        missing.sort_unstable();
        while !missing.is_empty() {
            let step = &missing[missing.len().saturating_sub(STRAYS)..];
            let reply = self.step(Script::MendStray, |command| {
                command.arg(self.mend as u8);
                // Within a step, the first one is leased first.
                for (number, delivery) in step {
                    command.arg(number).arg(delivery);
                }
            });
            let [looked, strays] = reply::array(reply.await?)?;
            for stray in reply::list(strays)? {
                let what = format!("item number {}", shown(stray)?);
                self.report.note(Damage::Stray, 1, self.mend, what);
            }
            let looked: usize = reply::number(looked)?;
            let from = missing.len() - step.len();
            // The script may have reached its limit of bytes before the last ones.
            missing.drain(from..from + looked.clamp(1, missing.len() - from));
        }
        Ok(())
    }
}
