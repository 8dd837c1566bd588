//! Items that expire: they are dead at a time if they are not leased then. The time is in `extra`, until an attempt
//! has counted or the item has ended. It is negative if it passed while the item was leased and a sweep has seen that,
//! so that sweeps do not find it again.

use rusqlite::{OptionalExtension, params};

use super::change::renumber;
use super::count_delta::CountDelta;
use super::database::Database;
use super::extra::readable;
use super::row::{Stored, read_priority, read_state};
use super::unique;
use crate::Result;
use crate::item::{NOT_LEASED, State};

/// Whether an item with this row of `extra` is dead by now, unless it is leased.
pub(super) fn has_passed(db: &Database, expires_at: Option<i64>) -> bool {
    expires_at.is_some_and(|at| at.saturating_abs() <= db.now as i64)
}

/// Whether the time of the item has passed, leased or not.
pub(super) fn time_is_over(db: &Database, number: i64) -> Result<bool> {
    const READ: &str = "SELECT expires_at FROM extra WHERE number = ?1";
    let found = db
        .run(READ, |s| s.query_row([number], |row| Ok(row.get_ref(0)?.as_i64().ok())).optional())?;
    Ok(has_passed(db, found.flatten()))
}

/// Whether the item is dead, although no sweep has found it yet.
pub(super) fn has_expired(db: &Database, item: &Stored) -> Result<bool> {
    let waits = matches!(item.state, State::Ready | State::Delayed);
    Ok(waits && item.more && time_is_over(db, item.number)?)
}

/// The item, unless it is dead although no sweep has found it yet.
pub(super) fn unexpired(db: &Database, found: Option<Stored>) -> Result<Option<Stored>> {
    let Some(item) = found else { return Ok(None) };
    Ok((!has_expired(db, &item)?).then_some(item))
}

/// The item expires no more.
pub(super) fn end(db: &Database, number: i64) -> Result<()> {
    const END: &str = concat!(
        "UPDATE extra SET expires_at = NULL, ended_at = NULL, result = NULL, ",
        readable!(),
        " WHERE number = ?1 AND expires_at IS NOT NULL"
    );
    db.run(END, |s| s.execute([number]))?;
    Ok(())
}

/// Makes an item dead that has expired, and was in this state.
pub(super) fn die(
    db: &Database,
    queue: i64,
    number: i64,
    state: State,
    priority: u8,
    delta: &mut CountDelta,
) -> Result<()> {
    const DIE: &str =
        "UPDATE item SET state = 3, sort_key = ?2, position = 0, front = 0, error = ?3
        WHERE number = ?1";
    db.run(DIE, |s| s.execute(params![number, db.now as i64, NOT_LEASED]))?;
    end(db, number)?;
    unique::release(db, queue, number)?;
    delta.count(state, priority, -1);
    delta.count(State::Dead, priority, 1);
    delta.died += 1;
    delta.expired_unleased += 1;
    Ok(())
}

/// Whether [`sweep`] would find anything.
pub(super) fn any_passed(db: &Database, queue: i64) -> Result<bool> {
    const ANY: &str =
        "SELECT 1 FROM extra WHERE queue = ?1 AND expires_at BETWEEN 0 AND ?2 LIMIT 1";
    db.run(ANY, |s| s.exists([queue, db.now as i64]))
}

/// When the next item expires, in ms since 1970.
pub(super) fn next(db: &Database, queue: i64) -> Result<Option<i64>> {
    const NEXT: &str = "SELECT min(expires_at) FROM extra
        WHERE queue = ?1 AND expires_at BETWEEN 0 AND 9223372036854775807";
    db.run(NEXT, |s| s.query_row([queue], |row| row.get(0)))
}

/// Makes items dead that have expired: at most `limit`, and about `room` bytes. Each is a new generation, as a buried
/// item, because that is so on Redis. True if there may be more.
pub(super) fn sweep(
    db: &Database,
    queue: i64,
    limit: usize,
    mut room: i64,
    delta: &mut CountDelta,
) -> Result<bool> {
    const PASSED: &str = "SELECT extra.number, item.state, item.priority,
            coalesce((SELECT length(data) FROM large WHERE large.number = extra.number), 0)
        FROM extra LEFT JOIN item ON item.number = extra.number
        WHERE extra.queue = ?1 AND extra.expires_at BETWEEN 0 AND ?2
        ORDER BY extra.expires_at LIMIT ?3";
    const SEEN_LEASED: &str = concat!(
        "UPDATE extra SET expires_at = -expires_at, ended_at = NULL, result = NULL, ",
        readable!(),
        " WHERE number = ?1"
    );
    let passed = params![queue, db.now as i64, limit as i64];
    let found: Vec<(i64, Option<State>, u8, i64)> = db.rows(PASSED, passed, |row| {
        let size = row.get_ref(3)?.as_i64().unwrap_or(0);
        Ok((row.get(0)?, read_state(row, 1)?, read_priority(row, 2)?, size))
    })?;
    let full = found.len() == limit;
    for (number, state, priority, size) in found {
        match state {
            Some(State::Leased) => _ = db.run(SEEN_LEASED, |s| s.execute([number]))?,
            Some(state @ (State::Ready | State::Delayed)) => {
                if room <= 0 {
                    return Ok(true);
                }
                room -= size;
                let number = renumber(db, queue, number)?;
                die(db, queue, number, state, priority, delta)?;
            }
            // Only another program can have left the time of an item that has ended.
            _ => end(db, number)?,
        }
    }
    Ok(full)
}
