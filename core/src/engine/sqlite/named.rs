//! Items that a call names, to change or end them.

use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::extra;
use super::mend::set_right;
use super::row::{Stored, WITHOUT_DATA, is_generation};
use crate::Result;
use crate::engine::Target;
use crate::item::State;

pub(super) const MOVE_LARGE: &str = "UPDATE large SET number = ?2 WHERE number = ?1";

/// Gives an item another number.
pub(super) fn renumber(db: &Database, queue: i64, old: i64) -> Result<i64> {
    let new = db.next_number();
    db.run("UPDATE item SET number = ?2 WHERE number = ?1", |s| s.execute([old, new]))?;
    db.run(MOVE_LARGE, |s| s.execute([old, new]))?;
    extra::renumber(db, queue, old, new)?;
    Ok(new)
}

/// The target, if its state allows the change. Repairs its row, so that it can be changed.
pub(super) fn find(
    db: &Database,
    queue: i64,
    target: &Target,
    delta: &mut CountDelta,
    allows: impl Fn(State) -> bool,
) -> Result<Option<Stored>> {
    let sql = format!("SELECT {WITHOUT_DATA} FROM item WHERE queue = ?1 AND id = ?2");
    let find = || -> Result<Option<Stored>> {
        let place = params![queue, target.id.as_ref()];
        let found = db.run(&sql, |s| s.query_row(place, Stored::read).optional())?;
        Ok(found.filter(|item| is_generation(item.number, target) && allows(item.state)))
    };
    match find()? {
        Some(item) if item.broken.any() => {
            set_right(db, &item, delta)?;
            // An unreadable item cannot be changed.
            if item.broken.record { Ok(None) } else { find() }
        }
        found => Ok(found),
    }
}
