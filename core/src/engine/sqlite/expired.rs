//! Making items dead that have expired.

use rusqlite::params;

use super::change::renumber;
use super::count_delta::CountDelta;
use super::database::Database;
use super::readable::readable;
use super::row::{read_priority, read_state};
use super::{expiry, outcomes, unique};
use crate::Result;
use crate::engine::Ended;
use crate::item::{NOT_LEASED, State};

/// Makes an item dead that has expired, and was in this state.
pub(super) fn die(
    db: &Database,
    queue: i64,
    number: i64,
    state: State,
    priority: u8,
    delta: &mut CountDelta,
) -> Result<()> {
    const DIE: &str =
        "UPDATE item SET state = 3, sort_key = ?2, position = 0, front = 0, error = ?3
        WHERE number = ?1";
    db.run(DIE, |s| s.execute(params![number, db.now as i64, NOT_LEASED]))?;
    expiry::end(db, number)?;
    unique::release(db, queue, number)?;
    delta.count(state, priority, -1);
    delta.count(State::Dead, priority, 1);
    delta.died += 1;
    delta.expired_unleased += 1;
    outcomes::report_number(db, queue, number, Ended::Dead)
}

/// Makes items dead that have expired: at most `limit`, and about `room` bytes. Each is a new generation, as a buried
/// item, because that is so on Redis. True if there may be more.
pub(super) fn sweep(
    db: &Database,
    queue: i64,
    limit: usize,
    mut room: i64,
    delta: &mut CountDelta,
) -> Result<bool> {
    const PASSED: &str = "SELECT extra.number, item.state, item.priority,
            coalesce((SELECT length(data) FROM large WHERE large.number = extra.number), 0)
        FROM extra LEFT JOIN item ON item.number = extra.number
        WHERE extra.queue = ?1 AND extra.expires_at BETWEEN 0 AND ?2
        ORDER BY extra.expires_at LIMIT ?3";
    const SEEN_LEASED: &str = concat!(
        "UPDATE extra SET expires_at = -expires_at, ended_at = NULL, result = NULL, ",
        readable!(),
        " WHERE number = ?1"
    );
    let passed = params![queue, db.now as i64, limit as i64];
    let found: Vec<(i64, Option<State>, u8, i64)> = db.rows(PASSED, passed, |row| {
        let size = row.get_ref(3)?.as_i64().unwrap_or(0);
        Ok((row.get(0)?, read_state(row, 1)?, read_priority(row, 2)?, size))
    })?;
    let full = found.len() == limit;
    for (number, state, priority, size) in found {
        match state {
            Some(State::Leased) => _ = db.run(SEEN_LEASED, |s| s.execute([number]))?,
            Some(state @ (State::Ready | State::Delayed)) => {
                if room <= 0 {
                    return Ok(true);
                }
                room -= size;
                let number = renumber(db, queue, number)?;
                die(db, queue, number, state, priority, delta)?;
            }
            // Only another program can have left the time of an item that has ended.
            _ => expiry::end(db, number)?,
        }
    }
    Ok(full)
}
