//! Schedules.

use bytes::Bytes;
use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use super::row::{CANCELLED, COMPLETED, DEAD, LEASED};
use super::{add, expiry, follow_ups};
use crate::Result;
use crate::engine::{Schedules, StoredSchedule, Swap, Swapped, WhichSchedules};
use crate::name::QueueName;
use crate::options::{MAX_BATCH_BYTES, MAX_SCHEDULES};

/// How many schedules one step reads.
const STEP: i64 = 100;

pub(super) fn read(
    db: &mut Database,
    name: &QueueName,
    which: &WhichSchedules,
    with_data: bool,
) -> Result<Schedules> {
    let now_ms = db.now;
    let Some(queue) = db.queue(name)? else {
        return Ok(Schedules { deferred: false, now_ms, found: Vec::new(), next_ms: None });
    };
    let body = if with_data { "body" } else { "substr(body, 1, instr(body, x'0a'))" };
    let columns =
        format!("SELECT name, version, last_id, due, {body} FROM schedule WHERE queue = ?1");
    let found = match which {
        WhichSchedules::Named(name) => {
            let sql = format!("{columns} AND name = ?2");
            db.rows(&sql, params![queue, name], stored)?
        }
        WhichSchedules::Due => {
            let sql = format!("{columns} AND due <= ?2 ORDER BY due LIMIT {STEP}");
            db.rows(&sql, params![queue, now_ms as i64], stored)?
        }
        WhichSchedules::After(name) => {
            let sql = format!("{columns} AND name > ?2 ORDER BY name LIMIT {STEP}");
            db.rows(&sql, params![queue, name], stored)?
        }
    };
    let mut room = MAX_BATCH_BYTES;
    let fits = |(i, schedule): &(usize, StoredSchedule)| {
        room = room.saturating_sub(schedule.body.len());
        *i == 0 || room > 0
    };
    let found = found.into_iter().enumerate().take_while(fits).map(|(_, found)| found).collect();
    const NEXT: &str = "SELECT min(due) FROM schedule WHERE queue = ?1 AND due > ?2";
    let next: Option<i64> =
        db.run(NEXT, |s| s.query_row([queue, now_ms as i64], |row| row.get(0)))?;
    let deferred = follow_ups::any_deferred(db, queue)?;
    Ok(Schedules { deferred, now_ms, found, next_ms: next.map(|at| at as u64) })
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredSchedule> {
    let (last_id, due): (Option<Vec<u8>>, Option<i64>) = (row.get(2)?, row.get(3)?);
    Ok(StoredSchedule {
        name: row.get(0)?,
        version: row.get(1)?,
        last_id: last_id.map(Bytes::from),
        next_ms: due.map(|at| at.max(0) as u64),
        body: row.get::<_, Vec<u8>>(4)?.into(),
    })
}

/// When the first schedule is due.
pub(super) fn next(db: &Database, queue: i64) -> Result<Option<i64>> {
    const NEXT: &str = "SELECT min(due) FROM schedule WHERE queue = ?1 AND due IS NOT NULL";
    if follow_ups::any_deferred(db, queue)? {
        return Ok(Some(0));
    }
    db.run(NEXT, |s| s.query_row([queue], |row| row.get(0)))
}

pub(super) fn swap(db: &mut Database, name: &QueueName, swap: &Swap) -> Result<Swapped> {
    let found = db.queue(name)?;
    let before = match found {
        Some(queue) => current(db, queue, &swap.name)?,
        None => None,
    };
    let (version, mut last_id) = before.clone().unwrap_or_default();
    if version != swap.expected {
        return Ok(Swapped::Refused);
    }
    if swap.version.is_empty() {
        if let Some(queue) = found {
            const DELETE: &str = "DELETE FROM schedule WHERE queue = ?1 AND name = ?2";
            db.run(DELETE, |s| s.execute(params![queue, swap.name]))?;
        }
        return Ok(Swapped::Done { added: Vec::new() });
    }
    let queue = db.queue_or_new(name)?;
    const COUNT: &str = "SELECT count(*) FROM schedule WHERE queue = ?1";
    if before.is_none()
        && db.run(COUNT, |s| s.query_row([queue], |row| row.get::<_, i64>(0)))?
            >= MAX_SCHEDULES as i64
    {
        return Ok(Swapped::Full);
    }
    let live = match &last_id {
        Some(id) if swap.unless_live => is_live(db, queue, id)?,
        _ => false,
    };
    let swapped = if live {
        Swapped::Skipped
    } else {
        let added = match &*swap.items {
            [] => Vec::new(),
            items => add::add(db, name, items)?,
        };
        let last = swap.items.iter().zip(&added).rfind(|(_, added)| **added);
        last_id = last.map(|(item, _)| item.id.to_vec()).or(last_id);
        Swapped::Done { added }
    };
    const WRITE: &str = "INSERT INTO schedule (queue, name, version, last_id, due, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (queue, name) DO UPDATE
        SET version = ?3, last_id = ?4, due = ?5, body = ?6";
    let due = swap.next_ms.map(|at| at as i64);
    db.run(WRITE, |s| {
        s.execute(params![queue, swap.name, swap.version, last_id, due, swap.body.as_ref()])
    })?;
    Ok(swapped)
}

/// Version and last id of the schedule with this name.
fn current(db: &Database, queue: i64, name: &str) -> Result<Option<(String, Option<Vec<u8>>)>> {
    const CURRENT: &str = "SELECT version, last_id FROM schedule WHERE queue = ?1 AND name = ?2";
    db.run(CURRENT, |s| {
        s.query_row(params![queue, name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
    })
}

/// Whether the item with this id has not ended.
fn is_live(db: &Database, queue: i64, id: &[u8]) -> Result<bool> {
    const FIND: &str = "SELECT item.state, extra.expires_at FROM item
        LEFT JOIN extra ON extra.number = item.number WHERE item.queue = ?1 AND item.id = ?2";
    let found = db.run(FIND, |s| {
        s.query_row(params![queue, id], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?))).optional()
    })?;
    Ok(found.is_some_and(|(state, expires_at)| match state {
        DEAD | COMPLETED | CANCELLED => false,
        LEASED => true,
        _ => !expiry::has_passed(db, expires_at),
    }))
}
