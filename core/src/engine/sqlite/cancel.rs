//! Cancelling items. Those that are leased are marked, and end with their leases.

use rusqlite::{OptionalExtension, params};

use super::cancelling::Cancelling;
use super::count_delta::CountDelta;
use super::database::Database;
use super::row::{CANCELLED, Stored};
use super::{distribute, endings, events, extra, follow_ups, settings};
use crate::Result;
use crate::engine::{Cancellations, Ended, LeaseStatus, Target, Token};
use crate::event::EventKind;
use crate::name::QueueName;

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
