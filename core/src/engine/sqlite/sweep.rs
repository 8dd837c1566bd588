//! What is done when a time has passed: that of retained items, of reserved unique keys, and of items that expire. And
//! deleting what the settings of the queue allow no longer.

use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::row::{CANCELLED, COMPLETED, DEAD};
use super::{events, expired, expiry, extra, follow_ups, settings, unique};
use crate::Result;
use crate::event::EventKind;
use crate::settings::Setting;

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
    let age = settings::of(db, queue)?.get(Setting::MaxDeadAge) as i64;
    if age > 0 && db.run(ANY, |s| s.exists([queue, DEAD, now - age]))? {
        return Ok(true);
    }
    Ok(Excess::of(db, queue, &CountDelta::default())?.any()
        || db.run(RESERVED, |s| s.exists([queue, now]))?
        || expiry::any_passed(db, queue)?)
}

/// How many items the settings do not allow.
#[derive(Default)]
struct Excess {
    dead: usize,
    retained: usize,
}

impl Excess {
    /// `delta`: what the counts of the queue still lack.
    fn of(db: &Database, queue: i64, delta: &CountDelta) -> Result<Excess> {
        const COUNTS: &str =
            "SELECT dead, kept_completed + kept_cancelled FROM queue WHERE queue = ?1";
        let settings = settings::of(db, queue)?;
        let most = |setting| Some(settings.get(setting) as i64).filter(|most| *most > 0);
        let (max_dead, max_retained) = (most(Setting::MaxDead), most(Setting::MaxRetained));
        if max_dead.or(max_retained).is_none() {
            return Ok(Excess::default());
        }
        let (dead, retained): (i64, i64) =
            db.run(COUNTS, |s| s.query_row([queue], |row| Ok((row.get(0)?, row.get(1)?))))?;
        let retained = retained + delta.kept_completed + delta.kept_cancelled;
        let over = |count: i64, most: Option<i64>| {
            most.map_or(0, |most| count.saturating_sub(most).max(0) as usize)
        };
        Ok(Excess {
            dead: over(dead + delta.dead, max_dead),
            retained: over(retained, max_retained),
        })
    }

    fn any(&self) -> bool {
        self.dead + self.retained > 0
    }
}

/// When [`sweep`] has something to do, in ms since 1970. Nobody sees what it deletes once its time is over, and the
/// settings promise no time, so it is enough to look once a minute.
pub(super) fn next(db: &Database, queue: i64) -> Result<Option<i64>> {
    // A value of a wrong type is no time; an audit finds it.
    const FIRST: &str = "SELECT CAST(min(sort_key) AS INTEGER) FROM item
        WHERE queue = ?1 AND state = ?2 AND sort_key <= 9223372036854775807";
    const RESERVED: &str = "SELECT CAST(min(until) AS INTEGER) FROM unique_key
        WHERE queue = ?1 AND until > 0 AND until <= 9223372036854775807";
    const SWEPT: &str = "SELECT swept FROM queue WHERE queue = ?1";
    let time = |row: &rusqlite::Row<'_>| row.get::<_, Option<i64>>(0);
    let first = |state| db.run(FIRST, |s| s.query_row([queue, state], time));
    let reserved = db.run(RESERVED, |s| s.query_row([queue], time))?;
    let too_old = match settings::of(db, queue)?.get(Setting::MaxDeadAge) as i64 {
        0 => None,
        age => first(DEAD)?.map(|died| died.saturating_add(age)),
    };
    let exceeds = match Excess::of(db, queue, &CountDelta::default())?.any() {
        // The last sweep of a cleaner has left no more than that.
        true => db
            .run(SWEPT, |s| s.query_row([queue], time))?
            .map(|swept| if swept <= db.now as i64 { swept + 1 } else { 0 }),
        false => None,
    };
    let kept = [first(COMPLETED)?, first(CANCELLED)?];
    let times = [reserved, expiry::next(db, queue)?, too_old, exceeds];
    let first = kept.into_iter().chain(times).flatten().min();
    Ok(first.map(|at| at.saturating_add(59_999) / 60_000 * 60_000))
}

/// Notes that a cleaner has swept the queue, if its settings limit how many items it keeps.
pub(super) fn note_clean(db: &Database, queue: i64) -> Result<()> {
    const NOTE: &str = "UPDATE queue SET swept = ?2 WHERE queue = ?1";
    let settings = settings::of(db, queue)?;
    if settings.get(Setting::MaxDead) + settings.get(Setting::MaxRetained) > 0 {
        db.run(NOTE, |s| s.execute([queue, db.now as i64]))?;
    }
    Ok(())
}

/// Deletes retained items whose time is over, ends the reserved times of unique keys, makes items dead that have
/// expired, and deletes what the settings allow no longer: at most `limit` of each, and about `room` bytes. True if
/// there may be more.
pub(super) fn sweep(
    db: &Database,
    queue: i64,
    limit: usize,
    room: i64,
    delta: &mut CountDelta,
) -> Result<bool> {
    let mut more = expired::sweep(db, queue, limit, room, delta)?;
    let excess = Excess::of(db, queue, delta)?;
    let (retained, over) = find_retained(db, queue, limit, excess.retained)?;
    more |= delete(db, queue, retained, over, limit, room, delta)?;
    let dead = find_dead(db, queue, limit, excess.dead)?;
    more |= delete(db, queue, dead, 0, limit, room, delta)?;
    Ok(more | (unique::end_reservations(db, queue, limit)? == limit))
}

/// An item to delete.
struct Found {
    number: i64,
    sort_key: i64,
    /// Bytes of its large data and its result.
    size: i64,
}

/// The first `limit` items of a state with a time from `from` to `until`.
fn find(
    db: &Database,
    queue: i64,
    state: i64,
    (from, until): (i64, i64),
    limit: usize,
) -> Result<Vec<Found>> {
    const FIRST: &str = "SELECT number, sort_key,
            coalesce((SELECT length(result) FROM extra WHERE extra.number = item.number), 0)
            + coalesce((SELECT length(data) FROM large WHERE large.number = item.number), 0)
        FROM item WHERE queue = ?1 AND state = ?2 AND sort_key >= ?3 AND sort_key <= ?4
        ORDER BY sort_key, position LIMIT ?5";
    db.rows(FIRST, params![queue, state, from, until, limit as i64], |row| {
        Ok(Found { number: row.get(0)?, sort_key: row.get(1)?, size: row.get(2)? })
    })
}

/// The retained items to delete, `limit` at most: those whose time is over, and so many of the next ones that `excess` are
/// gone. Returns also how many are over.
fn find_retained(
    db: &Database,
    queue: i64,
    limit: usize,
    excess: usize,
) -> Result<(Vec<Found>, usize)> {
    let (now, mut found) = (db.now as i64, Vec::new());
    for state in [COMPLETED, CANCELLED] {
        found.extend(find(db, queue, state, (i64::MIN, now), limit - found.len())?);
    }
    let over = found.len();
    let wanted = excess.min(limit).saturating_sub(over);
    if wanted > 0 {
        let mut next = find(db, queue, COMPLETED, (now + 1, i64::MAX), wanted)?;
        next.extend(find(db, queue, CANCELLED, (now + 1, i64::MAX), wanted)?);
        next.sort_by_key(|item| (item.sort_key, item.number));
        next.truncate(wanted);
        found.extend(next);
    }
    Ok((found, over))
}

/// The oldest dead items, `limit` at most: `excess`, and those that are too old.
fn find_dead(db: &Database, queue: i64, limit: usize, excess: usize) -> Result<Vec<Found>> {
    let age = settings::of(db, queue)?.get(Setting::MaxDeadAge) as i64;
    let mut found = Vec::new();
    if age > 0 {
        found = find(db, queue, DEAD, (i64::MIN, db.now as i64 - age), limit)?;
    }
    if excess > found.len() && found.len() < limit {
        found = find(db, queue, DEAD, (i64::MIN, i64::MAX), excess.min(limit))?;
    }
    Ok(found)
}

/// Deletes the first of these items. Those behind the first `over` count as removed. True if there may be more.
fn delete(
    db: &Database,
    queue: i64,
    found: Vec<Found>,
    over: usize,
    limit: usize,
    mut room: i64,
    delta: &mut CountDelta,
) -> Result<bool> {
    let full = found.len() == limit;
    for (i, Found { number, size, .. }) in found.into_iter().enumerate() {
        if room <= 0 {
            return Ok(true);
        }
        room -= size;
        follow_ups::end(db, queue, number, follow_ups::ENDS, None)?;
        if i >= over {
            events::note_with_id(db, queue, EventKind::Removed, number)?;
        }
        extra::delete_item(db, queue, number, delta)?;
        delta.removed += i64::from(i >= over);
    }
    Ok(full)
}
