//! The history of a queue.

use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use super::query;
use crate::Result;
use crate::engine::{read_row, write_numbers};
use crate::history::{HistoryKind, HistoryRow, Measured};
use crate::name::QueueName;
use crate::unix_time::from_ms;

pub(super) fn record(db: &mut Database, name: &QueueName, measured: &Measured) -> Result<bool> {
    let Some(queue) = db.queue(name)? else { return Ok(false) };
    for kind in HistoryKind::ALL {
        record_row(db, name, queue, kind, measured)?;
    }
    Ok(true)
}

fn record_row(
    db: &mut Database,
    name: &QueueName,
    queue: i64,
    kind: HistoryKind,
    measured: &Measured,
) -> Result<()> {
    let (now, place) = (db.now, kind.slot(db.now) as i64);
    const FIND: &str = "SELECT at, measured FROM history
        WHERE queue = ?1 AND kind = ?2 AND place = ?3";
    let found = db.run(FIND, |s| {
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        s.query_row(params![queue, number(kind), place], read).optional()
    })?;
    let is_now = |at: &i64| at.max(&0).unsigned_abs() / kind.ms() == now / kind.ms();
    let Some((at, stored)) = found.filter(|(at, _)| is_now(at)) else {
        let row = snapshot(db, name)?;
        const WRITE: &str = "INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (queue, kind, place) DO UPDATE SET at = ?4, numbers = ?5, measured = ?6";
        let numbers = write_numbers(&row, now);
        db.run(WRITE, |s| {
            s.execute(params![queue, number(kind), place, now as i64, numbers, measured.write()])
        })?;
        return Ok(());
    };
    if measured.is_empty() {
        return Ok(());
    }
    let mut merged = Measured::read(&stored);
    merged.merge(measured);
    const MERGE: &str = "UPDATE history SET measured = ?4
        WHERE queue = ?1 AND kind = ?2 AND place = ?3 AND at = ?5";
    db.run(MERGE, |s| s.execute(params![queue, number(kind), place, merged.write(), at]))?;
    Ok(())
}

fn snapshot(db: &mut Database, name: &QueueName) -> Result<HistoryRow> {
    let counts = query::counts(db, name)?;
    Ok(HistoryRow {
        at: from_ms(db.now),
        totals: counts.totals,
        ready: counts.ready,
        delayed: counts.delayed,
        leased: counts.leased,
        dead: counts.dead,
        held: counts.held,
        measured: Measured::default(),
    })
}

pub(super) fn read(
    db: &mut Database,
    name: &QueueName,
    kind: HistoryKind,
    since_ms: u64,
) -> Result<Vec<HistoryRow>> {
    let now = db.now;
    let Some(queue) = db.queue(name)? else { return Ok(Vec::new()) };
    const ROWS: &str = "SELECT numbers, at || ' ' || measured FROM history
        WHERE queue = ?1 AND kind = ?2 AND at >= ?3";
    // That of the minute or hour may be older than the time.
    let first = i64::try_from(since_ms / kind.ms() * kind.ms()).unwrap_or(i64::MAX);
    let stored = db.rows(ROWS, [queue, number(kind), first], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let rows =
        stored.iter().filter_map(|(numbers, measured)| read_row(kind, numbers, measured, now));
    let mut rows: Vec<HistoryRow> = rows.collect();
    rows.sort_by_key(|row| row.at);
    Ok(rows)
}

fn number(kind: HistoryKind) -> i64 {
    match kind {
        HistoryKind::Minutes => 0,
        HistoryKind::Hours => 1,
    }
}
