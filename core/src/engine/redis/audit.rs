//! Finding and mending damage, in small atomic steps under full load. `check` is the same without
//! mending.
//!
//! Whether an item stands in a ready list cannot be asked of the server in one small step. So:
//! first all items that must be ready are collected, then all ready lists are read from the left.
//! New entries at the left only shift what is still to be read, so whatever stays in a list is
//! seen. An item that was in no other state before and after, was not delivered in between, and was
//! not seen, is in no state at all.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use redis::{Cmd, Value};

use super::RedisEngine;
use super::keys::{ALL, Keys, UP_TO_DEAD};
use super::scripts::Script;
use super::{number, reply};
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::engine::{Generation, pause};
use crate::name::QueueName;
use crate::options::{MAX_DELAY, MAX_LEASE, MAX_PRIORITY};

/// Items that one step looks at: about 1 ms of the server's time.
const STEP: usize = 150;

pub(super) struct Audit<'a> {
    engine: &'a RedisEngine,
    queue: &'a QueueName,
    mend: bool,
    /// After each step the server is left alone for so many times as long as the step took.
    pace: u32,
    report: DeepReport,
    /// Items that must be ready: number and delivery.
    candidates: HashMap<Generation, u64>,
    /// Where numbers were seen among the ready ones: priority and place from the left.
    seen: HashMap<Generation, (u8, u64)>,
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
            candidates: HashMap::new(),
            seen: HashMap::new(),
        }
    }

    pub(super) async fn run(mut self) -> Result<DeepReport> {
        if !self.types_are_right().await? {
            return Ok(self.report);
        }
        self.items().await?;
        for priority in 0..=MAX_PRIORITY {
            self.ready(priority).await?;
        }
        self.strays().await?;
        let indexes = [
            ("leased", Damage::Dangling),
            ("delayed", Damage::Dangling),
            ("dead", Damage::Dangling),
            ("ids", Damage::DanglingId),
            ("extra", Damage::DanglingDetails),
        ];
        for (name, damage) in indexes {
            self.index(name, Some(damage)).await?;
        }
        self.index("lanes", None).await?;
        let wrong = self.step(Script::AuditCounts, ALL, |command| {
            command.arg(self.mend as u8);
        });
        for wrong in reply::list(wrong.await?)? {
            self.report.note(Damage::BadCount, 1, self.mend, reply::text(wrong)?);
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
        let reply = self.engine.look(self.queue, script, key_count, fill).await;
        pause(begun, self.pace).await;
        reply
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

    async fn items(&mut self) -> Result<()> {
        let mut cursor = String::from("0");
        let ms = |limit: Duration| limit.as_millis() as u64;
        loop {
            let reply = self.step(Script::AuditItems, UP_TO_DEAD, |command| {
                command.arg(&cursor).arg(STEP).arg(self.mend as u8);
                command.arg(ms(MAX_LEASE)).arg(ms(MAX_DELAY));
            });
            let [next, seen, candidates, findings] = reply::array(reply.await?)?;
            self.report.items += reply::number::<u64>(seen)?;
            let mut candidates = reply::list(candidates)?.into_iter();
            while let (Some(number), Some(delivery)) = (candidates.next(), candidates.next()) {
                // A field that is no number was not written by this library.
                if let Some(number) = number::read(&reply::bytes(number)?) {
                    self.candidates.insert(number, reply::number(delivery)?);
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
            cursor = reply::text(next)?;
            if cursor == "0" {
                return Ok(());
            }
        }
    }

    async fn ready(&mut self, priority: u8) -> Result<()> {
        let mut from = 0u64;
        // Entries that are no numbers are tombstones, and count as none.
        let mut last: Option<Option<Generation>> = None;
        loop {
            let reply = self.step(Script::AuditReady, ALL, |command| {
                command.arg(priority).arg(from).arg(from + STEP as u64 - 1).arg(self.mend as u8);
            });
            let [numbers, misplaced] = reply::array(reply.await?)?;
            let misplaced = reply::list(misplaced)?;
            let misplaced: Vec<_> = misplaced.into_iter().map(shown).collect::<Result<_>>()?;
            for number in &misplaced {
                let what = format!("item number {number} is ready as well");
                self.report.note(Damage::SeveralStates, 1, self.mend, what);
            }
            let numbers = number::read_all(numbers)?;
            // Each stretch begins with the last entry of the one before. Entries that came in at the
            // left have shifted it; what follows it was not seen yet. If it is gone, or was
            // shifted too far, nothing can be said about doubles in this stretch.
            let fresh_from = match last {
                None => Some(0),
                Some(last) => numbers.iter().position(|number| *number == last).map(|i| i + 1),
            };
            for (i, number) in numbers.iter().enumerate() {
                let Some(number) = *number else { continue };
                let place = (priority, from + i as u64);
                let fresh = fresh_from.is_some_and(|fresh| i >= fresh);
                match self.seen.get(&number) {
                    Some(first) if fresh && !misplaced.contains(&number.to_string()) => {
                        let first = *first;
                        self.doubled(number, first, place).await?;
                    }
                    Some(_) => {}
                    None => {
                        self.seen.insert(number, place);
                    }
                }
            }
            if numbers.len() < STEP {
                return Ok(());
            }
            last = numbers.last().copied();
            from += STEP as u64 - 1;
        }
    }

    async fn doubled(
        &mut self,
        number: Generation,
        first: (u8, u64),
        second: (u8, u64),
    ) -> Result<()> {
        // A tombstone may stand twice; only items matter.
        if !self.candidates.contains_key(&number) {
            return Ok(());
        }
        let reply = self.step(Script::MendDoubled, ALL, |command| {
            command.arg(number).arg(first.0).arg(first.1).arg(second.0).arg(second.1);
            command.arg(self.mend as u8);
        });
        let times = reply::number(reply.await?)?;
        self.report.note(Damage::Doubled, times, self.mend, format!("item number {number}"));
        Ok(())
    }

    async fn strays(&mut self) -> Result<()> {
        let mut missing: Vec<(Generation, u64)> = std::mem::take(&mut self.candidates)
            .into_iter()
            .filter(|(number, _)| !self.seen.contains_key(number))
            .collect();
        // The oldest are pushed to the front last, so that they are leased first.
        missing.sort_unstable_by(|a, b| b.cmp(a));
        let mut rest = missing.as_slice();
        while !rest.is_empty() {
            let step = &rest[..rest.len().min(100)];
            let reply = self.step(Script::MendStray, ALL, |command| {
                command.arg(self.mend as u8);
                // Within a step, the first one is leased first.
                for (number, delivery) in step.iter().rev() {
                    command.arg(number).arg(delivery);
                }
            });
            let [looked, strays] = reply::array(reply.await?)?;
            for stray in reply::list(strays)? {
                let what = format!("item number {}", shown(stray)?);
                self.report.note(Damage::Stray, 1, self.mend, what);
            }
            let looked: usize = reply::number(looked)?;
            if looked >= step.len() {
                rest = &rest[step.len()..];
            } else {
                // It stopped at its limit of bytes, having gone backwards: the others are left.
                let mut left = step[..step.len() - looked].to_vec();
                left.extend_from_slice(&rest[step.len()..]);
                missing = left;
                rest = missing.as_slice();
            }
        }
        Ok(())
    }

    async fn index(&mut self, name: &str, damage: Option<Damage>) -> Result<()> {
        let mut cursor = String::from("0");
        loop {
            let reply = self.step(Script::AuditIndex, UP_TO_DEAD, |command| {
                command.arg(name).arg(&cursor).arg(STEP).arg(self.mend as u8);
            });
            let [next, dangling] = reply::array(reply.await?)?;
            for entry in reply::list(dangling)? {
                match damage {
                    Some(damage) => {
                        let what = format!("{name}: {}", shown(entry)?);
                        self.report.note(damage, 1, self.mend, what);
                    }
                    None => self.report.idle_lanes += 1,
                }
            }
            cursor = reply::text(next)?;
            if cursor == "0" {
                return Ok(());
            }
        }
    }
}

fn shown(value: Value) -> Result<String> {
    Ok(reply::bytes(value)?.escape_ascii().to_string())
}
