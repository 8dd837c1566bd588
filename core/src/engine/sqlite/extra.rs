//! What only some items have: how long they are retained, a unique key, a result.

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::large;
use super::row::{CANCELLED, COMPLETED, read_priority, read_state};
use super::{expiry, unique};
use crate::Result;
use crate::item::State;

/// A row of `extra`.
#[derive(Debug, Default)]
pub(super) struct Extra {
    pub(super) retain: i64,
    pub(super) unique: Option<Bytes>,
    pub(super) ended_at: Option<i64>,
    pub(super) result: Option<Bytes>,
    /// As it is stored.
    pub(super) expires_at: Option<i64>,
    /// Its cancellation was requested while it was leased.
    pub(super) marked: bool,
}

/// Assignments with which a row can be changed: SQLite rejects a change of a row that keeps a value of a wrong type,
/// which another program may have written.
macro_rules! readable {
    () => {
        "queue = CASE typeof(queue) WHEN 'integer' THEN queue ELSE
            coalesce((SELECT item.queue FROM item WHERE item.number = extra.number), 0) END,
        retain = CASE typeof(retain) WHEN 'integer' THEN retain ELSE 0 END,
        unique_key = CASE typeof(unique_key) WHEN 'blob' THEN unique_key END"
    };
}
pub(super) use readable;

/// The row of an item; the defaults if it has none. The result is not read unless `most` says how many bytes it may
/// have. `None`: it has more.
pub(super) fn read(db: &Database, number: i64, most: Option<i64>) -> Result<Option<Extra>> {
    const READ: &str = "SELECT retain, unique_key, ended_at,
        CASE WHEN length(result) <= ?2 THEN result END, length(result) > ?2, expires_at, marked
        FROM extra WHERE number = ?1";
    // What another program has written and cannot be read is left out.
    let bytes = |row: &rusqlite::Row<'_>, column| -> rusqlite::Result<Option<Bytes>> {
        Ok(row.get_ref(column)?.as_blob().ok().map(Bytes::copy_from_slice))
    };
    let integer = |row: &rusqlite::Row<'_>, column| -> rusqlite::Result<Option<i64>> {
        Ok(row.get_ref(column)?.as_i64().ok())
    };
    let found = db.run(READ, |s| {
        s.query_row(params![number, most], |row| {
            let too_large = integer(row, 4)? == Some(1);
            Ok((!too_large).then_some(Extra {
                retain: integer(row, 0)?.unwrap_or(0),
                unique: bytes(row, 1)?,
                ended_at: integer(row, 2)?,
                result: bytes(row, 3)?,
                expires_at: integer(row, 5)?,
                marked: integer(row, 6)? == Some(1),
            }))
        })
        .optional()
    })?;
    Ok(found.unwrap_or_else(|| Some(Extra::default())))
}

/// Writes the row of a new item.
pub(super) fn write(db: &Database, queue: i64, number: i64, extra: &Extra) -> Result<()> {
    const WRITE: &str = "INSERT INTO extra (queue, number, retain, unique_key, expires_at)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    let Extra { retain, unique, expires_at, .. } = extra;
    db.run(WRITE, |s| s.execute(params![queue, number, retain, unique.as_deref(), expires_at]))?;
    Ok(())
}

/// Keeps an item that has ended.
pub(super) fn retain(
    db: &Database,
    number: i64,
    state: i64,
    retain: i64,
    result: Option<&[u8]>,
) -> Result<()> {
    const KEEP: &str =
        "UPDATE item SET state = ?2, sort_key = ?3, position = 0, more = 1 WHERE number = ?1";
    const NOTE: &str = concat!(
        "INSERT INTO extra (queue, number, retain, ended_at, result)
        VALUES ((SELECT queue FROM item WHERE number = ?1), ?1, 0, ?2, ?3)
        ON CONFLICT (number) DO UPDATE SET ended_at = ?2, result = ?3, expires_at = NULL, marked = 0, ",
        readable!()
    );
    let now = db.now as i64;
    db.run(KEEP, |s| s.execute(params![number, state, now.saturating_add(retain)]))?;
    db.run(NOTE, |s| s.execute(params![number, now, result]))?;
    Ok(())
}

/// Gives what is kept for an item that has not ended to its new number.
pub(super) fn renumber(db: &Database, queue: i64, old: i64, new: i64) -> Result<()> {
    const MOVE: &str = concat!(
        "UPDATE extra SET number = ?2, ended_at = NULL, result = NULL, marked = 0,
        expires_at = CASE typeof(expires_at) WHEN 'integer' THEN expires_at END, ",
        readable!(),
        " WHERE number = ?1"
    );
    const OWN: &str = "UPDATE unique_key SET number = ?3 WHERE queue = ?1 AND number = ?2
        AND key = (SELECT unique_key FROM extra WHERE number = ?3)";
    db.run(MOVE, |s| s.execute([old, new]))?;
    db.run(OWN, |s| s.execute([queue, old, new]))?;
    Ok(())
}

/// Forgets the unique key of an item, which was released before.
pub(super) fn forget_key(db: &Database, number: i64) -> Result<()> {
    const FORGET: &str = "UPDATE extra SET unique_key = NULL WHERE number = ?1";
    db.run(FORGET, |s| s.execute([number]))?;
    Ok(())
}

/// Deletes an item with all that is kept for it. Returns its state; `None` if there is no such item.
pub(super) fn delete_item(
    db: &Database,
    queue: i64,
    number: i64,
    delta: &mut CountDelta,
) -> Result<Option<Option<State>>> {
    const DELETE: &str = "DELETE FROM item WHERE number = ?1 AND queue = ?2
        RETURNING state, priority, data IS NULL, more";
    let gone = db.run(DELETE, |s| {
        s.query_row([number, queue], |row| {
            let large: bool = row.get(2)?;
            Ok((
                read_state(row, 0)?,
                read_priority(row, 1)?,
                large,
                row.get_ref(3)?.as_i64() != Ok(0),
            ))
        })
        .optional()
    })?;
    let Some((state, priority, large, more)) = gone else { return Ok(None) };
    if large {
        large::delete(db, number)?;
    }
    if more {
        unique::release(db, queue, number)?;
        db.run("DELETE FROM extra WHERE number = ?1", |s| s.execute([number]))?;
    }
    if let Some(state) = state {
        delta.count(state, priority, -1);
    }
    Ok(Some(state))
}

/// Whether [`sweep`] would find anything.
pub(super) fn any_over(db: &Database, queue: i64) -> Result<bool> {
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
pub(super) fn next_sweep(db: &Database, queue: i64) -> Result<Option<i64>> {
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
    let mut more = expiry::sweep(db, queue, limit, room, delta)?;
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
            delete_item(db, queue, number, delta)?;
        }
    }
    Ok(more | (unique::end_reservations(db, queue, limit)? == limit))
}
