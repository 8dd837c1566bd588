//! Keys, which limit how many items are leased at the same time.
//!
//! How many items of a key are leased is counted by an index, so it cannot be wrong. An item that would be more is held
//! by the lease that finds it first, and keeps its place in line. Whoever ends a lease of a key with held items opens the
//! key: the next lease takes the first held one when its place comes.

use bytes::Bytes;
use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use super::settings;
use crate::Result;
use crate::engine::KeyLimit;
use crate::item::KeyInfo;
use crate::name::QueueName;
use crate::options::MAX_KEY_LIMIT;

/// Limit of the keys that one lease or clean opens in time.
const OPEN_STEP: usize = 500;

/// Of a row of `open_key`. What another program has written, and cannot be read, is left out.
pub(super) const READABLE: &str = "typeof(key) = 'blob' AND typeof(sort_key) = 'integer' \
     AND typeof(position) = 'integer'";

/// How many items of the key are leased.
pub(super) fn leased(db: &Database, queue: i64, key: &[u8]) -> Result<i64> {
    const COUNT: &str = "SELECT count(*) FROM item WHERE queue = ?1 AND key = ?2 AND state = 1";
    db.run(COUNT, |s| s.query_row(params![queue, key], |row| row.get(0)))
}

/// The limit that the key has for itself. One that is out of range, which another program has written, is none.
pub(super) fn own_limit(db: &Database, queue: i64, key: &[u8]) -> Result<Option<u32>> {
    const READ: &str = "SELECT most FROM key_limit WHERE queue = ?1 AND key = ?2";
    let most = |row: &Row<'_>| Ok(row.get_ref(0)?.as_i64().ok());
    let found = db.run(READ, |s| s.query_row(params![queue, key], most).optional())?;
    let limit = found.flatten().and_then(|limit| u32::try_from(limit).ok());
    Ok(limit.filter(|limit| (1..=MAX_KEY_LIMIT).contains(limit)))
}

pub(super) fn any_own_limit(db: &Database, queue: i64) -> Result<bool> {
    db.run("SELECT 1 FROM key_limit WHERE queue = ?1 LIMIT 1", |s| s.exists([queue]))
}

/// Held items of the key may be leased: the next lease looks at them when the place of the first one comes. A key whose
/// rate is used up opens in time.
pub(super) fn open(db: &Database, queue: i64, key: &[u8]) -> Result<()> {
    const OPEN: &str = "INSERT INTO open_key (queue, key, sort_key, position)
        SELECT queue, key, coalesce(CAST(sort_key AS INTEGER), 0),
            coalesce(CAST(position AS INTEGER), 0) FROM item
        WHERE queue = ?1 AND key = ?2 AND state = 6 ORDER BY sort_key, position LIMIT 1
        ON CONFLICT (queue, key) DO UPDATE
        SET sort_key = excluded.sort_key, position = excluded.position WHERE open_key.sort_key <= 0";
    if db.run(OPEN, |s| s.execute(params![queue, key]))? > 0 {
        db.note_opened(queue);
    }
    Ok(())
}

/// As [`open`], also for a key that opens later.
pub(super) fn open_again(db: &Database, queue: i64, key: &[u8]) -> Result<()> {
    close(db, queue, key)?;
    open(db, queue, key)
}

/// The rate of the key is used up: it opens at this time (ms). It may be open, perhaps at a place behind an item that is
/// held now.
pub(super) fn open_at(db: &Database, queue: i64, key: &[u8], at: u64) -> Result<()> {
    const AT: &str = "INSERT INTO open_key (queue, key, sort_key, position) VALUES (?1, ?2, ?3, 0)
        ON CONFLICT (queue, key) DO UPDATE SET sort_key = excluded.sort_key, position = 0";
    db.run(AT, |s| s.execute(params![queue, key, at as i64]))?;
    Ok(())
}

/// When the next key opens whose rate is used up.
pub(super) fn next_opening(db: &Database, queue: i64) -> Result<Option<i64>> {
    const NEXT: &str = "SELECT CAST(min(sort_key) AS INTEGER) FROM open_key
        WHERE queue = ?1 AND sort_key > 0 AND sort_key <= 9223372036854775807";
    db.run(NEXT, |s| s.query_row([queue], |row| row.get(0)))
}

/// Opens keys whose time has come. True if there may be more.
pub(super) fn open_in_time(db: &Database, queue: i64) -> Result<bool> {
    const DUE: &str =
        "SELECT key FROM open_key WHERE queue = ?1 AND sort_key > 0 AND sort_key <= ?2
            AND typeof(key) = 'blob'
        ORDER BY sort_key LIMIT ?3";
    let due = params![queue, db.now as i64, OPEN_STEP as i64];
    let keys: Vec<Vec<u8>> = db.rows(DUE, due, |row| row.get(0))?;
    for key in &keys {
        open_again(db, queue, key)?;
    }
    Ok(keys.len() == OPEN_STEP)
}

/// The first open key in line, and the place at which its first held item stands, or an earlier one.
pub(super) fn first_open(db: &Database, queue: i64) -> Result<Option<(Bytes, (i64, i64))>> {
    let first = format!(
        "SELECT key, sort_key, position FROM open_key WHERE queue = ?1 AND sort_key <= 0 AND {READABLE} \
         ORDER BY sort_key, position LIMIT 1"
    );
    db.run(&first, |s| {
        s.query_row([queue], |row| {
            Ok((row.get::<_, Vec<u8>>(0)?.into(), (row.get(1)?, row.get(2)?)))
        })
        .optional()
    })
}

/// The key has no held items, or as many of its items are leased as may be.
pub(super) fn close(db: &Database, queue: i64, key: &[u8]) -> Result<()> {
    const CLOSE: &str = "DELETE FROM open_key WHERE queue = ?1 AND key = ?2";
    db.run(CLOSE, |s| s.execute(params![queue, key]))?;
    Ok(())
}

/// The place of the first held item of the key.
pub(super) fn first_held(db: &Database, queue: i64, key: &[u8]) -> Result<Option<(i64, i64)>> {
    const FIRST: &str = "SELECT coalesce(CAST(sort_key AS INTEGER), 0),
            coalesce(CAST(position AS INTEGER), 0) FROM item
        WHERE queue = ?1 AND key = ?2 AND state = 6 ORDER BY sort_key, position LIMIT 1";
    let place = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    db.run(FIRST, |s| s.query_row(params![queue, key], place).optional())
}

pub(super) fn any_open(db: &Database, queue: i64) -> Result<bool> {
    let any =
        format!("SELECT 1 FROM open_key WHERE queue = ?1 AND sort_key <= 0 AND {READABLE} LIMIT 1");
    db.run(&any, |s| s.exists([queue]))
}

pub(super) fn set_limits(db: &mut Database, name: &QueueName, limits: &[KeyLimit]) -> Result<()> {
    const SET: &str = "INSERT INTO key_limit (queue, key, most) VALUES (?1, ?2, ?3)
        ON CONFLICT (queue, key) DO UPDATE SET most = ?3";
    const UNSET: &str = "DELETE FROM key_limit WHERE queue = ?1 AND key = ?2";
    let queue = match db.queue(name)? {
        Some(queue) => queue,
        // A queue that does not exist has no limits.
        None if limits.iter().all(|limit| limit.limit.is_none()) => return Ok(()),
        None => db.queue_or_new(name)?,
    };
    for KeyLimit { key, limit } in limits {
        match limit {
            Some(limit) => db.run(SET, |s| s.execute(params![queue, &key[..], limit]))?,
            None => db.run(UNSET, |s| s.execute(params![queue, &key[..]]))?,
        };
        open_again(db, queue, key)?;
    }
    Ok(())
}

pub(super) fn get(db: &mut Database, name: &QueueName, keys: &[Bytes]) -> Result<Vec<KeyInfo>> {
    let queue = db.queue(name)?;
    let default = match queue {
        Some(queue) => settings::of(db, queue)?,
        None => Default::default(),
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let (own, leased) = match queue {
            Some(queue) => (own_limit(db, queue, key)?, leased(db, queue, key)?),
            None => (None, 0),
        };
        found.push(KeyInfo {
            key: key.clone(),
            limit: own.unwrap_or(default.key_limit()),
            own_limit: own.is_some(),
            leased: leased as u64,
        });
    }
    Ok(found)
}

/// Whether keys are still to be opened because the limit of the queue was raised.
pub(super) fn is_raised(db: &Database, queue: i64) -> Result<bool> {
    const RAISED: &str = "SELECT raised IS NOT NULL FROM queue WHERE queue = ?1";
    db.run(RAISED, |s| s.query_row([queue], |row| row.get(0)))
}

/// Opens the next keys that have held items, of `limit` keys at most. True if there may be more.
pub(super) fn open_raised(db: &Database, queue: i64, limit: usize) -> Result<bool> {
    const FROM: &str = "SELECT CAST(raised AS BLOB) FROM queue WHERE queue = ?1";
    const KEEP: &str = "UPDATE queue SET raised = ?2 WHERE queue = ?1";
    let from: Option<Vec<u8>> = db.run(FROM, |s| s.query_row([queue], |row| row.get(0)))?;
    let Some(mut from) = from else { return Ok(false) };
    for _ in 0..limit {
        let Some(key) = next_key(db, queue, &from)? else {
            db.run(KEEP, |s| s.execute(params![queue, None::<Vec<u8>>]))?;
            return Ok(false);
        };
        open_again(db, queue, &key)?;
        from = key;
    }
    db.run(KEEP, |s| s.execute(params![queue, from]))?;
    Ok(true)
}

/// The next key behind this one with held or leased items. One step of the index, however many items a key has.
fn next_key(db: &Database, queue: i64, after: &[u8]) -> Result<Option<Vec<u8>>> {
    const NEXT: &str = "SELECT key FROM item
        WHERE queue = ?1 AND key > ?2 AND key IS NOT NULL AND (state = 1 OR state = 6)
        ORDER BY key LIMIT 1";
    db.run(NEXT, |s| s.query_row(params![queue, after], |row| row.get(0)).optional())
}

/// The next key behind this one with held items.
pub(super) fn next_held(db: &Database, queue: i64, after: &[u8]) -> Result<Option<Vec<u8>>> {
    const NEXT: &str = "SELECT key FROM item
        WHERE queue = ?1 AND key > ?2 AND key IS NOT NULL AND (state = 1 OR state = 6) AND state = 6
        ORDER BY key LIMIT 1";
    db.run(NEXT, |s| s.query_row(params![queue, after], |row| row.get(0)).optional())
}

/// Deletes what a queue that was dropped has left, `limit` rows of each kind at most. Returns how many.
pub(super) fn delete_some(db: &Database, queue: i64, limit: usize) -> Result<usize> {
    const OPEN: &str = "DELETE FROM open_key WHERE queue = ?1 AND key IN
        (SELECT key FROM open_key WHERE queue = ?1 LIMIT ?2)";
    const LIMITS: &str = "DELETE FROM key_limit WHERE queue = ?1 AND key IN
        (SELECT key FROM key_limit WHERE queue = ?1 LIMIT ?2)";
    let some = [queue, limit as i64];
    const METERS: &str = "DELETE FROM key_meter WHERE queue = ?1 AND key IN
        (SELECT key FROM key_meter WHERE queue = ?1 LIMIT ?2)";
    let mut gone = 0;
    for delete in [OPEN, LIMITS, METERS] {
        gone += db.run(delete, |s| s.execute(some))?;
    }
    Ok(gone)
}
