//! Unique keys. A key is taken while the item that owns it is ready, delayed, leased or retained, and in any case
//! until the time in its row, if there is one.

use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use super::expiry;
use super::row::{CANCELLED, COMPLETED, DEAD, LEASED};
use crate::Result;

/// The row of a unique key.
pub(super) struct Owner {
    pub(super) number: i64,
    /// Until when the key stays taken in any case.
    pub(super) until: i64,
    /// The owner's state, unless it has ended.
    pub(super) alive: Option<i64>,
}

/// A value of a wrong type, which another program has written, is none.
fn integer(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(row.get_ref(column)?.as_i64().ok())
}

/// Who has the key; `None` if it is free. A dead item has no key, even if it is reserved for it.
pub(super) fn owner(db: &Database, queue: i64, key: &[u8]) -> Result<Option<Owner>> {
    const OWNER: &str = "SELECT key.number, key.until, item.state, item.sort_key, extra.expires_at
        FROM unique_key AS key
        LEFT JOIN extra ON extra.number = key.number AND extra.unique_key = key.key
        LEFT JOIN item ON item.number = extra.number
        WHERE key.queue = ?1 AND key.key = ?2";
    let found = db.run(OWNER, |s| {
        s.query_row(params![queue, key], |row| {
            let (state, sort_key) = (integer(row, 2)?, integer(row, 3)?);
            let over = sort_key.is_none_or(|until| until <= db.now as i64);
            let expired = expiry::has_passed(db, integer(row, 4)?);
            let alive = state.filter(|state| match *state {
                DEAD => false,
                COMPLETED | CANCELLED => !over,
                LEASED => true,
                _ => !expired,
            });
            let number = integer(row, 0)?.unwrap_or(0);
            Ok(Owner { number, until: integer(row, 1)?.unwrap_or(0), alive })
        })
        .optional()
    })?;
    Ok(found.filter(|owner| owner.alive.is_some() || owner.until > db.now as i64))
}

/// Gives the key to an item.
pub(super) fn take(db: &Database, queue: i64, key: &[u8], number: i64, until: i64) -> Result<()> {
    const TAKE: &str = "INSERT INTO unique_key (queue, key, number, until) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (queue, key) DO UPDATE SET number = ?3, until = max(until, ?4)";
    db.run(TAKE, |s| s.execute(params![queue, key, number, until]))?;
    Ok(())
}

/// Releases the key of an item that ends, unless somebody else owns it by now or it stays taken for longer.
pub(super) fn release(db: &Database, queue: i64, number: i64) -> Result<()> {
    const RELEASE: &str = "DELETE FROM unique_key WHERE queue = ?1 AND number = ?2 AND until <= ?3
        AND key = (SELECT unique_key FROM extra WHERE number = ?2)";
    db.run(RELEASE, |s| s.execute([queue, number, db.now as i64]))?;
    Ok(())
}

/// The same for an item of any queue.
pub(super) fn disown(db: &Database, number: i64) -> Result<()> {
    const QUEUE: &str = "SELECT queue FROM item WHERE number = ?1";
    let queue = db.run(QUEUE, |s| s.query_row([number], |row| row.get(0)).optional())?;
    queue.map_or(Ok(()), |queue| release(db, queue, number))
}

/// Up to `limit` keys of a queue after this one, each with whether it is of no use: it is not reserved, and no item
/// has it. Sweeps end reserved times, and delete retained items, after their time is over.
pub(super) fn keys_after(
    db: &Database,
    queue: i64,
    after: &[u8],
    limit: usize,
) -> Result<Vec<(Vec<u8>, bool)>> {
    const NEXT: &str = "SELECT key, until <= 0 AND NOT EXISTS
            (SELECT 1 FROM extra JOIN item ON item.number = extra.number
            WHERE extra.number = unique_key.number AND extra.unique_key = unique_key.key
            AND item.state <> ?4)
        FROM unique_key WHERE queue = ?1 AND key > ?2 AND typeof(key) = 'blob'
        ORDER BY key LIMIT ?3";
    let after = params![queue, after, limit as i64, DEAD];
    db.rows(NEXT, after, |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Deletes rows with values of wrong types, which only another program can have written. Returns how many there are.
pub(super) fn unreadable(db: &Database, queue: i64, delete: bool) -> Result<u64> {
    const WHERE: &str = "FROM unique_key WHERE queue = ?1 AND (typeof(key) <> 'blob'
        OR typeof(number) <> 'integer' OR typeof(until) <> 'integer')";
    let count = format!("SELECT count(*) {WHERE}");
    let found: i64 = db.run(&count, |s| s.query_row([queue], |row| row.get(0)))?;
    if delete && found > 0 {
        db.run(&format!("DELETE {WHERE}"), |s| s.execute([queue]))?;
    }
    Ok(found as u64)
}

/// Deletes a key that is of no use.
pub(super) fn delete(db: &Database, queue: i64, key: &[u8]) -> Result<()> {
    const DELETE: &str = "DELETE FROM unique_key WHERE queue = ?1 AND key = ?2";
    db.run(DELETE, |s| s.execute(params![queue, key]))?;
    Ok(())
}

/// Ends reserved times that are over. A key stays taken if the item that owns it has not ended. Returns how many
/// it looked at.
pub(super) fn end_reservations(db: &Database, queue: i64, limit: usize) -> Result<usize> {
    const OVER: &str = "SELECT key FROM unique_key
        WHERE queue = ?1 AND until > 0 AND until <= ?2 AND typeof(key) = 'blob'
        ORDER BY until LIMIT ?3";
    let over = params![queue, db.now as i64, limit as i64];
    let keys: Vec<Vec<u8>> = db.rows(OVER, over, |row| row.get(0))?;
    for key in &keys {
        let statement = match owner(db, queue, key)? {
            Some(_) => "UPDATE unique_key SET until = 0 WHERE queue = ?1 AND key = ?2",
            None => "DELETE FROM unique_key WHERE queue = ?1 AND key = ?2",
        };
        db.run(statement, |s| s.execute(params![queue, key]))?;
    }
    Ok(keys.len())
}
