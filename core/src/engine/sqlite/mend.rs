//! Repairing the row of an item that another program has changed, so that it does not block other items.

use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::row::{Stored, in_line, sort_key, state_number};
use super::{keys, unique};
use crate::Result;
use crate::item::State;

/// Writes every column: SQLite rejects a change of a row that keeps a value of a wrong type.
const WRITE: &str = "UPDATE item SET state = ?2, sort_key = ?3, position = ?4, priority = ?5,
    max_attempts = ?6, failures = ?7, expiries = ?8, deliveries = ?9, front = ?10, added_at = ?11,
    since = ?12, error = ?13, history = ?14,
    more = EXISTS (SELECT 1 FROM extra WHERE extra.number = item.number),
    key = CASE WHEN typeof(key) = 'blob' AND length(key) BETWEEN 1 AND 128 THEN key END,
    id = CASE typeof(id) WHEN 'blob' THEN id ELSE CAST('unreadable ' || number AS BLOB) END,
    data = CASE WHEN typeof(data) IN ('blob', 'null') THEN data ELSE CAST(data AS BLOB) END
    WHERE number = ?1";

/// Replaces unreadable details by those of a new item. An item without a state becomes ready, at the front. An
/// item with an unreadable id or data becomes dead, unless it has ended: it cannot be leased, and operators can find
/// and remove it.
pub(super) fn set_right(db: &Database, item: &Stored, delta: &mut CountDelta) -> Result<()> {
    let now = db.now as i64;
    let (mut state, mut at, mut position, mut front) =
        (item.state, item.sort_key, item.position, item.front);
    if item.broken.order {
        (at, position) = (now, 0);
    }
    if item.broken.state || (item.broken.order && in_line(state)) {
        position = -db.next_number();
    }
    if item.broken.record && state != State::Dead && !state.is_retained() {
        if item.more {
            unique::disown(db, item.number)?;
        }
        (state, at, position, front) = (State::Dead, now, 0, false);
        tracing::warn!(number = item.number, "an item cannot be read, and is dead now: run check");
    }
    if !item.broken.state {
        delta.count(item.state, item.priority, -1);
    }
    delta.count(state, item.priority, 1);
    // A number that no lease has.
    let deliveries = if item.broken.deliveries { now } else { item.deliveries as i64 };
    db.run(WRITE, |statement| {
        statement.execute(params![
            item.number,
            state_number(state),
            sort_key(state, item.priority, at),
            position,
            item.priority,
            item.max_attempts,
            item.failures,
            item.expiries,
            deliveries,
            front,
            item.added_at,
            item.since,
            item.error,
            item.history.packed(),
        ])
    })?;
    if item.state == State::Leased && state != State::Leased {
        open_key(db, item)?;
    }
    Ok(())
}

/// It is not leased any more.
fn open_key(db: &Database, item: &Stored) -> Result<()> {
    const QUEUE: &str = "SELECT queue FROM item WHERE number = ?1";
    let Some(key) = &item.key else { return Ok(()) };
    let queue = db.run(QUEUE, |s| s.query_row([item.number], |row| row.get(0)))?;
    keys::open(db, queue, key)
}
