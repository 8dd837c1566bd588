//! Finding and mending damage, in small atomic steps under full load. `check` is the same without
//! mending.
//!
//! Whether an item stands in a ready list cannot be asked of the server in one small step. So:
//! first all items that must be ready are collected, then all ready lists are read from the left.
//! New entries at the left only shift what is still to be read, so whatever stays in a list is
//! seen. An item that was in no other state before and after, was not delivered in between, and was
//! not seen, is in no state at all. Items that were seen twice are looked for once more.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use redis::{Cmd, Value, cmd};

use super::RedisEngine;
use super::candidates::Candidates;
use super::keys::{ALL, Keys, UP_TO_DEAD};
use super::scripts::Script;
use super::{number, reply};
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::engine::{Generation, pause};
use crate::name::QueueName;
use crate::options::{MAX_BATCH_BYTES, MAX_DELAY, MAX_LEASE, MAX_PRIORITY};

/// Items that one step looks at: about 1 ms of the server's time.
const STEP: usize = 150;
/// Strays that one step mends.
const STRAYS: usize = 100;
/// Entries that a step looks at from each of two places where an item was seen.
const AROUND: u64 = 500;
/// How often it looks further on, where entries that were added since have shifted the first.
const FURTHER: u64 = 4;

pub(super) struct Audit<'a> {
    engine: &'a RedisEngine,
    queue: &'a QueueName,
    mend: bool,
    /// After each step the server is left alone for so many times as long as the step took.
    pace: u32,
    report: DeepReport,
    /// Items that must be ready.
    candidates: Candidates,
}

/// Sizes of the records too large to read many at once.
#[derive(Default)]
struct Large {
    /// `large` of `meta` before they were added up.
    last: String,
    all: u64,
    largest: u64,
}

/// Where a scan goes on.
struct Place {
    cursor: String,
    skip: u64,
}

impl Place {
    fn start() -> Self {
        Place { cursor: "0".into(), skip: 0 }
    }

    fn is_end(&self) -> bool {
        self.cursor == "0" && self.skip == 0
    }
}

impl<'a> Audit<'a> {
    pub(super) fn new(
        engine: &'a RedisEngine,
        queue: &'a QueueName,
        mend: bool,
        pace: u32,
    ) -> Self {
        Audit {
            engine,
            queue,
            mend,
            pace,
            report: DeepReport::default(),
            candidates: Candidates::default(),
        }
    }

    pub(super) async fn run(mut self) -> Result<DeepReport> {
        if !self.types_are_right().await? {
            return Ok(self.report);
        }
        let mut large = Large { last: self.last_large().await?, ..Large::default() };
        self.index("extra", Some(Damage::DanglingDetails), &mut large).await?;
        self.items(&large).await?;
        self.candidates.sort();
        let mut doubled = BTreeSet::new();
        for priority in 0..=MAX_PRIORITY {
            self.ready(priority, &mut doubled).await?;
        }
        if !doubled.is_empty() {
            self.doubled(doubled).await?;
        }
        self.strays().await?;
        let indexes = [
            ("leased", Some(Damage::Dangling)),
            ("delayed", Some(Damage::Dangling)),
            ("dead", Some(Damage::Dangling)),
            ("ids", Some(Damage::DanglingId)),
            ("lanes", None),
        ];
        for (name, damage) in indexes {
            self.index(name, damage, &mut Large::default()).await?;
        }
        for priority in 0..=MAX_PRIORITY {
            let wrong = self.step(Script::AuditCounts, ALL, |command| {
                command.arg(priority).arg(self.mend as u8);
            });
            for wrong in reply::list(wrong.await?)? {
                self.report.note(Damage::BadCount, 1, self.mend, reply::text(wrong)?);
            }
        }
        if self.mend {
            self.engine.announce(self.queue).await;
        }
        Ok(self.report)
    }

    async fn step(
        &self,
        script: Script,
        key_count: usize,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        let begun = Instant::now();
        let reply = self.engine.query(self.queue, script, key_count, fill).await;
        pause(begun, self.pace).await;
        reply
    }

    async fn last_large(&self) -> Result<String> {
        let mut command = cmd("HGET");
        command.arg(self.engine.keys(self.queue).meta()).arg("large");
        let until = self.engine.until();
        let found = self.engine.manager.command(self.queue, until, command).await?;
        Ok(reply::bytes(found)?.escape_ascii().to_string())
    }

    /// A key of a wrong type makes every script fail: it is reported, and nothing else is done.
    async fn types_are_right(&mut self) -> Result<bool> {
        let types = reply::list(self.step(Script::AuditTypes, ALL, |_| ()).await?)?;
        for (i, found) in types.into_iter().enumerate() {
            let expected = match i {
                0..=3 | 5 => "hash",
                4 | 7 | 8 => "zset",
                _ => "list",
            };
            let found = reply::text(found)?;
            if found != "none" && found != expected {
                let what = format!("{} is a {found}, not a {expected}", Keys::short_name(i));
                self.report.note(Damage::WrongType, 1, false, what);
            }
        }
        Ok(self.report.is_sound())
    }

    async fn items(&mut self, large: &Large) -> Result<()> {
        let ms = |limit: Duration| limit.as_millis() as u64;
        // A page may have all of the large ones, or be all of the largest.
        let room = MAX_BATCH_BYTES as u64;
        let step = match large.all <= room {
            true => STEP as u64,
            false => (room / large.largest.max(1)).clamp(1, STEP as u64),
        };
        let mut place = Place::start();
        loop {
            let reply = self.step(Script::AuditItems, UP_TO_DEAD, |command| {
                command.arg(&place.cursor).arg(place.skip).arg(step).arg(self.mend as u8);
                command.arg(ms(MAX_LEASE)).arg(ms(MAX_DELAY)).arg(&large.last);
            });
            let [next, skip, seen, candidates, findings] = reply::array(reply.await?)?;
            self.report.items += reply::number::<u64>(seen)?;
            let mut candidates = reply::list(candidates)?.into_iter();
            while let (Some(number), Some(delivery)) = (candidates.next(), candidates.next()) {
                // A field that is no number was not written by this library.
                if let Some(number) = number::read(&reply::bytes(number)?) {
                    self.candidates.push(number, reply::number(delivery)?);
                }
            }
            let mut findings = reply::list(findings)?.into_iter();
            while let (Some(damage), Some(number), Some(mended)) =
                (findings.next(), findings.next(), findings.next())
            {
                let damage = match reply::text(damage)?.as_str() {
                    "bad_record" => Damage::BadRecord,
                    "lost_id" => Damage::LostId,
                    "bad_time" => Damage::BadTime,
                    "bad_count" => Damage::BadCount,
                    "bad_details" => Damage::BadDetails,
                    "several_states" => Damage::SeveralStates,
                    other => return Err(reply::unexpected(other)),
                };
                let mended = reply::number::<u8>(mended)? == 1;
                let what = format!("item number {}", shown(number)?);
                self.report.note(damage, 1, mended, what);
            }
            place = Place { cursor: reply::text(next)?, skip: reply::number(skip)? };
            if place.is_end() {
                return Ok(());
            }
        }
    }

    /// Marks the candidates in one list; `doubled` gets those that were marked before.
    async fn ready(&mut self, priority: u8, doubled: &mut BTreeSet<Generation>) -> Result<()> {
        let mut stretch = Stretch::default();
        loop {
            let reply = self.step(Script::AuditReady, ALL, |command| {
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
                // A tombstone may stand twice; only items matter.
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

    /// Reads the lists again, for the places where these numbers stand.
    async fn doubled(&mut self, doubled: BTreeSet<Generation>) -> Result<()> {
        let mut first = HashMap::new();
        for priority in 0..=MAX_PRIORITY {
            let mut stretch = Stretch::default();
            loop {
                let reply = self.step(Script::AuditReady, ALL, |command| {
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
            let reply = self.step(Script::MendDoubled, ALL, |command| {
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

    async fn strays(&mut self) -> Result<()> {
        let mut missing: Vec<(Generation, u64)> = std::mem::take(&mut self.candidates).unmarked();
        // The oldest are pushed to the front last, so that they are leased first.
        missing.sort_unstable();
        while !missing.is_empty() {
            let step = &missing[missing.len().saturating_sub(STRAYS)..];
            let reply = self.step(Script::MendStray, ALL, |command| {
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
            // At its limit of bytes it has left the last ones.
            missing.drain(from..from + looked.clamp(1, missing.len() - from));
        }
        Ok(())
    }

    async fn index(&mut self, name: &str, damage: Option<Damage>, large: &mut Large) -> Result<()> {
        let mut place = Place::start();
        loop {
            let reply = self.step(Script::AuditIndex, UP_TO_DEAD, |command| {
                command.arg(name).arg(&place.cursor).arg(place.skip).arg(STEP);
                command.arg(self.mend as u8);
            });
            let [next, skip, dangling, all, largest] = reply::array(reply.await?)?;
            large.all = large.all.saturating_add(reply::number(all)?);
            large.largest = large.largest.max(reply::number(largest)?);
            for entry in reply::list(dangling)? {
                match damage {
                    Some(damage) => {
                        let what = format!("{name}: {}", shown(entry)?);
                        self.report.note(damage, 1, self.mend, what);
                    }
                    None => self.report.idle_lanes += 1,
                }
            }
            place = Place { cursor: reply::text(next)?, skip: reply::number(skip)? };
            if place.is_end() {
                return Ok(());
            }
        }
    }
}

/// The part of a ready list that is read next. Each begins with the last entry of the one before. Entries
/// that came in at the left have shifted it; what follows it was not seen yet. If it is gone, or was
/// shifted too far, nothing can be said about doubles in this stretch.
#[derive(Default)]
struct Stretch {
    from: u64,
    // Entries that are no numbers are tombstones, and count as none.
    last: Option<Option<Generation>>,
}

impl Stretch {
    fn places(&self) -> (u64, u64) {
        (self.from, self.from + STEP as u64 - 1)
    }

    fn fresh_from(&self, numbers: &[Option<Generation>]) -> Option<usize> {
        match self.last {
            None => Some(0),
            Some(last) => numbers.iter().position(|number| *number == last).map(|i| i + 1),
        }
    }

    /// False: the list has ended.
    fn go_on(&mut self, numbers: &[Option<Generation>]) -> bool {
        self.last = numbers.last().copied();
        self.from += STEP as u64 - 1;
        numbers.len() >= STEP
    }
}

fn shown(value: Value) -> Result<String> {
    Ok(reply::bytes(value)?.escape_ascii().to_string())
}
