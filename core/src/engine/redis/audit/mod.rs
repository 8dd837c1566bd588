//! Finding and mending damage, in small atomic steps under full load. `check` is the same without
//! mending.
//!
//! The server cannot say in one small step whether an item stands in a ready list. So an audit first
//! collects all items that must be ready, and then reads all ready lists from the left. New entries at
//! the left only shift the rest of a list, so it sees every entry that stays. An item is in no state if
//! it was in no other state before and after, was not delivered in between, and was not seen. If an item
//! was seen twice, the audit looks for it once more.

mod candidates;
mod forward_lanes;
mod items;
mod ready;
mod state;
mod stretch;

use std::collections::BTreeSet;

use self::candidates::Candidates;
use self::items::Large;
use self::state::Audit;
use super::follow_ups;
use super::key_names;
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::name::QueueName;
use crate::options::MAX_PRIORITY;

/// Audits a queue. `pace`: see [`pause`](crate::engine::pause).
pub(super) async fn audit(
    engine: &RedisEngine,
    queue: &QueueName,
    mend: bool,
    pace: u32,
) -> Result<DeepReport> {
    let (report, candidates) = (DeepReport::default(), Candidates::default());
    let mut audit = Audit { engine, queue, mend, pace, report, candidates };
    // A key of a wrong type makes every script fail.
    audit.check_types().await?;
    if !audit.report.is_sound() {
        return Ok(audit.report);
    }
    if mend {
        // What a step that has stopped half-way has added gets into no list before its notes are gone.
        follow_ups::distribute_all(engine, queue).await?;
    }
    let mut none = Large::default();
    audit.check_index("successors", Some(Damage::DanglingDetails), &mut none).await?;
    let large = audit.check_details().await?;
    audit.check_items(&large).await?;
    audit.candidates.sort();
    let mut doubled = BTreeSet::new();
    for priority in 0..=MAX_PRIORITY {
        audit.check_ready(priority, &mut doubled).await?;
    }
    if !doubled.is_empty() {
        audit.find_doubled(doubled).await?;
    }
    audit.check_strays().await?;
    let indexes = [
        ("leased", Some(Damage::Dangling)),
        ("delayed", Some(Damage::Dangling)),
        ("dead", Some(Damage::Dangling)),
        ("completed", Some(Damage::Dangling)),
        ("cancelled", Some(Damage::Dangling)),
        ("held", Some(Damage::Dangling)),
        ("ended", Some(Damage::DanglingDetails)),
        ("uniques", None),
        ("timers", Some(Damage::BadTime)),
        ("expiries", Some(Damage::DanglingDetails)),
        ("marks", Some(Damage::DanglingDetails)),
        ("awaited", Some(Damage::BadTime)),
        ("follow_ups", Some(Damage::DanglingDetails)),
        ("members", Some(Damage::DanglingDetails)),
        ("groups", Some(Damage::DanglingDetails)),
        ("outbox", Some(Damage::DanglingDetails)),
        ("outgoing", Some(Damage::DanglingDetails)),
        ("ids", Some(Damage::DanglingId)),
        ("lines", None),
        ("meters", Some(Damage::BadTime)),
        ("places", Some(Damage::BadKey)),
        ("key_limits", Some(Damage::BadKey)),
        ("lanes", None),
    ];
    for (name, damage) in indexes {
        audit.check_index(name, damage, &mut Large::default()).await?;
    }
    for priority in 0..=MAX_PRIORITY {
        audit.check_counts(priority).await?;
    }
    audit.check_settings().await?;
    if mend {
        audit.sweep_lanes().await?;
        engine.announce(queue).await;
    }
    Ok(audit.report)
}

impl Audit<'_> {
    async fn check_types(&mut self) -> Result<()> {
        let types = reply::list(self.step(Script::AuditTypes, |_| ()).await?)?;
        for ((name, expected), found) in key_names::types().zip(types) {
            let found = reply::text(found)?;
            if found != "none" && found != expected {
                let what = format!("{name} is a {found}, not a {expected}");
                self.report.note(Damage::WrongType, 1, false, what);
            }
        }
        Ok(())
    }

    async fn check_settings(&mut self) -> Result<()> {
        let wrong = self.step(Script::AuditSettings, |command| {
            command.arg(self.mend as u8);
        });
        for wrong in reply::list(wrong.await?)? {
            // What another program has written may be no text.
            let what = String::from_utf8_lossy(&reply::bytes(wrong)?).into_owned();
            self.report.note(Damage::BadSettings, 1, self.mend, what);
        }
        Ok(())
    }

    async fn check_counts(&mut self, priority: u8) -> Result<()> {
        let wrong = self.step(Script::AuditCounts, |command| {
            command.arg(priority).arg(self.mend as u8);
        });
        for wrong in reply::list(wrong.await?)? {
            self.report.note(Damage::BadCount, 1, self.mend, reply::text(wrong)?);
        }
        Ok(())
    }
}
