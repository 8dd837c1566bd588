//! The steps of an audit.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::mend::set_right;
use super::row::{COLUMNS, MORE, Stored, in_line};
use super::{dropped, expiry, extra, follow_ups, unique};
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::error::show_id;
use crate::item::State;
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_DELAY, MAX_LEASE, MAX_RETAIN};

/// Checks the next items of the file after number `from`, and mends those of the queue and those of no queue.
/// Returns where to continue.
pub(super) fn items(
    db: &mut Database,
    name: &QueueName,
    from: i64,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<i64>> {
    enum Found {
        /// True: its large data is missing.
        Own(Box<Stored>, bool),
        Orphan(i64, bool),
        Other(i64),
    }
    let queue = db.queue(name)?;
    let sql = format!(
        "SELECT {COLUMNS}, queue IS ?1, NOT EXISTS
            (SELECT 1 FROM queue WHERE queue.queue = item.queue),
            data IS NULL AND NOT EXISTS (SELECT 1 FROM large WHERE large.number = item.number)
        FROM item WHERE number > ?2 ORDER BY number LIMIT ?3"
    );
    let step = params![queue, from, MAX_BATCH as i64];
    // Items of other queues count too, so that a step has a bounded size.
    let rows = db.rows(&sql, step, |row| {
        let number = row.get(0)?;
        Ok(if row.get(MORE + 1)? {
            Found::Orphan(number, row.get_ref(12)? == rusqlite::types::ValueRef::Null)
        } else if row.get(MORE)? {
            Found::Own(Box::new(Stored::read(row)?), row.get(MORE + 2)?)
        } else {
            Found::Other(number)
        })
    })?;
    let full = rows.len() == MAX_BATCH;
    let mut delta = CountDelta::default();
    let mut last = from;
    for found in rows {
        match found {
            Found::Own(item, gone) => {
                last = item.number;
                report.items += 1;
                item_damage(db, queue.unwrap_or(0), *item, gone, mend, report, &mut delta)?;
            }
            Found::Orphan(number, large) => {
                last = number;
                report.note(Damage::Orphan, 1, mend, format_args!("item number {number}"));
                if mend {
                    dropped::delete(db, number, large)?;
                }
            }
            Found::Other(number) => last = number,
        }
    }
    if let Some(queue) = queue {
        db.count(queue, &delta)?;
    }
    Ok(full.then_some(last))
}

fn item_damage(
    db: &Database,
    queue: i64,
    mut item: Stored,
    gone: bool,
    mend: bool,
    report: &mut DeepReport,
    delta: &mut CountDelta,
) -> Result<()> {
    let now = db.now as i64;
    let far = |limit: Duration| item.sort_key > now + limit.as_millis() as i64 + 60_000;
    let too_far = match item.state {
        State::Leased => far(MAX_LEASE),
        State::Delayed => far(MAX_DELAY),
        State::Completed | State::Cancelled => far(MAX_RETAIN),
        State::Ready | State::Dead | State::Held => false,
    };
    let without_key = lost_key(db, queue, &item)?;
    let in_line = in_line(item.state);
    let found = [
        (item.broken.state || (item.broken.order && in_line), Damage::Stray),
        (too_far || (item.broken.order && !in_line), Damage::BadTime),
        (item.broken.details, Damage::BadDetails),
    ];
    let what = format!("item number {}", item.number);
    if let Some(key) = without_key {
        report.note(Damage::BadUnique, 1, mend, &what);
        if mend {
            unique::take(db, queue, &key, item.number, 0)?;
        }
    }
    report.note(Damage::BadRecord, u64::from(gone || item.broken.record), false, &what);
    for (is_so, damage) in found {
        report.note(damage, u64::from(is_so), mend, &what);
    }
    if mend && found.iter().any(|(is_so, _)| *is_so) {
        item.broken.order |= too_far;
        set_right(db, &item, delta)?;
    }
    Ok(())
}

/// The unique key that an item should have, if nobody has it.
fn lost_key(db: &Database, queue: i64, item: &Stored) -> Result<Option<Bytes>> {
    if !item.more || item.state == State::Dead || item.is_over(db.now) {
        return Ok(None);
    }
    let extra = extra::read(db, item.number, None)?.unwrap_or_default();
    let expired = item.state != State::Leased && expiry::has_passed(db, extra.expires_at);
    let Some(key) = extra.unique.filter(|_| !expired) else { return Ok(None) };
    Ok(unique::owner(db, queue, &key)?.is_none().then_some(key))
}

/// How far the counts of a queue are from the number of its items.
pub(super) struct Wrong {
    queue: i64,
    /// How often its counts had been corrected before.
    corrected: i64,
    pub(super) by: CountDelta,
}

/// Compares the counts with the items in one state of the database. The difference stays the same while others
/// use the queue, until one of them corrects it.
pub(super) fn wrong_counts(db: &mut Database, name: &QueueName) -> Result<Option<Wrong>> {
    // Both read only the index.
    const READY: &str =
        "SELECT sort_key, count(*) FROM item WHERE queue = ?1 AND state = 0 GROUP BY sort_key";
    const OTHERS: &str = "SELECT count(*) FROM item WHERE queue = ?1 AND state = ?2";
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    let (counted, corrected) = db.run("SELECT * FROM queue WHERE queue = ?1", |s| {
        s.query_row([queue], |row| {
            let mut counted = CountDelta::default();
            for (priority, ready) in counted.ready.iter_mut().enumerate() {
                *ready = row.get(format!("ready{priority}").as_str())?;
            }
            counted.delayed = row.get("delayed")?;
            counted.leased = row.get("leased")?;
            counted.dead = row.get("dead")?;
            counted.kept_completed = row.get("kept_completed")?;
            counted.kept_cancelled = row.get("kept_cancelled")?;
            counted.held = row.get("held")?;
            Ok((counted, row.get("corrected")?))
        })
    })?;
    let mut by = CountDelta::default();
    for (sort_key, count) in db.rows(READY, [queue], |row| {
        Ok((row.get::<_, i64>(0).unwrap_or(0), row.get::<_, i64>(1)?))
    })? {
        by.ready[sort_key.saturating_neg().clamp(0, 9) as usize] += count;
    }
    let others = |state: i64| db.run(OTHERS, |s| s.query_row([queue, state], |row| row.get(0)));
    (by.leased, by.delayed, by.dead) = (others(1)?, others(2)?, others(3)?);
    (by.kept_completed, by.kept_cancelled, by.held) = (others(4)?, others(5)?, others(6)?);
    for (there, counted) in by.ready.iter_mut().zip(counted.ready) {
        *there = there.saturating_sub(counted);
    }
    by.leased = by.leased.saturating_sub(counted.leased);
    by.delayed = by.delayed.saturating_sub(counted.delayed);
    by.dead = by.dead.saturating_sub(counted.dead);
    by.kept_completed = by.kept_completed.saturating_sub(counted.kept_completed);
    by.kept_cancelled = by.kept_cancelled.saturating_sub(counted.kept_cancelled);
    by.held = by.held.saturating_sub(counted.held);
    let others =
        [&by.held, &by.delayed, &by.leased, &by.dead, &by.kept_completed, &by.kept_cancelled];
    let wrong = by.ready.iter().chain(others).any(|n| *n != 0);
    Ok(wrong.then_some(Wrong { queue, corrected, by }))
}

/// Corrects the counts, unless another clean has done it since, or the queue was dropped.
pub(super) fn correct_counts(db: &mut Database, name: &QueueName, wrong: &Wrong) -> Result<()> {
    const MARK: &str =
        "UPDATE queue SET corrected = corrected + 1 WHERE queue = ?1 AND corrected = ?2";
    if db.queue(name)? == Some(wrong.queue)
        && db.run(MARK, |s| s.execute([wrong.queue, wrong.corrected]))? == 1
    {
        db.count(wrong.queue, &wrong.by)?;
    }
    Ok(())
}

/// Checks the next rows of `large` or `extra` after number `from`, whose item may be missing. Returns where to
/// continue.
pub(super) fn belongings(
    db: &mut Database,
    table: &str,
    from: i64,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<i64>> {
    let next = format!(
        "SELECT number, NOT EXISTS (SELECT 1 FROM item WHERE item.number = {table}.number) \
            AND NOT EXISTS (SELECT 1 FROM successor WHERE successor.number = {table}.number) \
         FROM {table} WHERE number > ?1 ORDER BY number LIMIT ?2"
    );
    let delete = format!("DELETE FROM {table} WHERE number = ?1");
    let rows: Vec<(i64, bool)> =
        db.rows(&next, [from, MAX_BATCH as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (number, _) in rows.iter().filter(|(_, dangling)| *dangling) {
        let what = format_args!("{table} data of item number {number}");
        report.note(Damage::DanglingDetails, 1, mend, what);
        if mend {
            db.run(&delete, |s| s.execute([number]))?;
        }
    }
    Ok(rows.last().filter(|_| rows.len() == MAX_BATCH).map(|row| row.0))
}

/// Checks the next unique keys of the queue after `from`. Returns where to continue.
pub(super) fn unique_keys(
    db: &mut Database,
    name: &QueueName,
    from: Vec<u8>,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<Vec<u8>>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    if from.is_empty() {
        let unreadable = unique::unreadable(db, queue, mend)?;
        report.note(Damage::BadUnique, unreadable, mend, "unreadable");
        let dangling = follow_ups::dangling(db, queue, mend)?;
        report.note(Damage::DanglingDetails, dangling, mend, "follow-ups of no item");
    }
    let mut keys = unique::keys_after(db, queue, &from, MAX_BATCH)?;
    for (key, _) in keys.iter().filter(|(_, is_useless)| *is_useless) {
        let what = format_args!("unique key {}", show_id(key));
        report.note(Damage::BadUnique, 1, mend, what);
        if mend {
            unique::delete(db, queue, key)?;
        }
    }
    let full = keys.len() == MAX_BATCH;
    Ok(keys.pop().filter(|_| full).map(|(key, _)| key))
}

/// What SQLite itself finds wrong with the file.
pub(super) fn file_damage(db: &mut Database) -> Result<Vec<String>> {
    let lines: Vec<String> = db.rows("PRAGMA quick_check(20)", [], |row| row.get(0))?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}
