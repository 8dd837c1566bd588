//! Cleaning: one step of a light clean, and the audit.

use std::time::Duration;

use rusqlite::params;

use super::database::Database;
use super::due::{move_due, next_due};
use super::tally::Tally;
use crate::Result;
use crate::clean::{Damage, DeepReport, LightReport};
use crate::item::State;
use crate::name::QueueName;
use crate::options::{MAX_DELAY, MAX_LEASE};

/// Most items of each kind that one step moves.
const LIGHT_STEP: usize = 500;
/// Rows that one step of the audit looks at.
const AUDIT_STEP: i64 = 5_000;

pub(super) fn light_clean(db: &mut Database, name: &QueueName) -> Result<(LightReport, bool)> {
    let Some(queue) = db.queue(name)? else { return Ok((LightReport::default(), false)) };
    let mut tally = Tally::default();
    let moved = move_due(db, queue, LIGHT_STEP, &mut tally)?;
    db.count(queue, &tally)?;
    let next = next_due(db, queue)?;
    let report = LightReport {
        promoted: moved.promoted,
        expired: moved.expired,
        died: moved.died,
        next_in: next.map(|at| Duration::from_millis((at - db.now as i64).max(0) as u64)),
    };
    Ok((report, moved.expired.max(moved.promoted) >= LIGHT_STEP as u64))
}

/// Whether there is anything to move: looking needs no lock.
pub(super) fn anything_due(db: &mut Database, name: &QueueName) -> Result<Result<(), LightReport>> {
    let Some(queue) = db.queue(name)? else { return Ok(Err(LightReport::default())) };
    let next = next_due(db, queue)?;
    if next.is_some_and(|at| at <= db.now as i64) {
        return Ok(Ok(()));
    }
    let next_in = next.map(|at| Duration::from_millis((at - db.now as i64) as u64));
    Ok(Err(LightReport { next_in, ..LightReport::default() }))
}

/// A deadline or due time that no lease and no delay can have.
const FAR: &str = "CASE state WHEN 1 THEN ?3 ELSE ?4 END";

/// Looks at the next items after number `from`, and mends them. Returns where to go on.
pub(super) fn audit_items(
    db: &mut Database,
    name: &QueueName,
    from: i64,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<i64>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    let now = db.now as i64;
    let far = |limit: Duration| now + limit.as_millis() as i64 + 60_000;
    let sql = format!(
        "SELECT number, state, length(id), data IS NULL AND NOT EXISTS
            (SELECT 1 FROM large WHERE large.number = item.number),
            state IN (1, 2) AND rank > {FAR}
            , queue = ?1
         FROM item WHERE number > ?2 ORDER BY number LIMIT {AUDIT_STEP}"
    );
    let rows = db.rows(&sql, params![queue, from, far(MAX_LEASE), far(MAX_DELAY)], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, i64>(2)?,
            row.get::<_, bool>(3)?,
            row.get::<_, bool>(4)?,
            row.get::<_, bool>(5)?,
        ))
    })?;
    // Those of other queues are passed over here, so that a step looks at so many and no more.
    for (number, id_length, no_data, too_far, _) in rows.iter().filter(|row| row.4) {
        report.items += 1;
        let what = format!("item number {number}");
        if *id_length == 0 || *no_data {
            report.note(Damage::BadRecord, 1, false, &what);
        }
        if *too_far {
            report.note(Damage::BadTime, 1, mend, &what);
            if mend {
                db.run("UPDATE item SET rank = ?2 WHERE number = ?1", |s| {
                    s.execute([*number, now])
                })?;
            }
        }
    }
    Ok(rows.last().filter(|_| rows.len() as i64 == AUDIT_STEP).map(|row| row.0))
}

/// How far the counts of a queue are from what is there, by state and priority, on one state of the
/// database: the difference stays the same while others work.
pub(super) fn wrong_counts(db: &mut Database, name: &QueueName) -> Result<Option<Tally>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    let counted = super::look::counts(db, name)?;
    let mut tally = Tally::default();
    let groups = db.rows(
        "SELECT state, priority, count(*) FROM item WHERE queue = ?1 GROUP BY state, priority",
        [queue],
        |row| Ok((super::row::read_state(row, 0)?, row.get::<_, u8>(1)?, row.get::<_, i64>(2)?)),
    )?;
    for (state, priority, count) in groups {
        tally.count(state, priority, count);
    }
    for (priority, ready) in counted.ready_by_priority.iter().enumerate() {
        tally.count(State::Ready, priority as u8, -(*ready as i64));
    }
    tally.delayed -= counted.delayed as i64;
    tally.leased -= counted.leased as i64;
    tally.dead -= counted.dead as i64;
    let wrong =
        tally.ready.iter().chain([&tally.delayed, &tally.leased, &tally.dead]).any(|n| *n != 0);
    Ok(wrong.then_some(tally))
}

pub(super) fn correct_counts(db: &mut Database, name: &QueueName, by: &Tally) -> Result<()> {
    match db.queue(name)? {
        Some(queue) => db.count(queue, by),
        None => Ok(()),
    }
}

/// Large data whose item is gone.
pub(super) fn dangling_data(db: &mut Database, mend: bool, report: &mut DeepReport) -> Result<()> {
    let dangling: Vec<i64> = db.rows(
        "SELECT number FROM large WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.number = large.number)
         LIMIT 1000",
        [],
        |row| row.get(0),
    )?;
    for number in dangling {
        report.note(Damage::DanglingDetails, 1, mend, format_args!("data of item number {number}"));
        if mend {
            db.run("DELETE FROM large WHERE number = ?1", |s| s.execute([number]))?;
        }
    }
    Ok(())
}

/// What SQLite itself finds wrong with the file.
pub(super) fn file_damage(db: &mut Database, report: &mut DeepReport) -> Result<()> {
    let lines: Vec<String> = db.rows("PRAGMA quick_check(20)", [], |row| row.get(0))?;
    for line in lines.into_iter().filter(|line| line != "ok") {
        report.note(Damage::BadRecord, 1, false, line);
    }
    Ok(())
}
