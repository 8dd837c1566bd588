//! What is done when a time has passed: that of retained items, of reserved unique keys, and of items that expire.

use super::count_delta::CountDelta;
use super::database::Database;
use super::row::{CANCELLED, COMPLETED};
use super::{expired, expiry, extra, unique};
use crate::Result;

/// Whether [`sweep`] would find anything.
pub(super) fn any(db: &Database, queue: i64) -> Result<bool> {
    const ANY: &str =
        "SELECT 1 FROM item WHERE queue = ?1 AND state = ?2 AND sort_key <= ?3 LIMIT 1";
    const RESERVED: &str =
        "SELECT 1 FROM unique_key WHERE queue = ?1 AND until > 0 AND until <= ?2 LIMIT 1";
    let now = db.now as i64;
    for state in [COMPLETED, CANCELLED] {
        if db.run(ANY, |s| s.exists([queue, state, now]))? {
            return Ok(true);
        }
    }
    Ok(db.run(RESERVED, |s| s.exists([queue, now]))? || expiry::any_passed(db, queue)?)
}

/// When [`sweep`] has something to do, in ms since 1970. Nobody sees what it deletes once its time is over, so it is
/// enough to look once a minute.
pub(super) fn next(db: &Database, queue: i64) -> Result<Option<i64>> {
    // A value of a wrong type is no time; an audit finds it.
    const KEPT: &str = "SELECT CAST(min(sort_key) AS INTEGER) FROM item
        WHERE queue = ?1 AND state = ?2 AND sort_key <= 9223372036854775807";
    const RESERVED: &str = "SELECT CAST(min(until) AS INTEGER) FROM unique_key
        WHERE queue = ?1 AND until > 0 AND until <= 9223372036854775807";
    let time = |row: &rusqlite::Row<'_>| row.get::<_, Option<i64>>(0);
    let kept = |state| db.run(KEPT, |s| s.query_row([queue, state], time));
    let reserved = db.run(RESERVED, |s| s.query_row([queue], time))?;
    let times = [kept(COMPLETED)?, kept(CANCELLED)?, reserved, expiry::next(db, queue)?];
    let first = times.into_iter().flatten().min();
    Ok(first.map(|at| at.saturating_add(59_999) / 60_000 * 60_000))
}

/// Deletes retained items whose time is over, ends the reserved times of unique keys, and makes items dead that have
/// expired: at most `limit` of each, and about `room` bytes. True if there may be more.
pub(super) fn sweep(
    db: &Database,
    queue: i64,
    limit: usize,
    room: i64,
    delta: &mut CountDelta,
) -> Result<bool> {
    const OVER: &str = "SELECT number,
            coalesce((SELECT length(result) FROM extra WHERE extra.number = item.number), 0)
            + coalesce((SELECT length(data) FROM large WHERE large.number = item.number), 0)
        FROM item WHERE queue = ?1 AND state = ?2 AND sort_key <= ?3
        ORDER BY sort_key, position LIMIT ?4";
    let (now, most) = (db.now as i64, limit as i64);
    let mut more = expired::sweep(db, queue, limit, room, delta)?;
    let mut room = room;
    for state in [COMPLETED, CANCELLED] {
        let over: Vec<(i64, i64)> =
            db.rows(OVER, [queue, state, now, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
        more |= over.len() == limit;
        for (number, size) in over {
            if room <= 0 {
                more = true;
                break;
            }
            room -= size;
            extra::delete_item(db, queue, number, delta)?;
        }
    }
    Ok(more | (unique::end_reservations(db, queue, limit)? == limit))
}
