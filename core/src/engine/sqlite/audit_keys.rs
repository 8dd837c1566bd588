//! Checks of keys: their limits, and which of them are open.

use rusqlite::params;

use super::database::Database;
use super::{keys, settings};
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::error::show_id;
use crate::key_rate::MAX_REFILL;
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_KEY_LIMIT};

/// How many keys with held items one step checks.
const KEYS_STEP: usize = 200;

/// Checks the next keys with held items after `from`: those of which fewer items are leased than may be are open.
/// Returns where to continue.
pub(super) fn held_keys(
    db: &mut Database,
    name: &QueueName,
    mut from: Vec<u8>,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<Vec<u8>>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    // Leases and cleans are still opening keys.
    if keys::is_raised(db, queue)? {
        return Ok(None);
    }
    for _ in 0..KEYS_STEP {
        let Some(key) = keys::next_held(db, queue, &from)? else { return Ok(None) };
        if is_stuck(db, queue, &key)? {
            let what = format_args!("key {} is not open", show_id(&key));
            report.note(Damage::BadKey, 1, mend, what);
            if mend {
                keys::open_again(db, queue, &key)?;
            }
        }
        from = key;
    }
    Ok(Some(from))
}

/// Checks the next open keys after `from`. Returns where to continue.
pub(super) fn open_keys(
    db: &mut Database,
    name: &QueueName,
    from: Vec<u8>,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<Vec<u8>>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    if from.is_empty() {
        let unreadable = without_keys(db, queue, "open_key", MAX_BATCH, mend)?;
        report.note(Damage::BadKey, unreadable, mend, "open keys that cannot be read");
        if mend && unreadable == MAX_BATCH as u64 {
            return Ok(Some(from));
        }
    }
    let mut open = open_after(db, queue, &from, MAX_BATCH)?;
    for (key, found) in &open {
        let what = match found {
            Open::Sound => continue,
            Open::Late => "is open too far behind",
            Open::Unreadable => "is open at no place",
        };
        report.note(Damage::BadKey, 1, mend, format_args!("key {} {what}", show_id(key)));
        if mend {
            keys::open_again(db, queue, key)?;
        }
    }
    let full = open.len() == MAX_BATCH;
    Ok(open.pop().filter(|_| full).map(|(key, _)| key))
}

/// Checks the next limits of single keys after `from`. Returns where to continue.
pub(super) fn key_limits(
    db: &mut Database,
    name: &QueueName,
    from: Vec<u8>,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<Vec<u8>>> {
    let readable =
        format!("typeof(most) = 'integer' AND most BETWEEN 1 AND {MAX_KEY_LIMIT} AND ?4 > 0");
    rows(db, name, from, mend, report, ("key_limit", &readable))
}

/// Checks what the next keys after `from` have used up of their rates. Returns where to continue.
pub(super) fn key_meters(
    db: &mut Database,
    name: &QueueName,
    from: Vec<u8>,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<Vec<u8>>> {
    let latest = MAX_REFILL.as_millis() + 60_000;
    let readable =
        format!("typeof(until) = 'integer' AND until BETWEEN 0 AND 1000 * (?4 + {latest})");
    rows(db, name, from, mend, report, ("key_meter", &readable))
}

/// Checks that the next rows of this table are `readable`, which may name the time as `?4`, and deletes others.
fn rows(
    db: &mut Database,
    name: &QueueName,
    from: Vec<u8>,
    mend: bool,
    report: &mut DeepReport,
    (table, readable): (&str, &str),
) -> Result<Option<Vec<u8>>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    if from.is_empty() {
        let unreadable = without_keys(db, queue, table, MAX_BATCH, mend)?;
        report.note(Damage::BadSettings, unreadable, mend, format_args!("{table} of no keys"));
        if mend && unreadable == MAX_BATCH as u64 {
            return Ok(Some(from));
        }
    }
    let next = format!(
        "SELECT key, coalesce({readable}, 0) FROM {table} WHERE queue = ?1 AND key > ?2 \
         ORDER BY key LIMIT ?3"
    );
    let step = params![queue, from, MAX_BATCH as i64, db.now as i64];
    let mut rows: Vec<(Vec<u8>, bool)> =
        db.rows(&next, step, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let delete = format!("DELETE FROM {table} WHERE queue = ?1 AND key = ?2");
    for (key, _) in rows.iter().filter(|(_, readable)| !readable) {
        let what = format_args!("{table} of key {}", show_id(key));
        report.note(Damage::BadSettings, 1, mend, what);
        if mend {
            db.run(&delete, |s| s.execute(params![queue, key]))?;
        }
    }
    let full = rows.len() == MAX_BATCH;
    Ok(rows.pop().filter(|_| full).map(|(key, _)| key))
}

/// Whether the key has held items and is not open, although fewer of its items are leased than may be.
fn is_stuck(db: &Database, queue: i64, key: &[u8]) -> Result<bool> {
    const OPEN: &str = "SELECT 1 FROM open_key WHERE queue = ?1 AND key = ?2";
    let limit = keys::own_limit(db, queue, key)?.unwrap_or(settings::of(db, queue)?.key_limit());
    Ok(keys::leased(db, queue, key)? < i64::from(limit)
        && !db.run(OPEN, |s| s.exists(params![queue, key]))?)
}

/// An open key, as a check finds it.
enum Open {
    Sound,
    /// Its first held item that may be leased stands before the place at which the next lease looks for it, or it opens
    /// later than its rate can tell.
    Late,
    Unreadable,
}

/// Up to `limit` open keys of a queue after this one, which is empty at first.
fn open_after(
    db: &Database,
    queue: i64,
    after: &[u8],
    limit: usize,
) -> Result<Vec<(Vec<u8>, Open)>> {
    let next = format!(
        "SELECT key, sort_key, position, {} FROM open_key \
         WHERE queue = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
        keys::READABLE
    );
    let open = db.rows(&next, params![queue, after, limit as i64], |row| {
        let place = if row.get(3)? { Some((row.get(1)?, row.get(2)?)) } else { None };
        Ok((row.get::<_, Vec<u8>>(0)?, place))
    })?;
    // Leases and cleans open keys again, at the right places.
    let raised = keys::is_raised(db, queue)?;
    let latest = settings::of(db, queue)?
        .key_rate()
        .map(|rate| (rate.latest(db.now) as i64).saturating_add(60_000));
    let look = |(key, at): (Vec<u8>, Option<(i64, i64)>)| {
        let Some(at) = at else { return Ok((key, Open::Unreadable)) };
        if at.0 > 0 {
            let is_late = !raised
                && latest.is_none_or(|latest| at.0 > latest)
                && keys::first_held(db, queue, &key)?.is_some();
            return Ok((key, if is_late { Open::Late } else { Open::Sound }));
        }
        // A key that is full is opened again, at the right place, when it is not any more.
        let first = keys::first_held(db, queue, &key)?.filter(|first| *first < at);
        let limit =
            keys::own_limit(db, queue, &key)?.unwrap_or(settings::of(db, queue)?.key_limit());
        let is_late =
            !raised && first.is_some() && keys::leased(db, queue, &key)? < i64::from(limit);
        Ok((key, if is_late { Open::Late } else { Open::Sound }))
    };
    open.into_iter().map(look).collect()
}

/// Deletes up to `limit` rows of this table whose keys are no keys, which only another program can have written. Returns
/// how many there are of them.
fn without_keys(db: &Database, queue: i64, table: &str, limit: usize, delete: bool) -> Result<u64> {
    // Whatever is no blob is sorted before all blobs.
    let some = format!("SELECT key FROM {table} WHERE queue = ?1 AND key < x'' LIMIT ?2");
    let some_of = [queue, limit as i64];
    let found = db.rows(&some, some_of, |_| Ok(()))?.len();
    if delete && found > 0 {
        let delete = format!("DELETE FROM {table} WHERE queue = ?1 AND key IN ({some})");
        db.run(&delete, |s| s.execute(some_of))?;
    }
    Ok(found as u64)
}
