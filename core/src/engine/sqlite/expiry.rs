//! Items that expire: they are dead at a time if they are not leased then. The time is in `extra`, until an attempt
//! has counted or the item has ended. It is negative if it passed while the item was leased and a sweep has seen that,
//! so that sweeps do not find it again.

use rusqlite::OptionalExtension;

use super::database::Database;
use super::readable::readable;
use super::row::Stored;
use crate::Result;
use crate::item::State;

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
    let waits = matches!(item.state, State::Ready | State::Delayed | State::Held);
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

/// Whether a sweep would find anything.
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
