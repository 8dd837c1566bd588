//! How much of the rates of keys is used up.

use std::collections::HashMap;

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::database::{CLOCK_STEP, Database};
use crate::Result;
use crate::key_rate::KeyRate;

/// Of the keys that one lease has looked at.
pub(super) struct KeyMeters {
    rate: KeyRate,
    /// Until when each has not refilled, in µs, and whether that has changed.
    untils: HashMap<Bytes, (u64, bool)>,
}

impl KeyMeters {
    pub(super) fn new(rate: KeyRate) -> KeyMeters {
        KeyMeters { rate, untils: HashMap::new() }
    }

    fn until(&mut self, db: &Database, queue: i64, key: &Bytes) -> Result<u64> {
        const READ: &str =
            "SELECT CAST(until AS INTEGER) FROM key_meter WHERE queue = ?1 AND key = ?2";
        if let Some((until, _)) = self.untils.get(key) {
            return Ok(*until);
        }
        let row = params![queue, &key[..]];
        let stored = db.run(READ, |s| s.query_row(row, |row| row.get(0)).optional())?;
        let until = self.rate.until(stored.unwrap_or(0), db.now, CLOCK_STEP as u64);
        // One that was cut is written, or it would be cut again and again, until the clock reaches it.
        let is_cut = stored.is_some_and(|stored| u64::try_from(stored).is_ok_and(|at| at > until));
        self.untils.insert(key.clone(), (until, is_cut));
        Ok(until)
    }

    /// In which ms the next lease of the key is allowed; `None`: one is allowed now.
    pub(super) fn opens(&mut self, db: &Database, queue: i64, key: &Bytes) -> Result<Option<u64>> {
        let until = self.until(db, queue, key)?;
        Ok((self.rate.allowed(until, db.now) == 0).then(|| self.rate.opens(until)))
    }

    /// An item of the key was leased.
    pub(super) fn took(&mut self, db: &Database, queue: i64, key: &Bytes) -> Result<()> {
        let until = self.rate.after(self.until(db, queue, key)?);
        self.untils.insert(key.clone(), (until, true));
        Ok(())
    }

    /// Writes what the lease has used up. Deletes twice as many that have refilled, so the rows do not grow beyond the keys
    /// that were leased within their times.
    pub(super) fn write(self, db: &Database, queue: i64) -> Result<()> {
        const WRITE: &str = "INSERT INTO key_meter (queue, key, until) VALUES (?1, ?2, ?3)
            ON CONFLICT (queue, key) DO UPDATE SET until = excluded.until";
        let mut written = 0;
        for (key, (until, _)) in self.untils.iter().filter(|(_, (_, changed))| *changed) {
            db.run(WRITE, |s| {
                s.execute(params![queue, &key[..], i64::try_from(*until).unwrap_or(i64::MAX)])
            })?;
            written += 1;
        }
        if written > 0 {
            drop_refilled(db, queue, 2 * written)?;
        }
        Ok(())
    }
}

/// Deletes up to `limit` rows of keys that have refilled. Returns how many.
pub(super) fn drop_refilled(db: &Database, queue: i64, limit: usize) -> Result<usize> {
    const DROP: &str = "DELETE FROM key_meter WHERE queue = ?1 AND key IN
        (SELECT key FROM key_meter WHERE queue = ?1 AND until <= ?2 ORDER BY until LIMIT ?3)";
    let drop = params![queue, now_us(db), limit as i64];
    db.run(DROP, |s| s.execute(drop))
}

/// Whether [`drop_refilled`] would delete any.
pub(super) fn any_refilled(db: &Database, queue: i64) -> Result<bool> {
    const ANY: &str = "SELECT 1 FROM key_meter WHERE queue = ?1 AND until <= ?2 LIMIT 1";
    db.run(ANY, |s| s.exists([queue, now_us(db)]))
}

fn now_us(db: &Database) -> i64 {
    (db.now as i64).saturating_mul(1_000)
}

/// When the first key has refilled, in ms since 1970: in a whole minute, because nobody waits for its row to be deleted.
pub(super) fn next(db: &Database, queue: i64) -> Result<Option<i64>> {
    const NEXT: &str = "SELECT CAST(min(until) AS INTEGER) FROM key_meter
        WHERE queue = ?1 AND until <= 9223372036854775807";
    let first: Option<i64> = db.run(NEXT, |s| s.query_row([queue], |row| row.get(0)))?;
    Ok(first.map(|until| until.saturating_add(59_999_999) / 60_000_000 * 60_000))
}
