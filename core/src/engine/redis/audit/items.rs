//! Checking items and indexes, page by page.

use std::time::Duration;

use redis::{Value, cmd};

use super::state::{Audit, STEP, shown};
use crate::Result;
use crate::clean::Damage;
use crate::engine::redis::scripts::Script;
use crate::engine::redis::{number, reply};
use crate::options::{MAX_BATCH_BYTES, MAX_DELAY, MAX_LEASE};

/// Sizes of the records that are too large to read many of them at once.
#[derive(Default)]
pub(super) struct Large {
    /// `large` of `meta` before the sizes were added up.
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

impl Audit<'_> {
    /// Checks the index of details, and adds up the sizes of large records that it has.
    pub(super) async fn check_details(&mut self) -> Result<Large> {
        let mut command = cmd("HGET");
        command.arg(self.engine.context.keys(self.queue).meta()).arg("large");
        let last = shown(self.engine.context.command(self.queue, command).await?)?;
        let mut large = Large { last, ..Large::default() };
        self.check_index("details", Some(Damage::DanglingDetails), &mut large).await?;
        Ok(large)
    }

    /// Checks all items, and collects those that must be ready.
    pub(super) async fn check_items(&mut self, large: &Large) -> Result<()> {
        let ms = |limit: Duration| limit.as_millis() as u64;
        // A page may have all large records, or only the largest ones.
        let room = MAX_BATCH_BYTES as u64;
        let step = match large.all <= room {
            true => STEP as u64,
            false => (room / large.largest.max(1)).clamp(1, STEP as u64),
        };
        let mut place = Place::start();
        loop {
            let reply = self.step(Script::AuditItems, |command| {
                command.arg(&place.cursor).arg(place.skip).arg(step).arg(self.mend as u8);
                command.arg(ms(MAX_LEASE)).arg(ms(MAX_DELAY)).arg(&large.last);
            });
            let [next, skip, seen, candidates, findings] = reply::array(reply.await?)?;
            self.report.items += reply::number::<u64>(seen)?;
            let mut candidates = reply::list(candidates)?.into_iter();
            while let (Some(number), Some(delivery)) = (candidates.next(), candidates.next()) {
                // A field that is not a number was not written by this library.
                if let Some(number) = number::read(&reply::bytes(number)?) {
                    self.candidates.push(number, reply::number(delivery)?);
                }
            }
            self.note_findings(findings)?;
            place = Place { cursor: reply::text(next)?, skip: reply::number(skip)? };
            if place.is_end() {
                return Ok(());
            }
        }
    }

    fn note_findings(&mut self, findings: Value) -> Result<()> {
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
                "bad_unique" => Damage::BadUnique,
                "bad_key" => Damage::BadKey,
                "several_states" => Damage::SeveralStates,
                other => return Err(reply::unexpected(other)),
            };
            let mended = reply::number::<u8>(mended)? == 1;
            let what = format!("item number {}", shown(number)?);
            self.report.note(damage, 1, mended, what);
        }
        Ok(())
    }

    /// Checks one index for entries without an item.
    pub(super) async fn check_index(
        &mut self,
        name: &str,
        damage: Option<Damage>,
        large: &mut Large,
    ) -> Result<()> {
        let script = match name {
            "places" | "lines" | "key_limits" => Script::AuditKeys,
            _ => Script::AuditIndex,
        };
        let mut place = Place::start();
        loop {
            let reply = self.step(script, |command| {
                command.arg(name).arg(&place.cursor).arg(place.skip).arg(STEP);
                command.arg(self.mend as u8);
            });
            let [next, skip, dangling, all, largest, unlisted] = reply::array(reply.await?)?;
            large.all = large.all.saturating_add(reply::number(all)?);
            large.largest = large.largest.max(reply::number(largest)?);
            for member in reply::list(unlisted)? {
                let what = format!("members: {} is not listed", shown(member)?);
                self.report.note(Damage::DanglingDetails, 1, self.mend, what);
            }
            let dangling = reply::list(dangling)?;
            if name == "successors" && self.mend && !dangling.is_empty() {
                let entries = dangling.iter().cloned().map(reply::bytes);
                let entries = entries.collect::<Result<Vec<_>>>()?;
                let mended = self.step(Script::MendSuccessors, |command| {
                    entries.iter().for_each(|entry| {
                        command.arg(&entry[..]);
                    });
                });
                mended.await?;
            }
            for entry in dangling {
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
