//! Cancelling items. Those that are leased are marked, and end with their leases.

use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::readable::readable;
use super::row::{CANCELLED, Stored};
use super::{
    change, distribute, endings, events, expiry, extra, follow_ups, large, settings, successors,
};
use crate::Result;
use crate::engine::{Cancellations, Ended, LeaseStatus, Target, Token};
use crate::event::EventKind;
use crate::item::State;
use crate::name::QueueName;
use crate::options::MAX_BATCH_BYTES;

pub(super) fn cancel(
    db: &mut Database,
    name: &QueueName,
    items: &[Target],
) -> Result<Vec<Option<bool>>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![Some(false); items.len()]) };
    let mut cancelling = Cancelling::new();
    let mut answers = Vec::with_capacity(items.len());
    for target in items {
        answers.push(cancelling.cancel(db, queue, target)?);
    }
    let delta = cancelling.end(db, queue)?;
    distribute::finish(db, queue, &delta)?;
    Ok(answers)
}

/// Several cancellations in one transaction.
pub(super) struct Cancelling {
    delta: CountDelta,
    /// How many bytes of large data may still be moved.
    room: i64,
    copied_any: bool,
    any_marked: bool,
}

impl Cancelling {
    pub(super) fn new() -> Cancelling {
        let room = MAX_BATCH_BYTES as i64;
        Cancelling { delta: CountDelta::default(), room, copied_any: false, any_marked: false }
    }

    /// `None`: it is too large for this transaction.
    pub(super) fn cancel(
        &mut self,
        db: &Database,
        queue: i64,
        target: &Target,
    ) -> Result<Option<bool>> {
        let allows = |state| state != State::Dead && !State::is_retained(state);
        let found = change::find(db, queue, target, &mut self.delta, allows)?;
        let Some(item) = expiry::unexpired(db, found)? else { return Ok(Some(false)) };
        let extra = match item.more {
            true => extra::read(db, item.number, None)?.unwrap_or_default(),
            false => extra::Extra::default(),
        };
        if item.state == State::Leased {
            if item.more {
                successors::drop(db, queue, item.number)?;
            }
            if !extra.marked {
                mark(db, item.number)?;
                self.any_marked = true;
            }
            return Ok(Some(true));
        }
        let retain = settings::retention(db, queue, extra.own_retain())?;
        if extra.follow_ups.is_some() && retain == 0 {
            follow_ups::cancel(db, queue, item.number)?;
        }
        let mut ended = item.number;
        if retain > 0 {
            let size = match large::length(db, item.number)? {
                // Data that cannot be read cannot be copied.
                Some(None) => return Ok(Some(false)),
                large => large.flatten().unwrap_or(0),
            };
            if size > self.room && self.copied_any {
                // The caller asks again for those that come after it, too, if they do not fit.
                return Ok(None);
            }
            self.room -= size;
            self.copied_any = true;
            let number = change::renumber(db, queue, item.number)?;
            ended = number;
            if extra.follow_ups.is_some() {
                follow_ups::cancel(db, queue, number)?;
            }
            extra::retain(db, number, CANCELLED, retain, None)?;
            self.delta.count(item.state, item.priority, -1);
            self.delta.count(State::Cancelled, item.priority, 1);
        } else {
            extra::delete_item(db, queue, item.number, &mut self.delta)?;
        }
        self.delta.cancelled += 1;
        events::note(db, queue, EventKind::Cancelled, ended, 0, Some(&target.id))?;
        let how = Ended::Cancelled { retained: extra.retain > 0 };
        endings::report(db, queue, &target.id, how)?;
        Ok(Some(true))
    }

    /// Returns what is to be counted.
    pub(super) fn end(self, db: &Database, queue: i64) -> Result<CountDelta> {
        if self.any_marked {
            // As on Redis, it follows the clock.
            const NOTE: &str = "UPDATE queue SET cancels = max(cancels + 1, ?2) WHERE queue = ?1";
            db.run(NOTE, |s| s.execute([queue, db.now as i64]))?;
        }
        Ok(self.delta)
    }
}

/// Marks a leased item.
fn mark(db: &Database, number: i64) -> Result<()> {
    const MARK: &str = concat!(
        "INSERT INTO extra (queue, number, retain, marked)
        VALUES ((SELECT queue FROM item WHERE number = ?1), ?1, 0, 1)
        ON CONFLICT (number) DO UPDATE SET marked = 1, ended_at = NULL, result = NULL,
        expires_at = CASE typeof(expires_at) WHEN 'integer' THEN expires_at END, ",
        readable!()
    );
    db.run(MARK, |s| s.execute([number]))?;
    db.run("UPDATE item SET more = 1 WHERE number = ?1", |s| s.execute([number]))?;
    Ok(())
}

/// For how long a marked item is retained when its lease ends, in ms. `None`: it is not marked.
pub(super) fn retention(db: &Database, queue: i64, item: &Stored) -> Result<Option<i64>> {
    if !item.more {
        return Ok(None);
    }
    let extra = extra::read(db, item.number, None)?.unwrap_or_default();
    match extra.marked {
        true => settings::retention(db, queue, extra.own_retain()).map(Some),
        false => Ok(None),
    }
}

/// Ends an item that was marked and is in the state `cancelled` by now.
pub(super) fn end(
    db: &Database,
    queue: i64,
    number: i64,
    retain: i64,
    delta: &mut CountDelta,
) -> Result<()> {
    let how = Ended::Cancelled { retained: retain > 0 };
    endings::report_number(db, queue, number, how)?;
    follow_ups::cancel(db, queue, number)?;
    if retain > 0 {
        extra::retain(db, number, CANCELLED, retain, None)?;
    } else {
        extra::delete_item(db, queue, number, delta)?;
    }
    delta.cancelled += 1;
    events::note(db, queue, EventKind::Cancelled, number, 0, None)?;
    Ok(())
}

pub(super) fn cancellations(
    db: &mut Database,
    name: &QueueName,
    leases: &[Token],
) -> Result<Cancellations> {
    const COUNTER: &str = "SELECT cancels FROM queue WHERE queue = ?1";
    const LEASE: &str =
        "SELECT EXISTS (SELECT 1 FROM extra WHERE extra.number = item.number AND marked = 1)
        FROM item WHERE number = ?1 AND queue = ?2 AND state = 1 AND deliveries = ?3";
    let Some(queue) = db.queue(name)? else {
        return Ok(Cancellations { counter: 0, leases: vec![LeaseStatus::Lost; leases.len()] });
    };
    let counter: i64 = db.run(COUNTER, |s| s.query_row([queue], |row| row.get(0)))?;
    let mut found = Vec::with_capacity(leases.len());
    for token in leases {
        let place = params![token.generation.count as i64, queue, token.delivery as i64];
        let marked = db.run(LEASE, |s| s.query_row(place, |row| row.get(0)).optional())?;
        found.push(match marked {
            None => LeaseStatus::Lost,
            Some(true) => LeaseStatus::Cancelled,
            Some(false) => LeaseStatus::Current,
        });
    }
    Ok(Cancellations { counter: counter as u64, leases: found })
}
