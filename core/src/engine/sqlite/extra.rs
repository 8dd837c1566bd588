//! What only some items have: how long they are retained, a unique key, a result, progress.

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::readable::readable;
use super::row::{read_priority, read_state};
use super::{keys, large, unique};
use crate::Result;
use crate::item::{State, Trigger};

/// A row of `extra`.
#[derive(Debug, Default)]
pub(super) struct Extra {
    pub(super) retain: i64,
    pub(super) unique: Option<Bytes>,
    pub(super) ended_at: Option<i64>,
    pub(super) result: Option<Bytes>,
    /// As it is stored.
    pub(super) expires_at: Option<i64>,
    pub(super) progress: Option<Bytes>,
    /// Its cancellation was requested while it was leased.
    pub(super) marked: bool,
    pub(super) follow_ups: Option<i64>,
    pub(super) trigger: Option<Trigger>,
}

impl Extra {
    /// For how long the item is retained, in ms, if it was added with that.
    pub(super) fn own_retain(&self) -> Option<i64> {
        Some(self.retain).filter(|retain| *retain > 0)
    }
}

/// The row of an item; the defaults if it has none. The result is not read unless `most` says how many bytes it may
/// have. `None`: it has more.
pub(super) fn read(db: &Database, number: i64, most: Option<i64>) -> Result<Option<Extra>> {
    const READ: &str = "SELECT retain, unique_key, ended_at,
        CASE WHEN length(result) <= ?2 THEN result END, length(result) > ?2, expires_at, marked,
        progress, follow_ups, trigger_id, trigger_result FROM extra WHERE number = ?1";
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
                progress: bytes(row, 7)?,
                follow_ups: integer(row, 8)?,
                trigger: match bytes(row, 9)? {
                    Some(id) => Some(Trigger { id, result: bytes(row, 10)? }),
                    None => None,
                },
            }))
        })
        .optional()
    })?;
    Ok(found.unwrap_or_else(|| Some(Extra::default())))
}

/// Writes the row of a new item.
pub(super) fn write(db: &Database, queue: i64, number: i64, extra: &Extra) -> Result<()> {
    const WRITE: &str = "INSERT INTO extra
        (queue, number, retain, unique_key, expires_at, follow_ups, trigger_id, trigger_result)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let Extra { retain, unique, expires_at, follow_ups, trigger, .. } = extra;
    let id = trigger.as_ref().map(|trigger| trigger.id.as_ref());
    let result = trigger.as_ref().and_then(|trigger| trigger.result.as_deref());
    let unique = unique.as_deref();
    db.run(WRITE, |s| {
        s.execute(params![queue, number, retain, unique, expires_at, follow_ups, id, result])
    })?;
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
        RETURNING state, priority, data IS NULL, more, key";
    let gone = db.run(DELETE, |s| {
        s.query_row([number, queue], |row| {
            let large: bool = row.get(2)?;
            Ok((
                read_state(row, 0)?,
                read_priority(row, 1)?,
                large,
                row.get_ref(3)?.as_i64() != Ok(0),
                row.get_ref(4)?.as_blob().ok().map(<[u8]>::to_vec),
            ))
        })
        .optional()
    })?;
    let Some((state, priority, large, more, key)) = gone else { return Ok(None) };
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
    if state == Some(State::Leased)
        && let Some(key) = key
    {
        keys::open(db, queue, &key)?;
    }
    Ok(Some(state))
}
