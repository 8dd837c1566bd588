//! Cancelling the members of a cancelled group, in bounded steps.

use rusqlite::params;

use super::cancelling::Cancelling;
use super::database::Database;
use crate::Result;
use crate::engine::generation::NO_SALT;
use crate::engine::{Generation, Target};

/// Cancels up to so many members in this queue, as a note with this number and id says, which goes behind what they note.
/// Returns how many it has looked at.
pub(super) fn step(
    db: &Database,
    queue: i64,
    (sequence, id): (i64, &[u8]),
    most: usize,
) -> Result<usize> {
    const FIND: &str = "SELECT follow_up.follow_up, item.number, item.id FROM follow_up
        CROSS JOIN extra ON extra.follow_ups = follow_up.follow_up
        CROSS JOIN item ON item.number = extra.number AND item.queue = follow_up.queue
        WHERE follow_up.group_number = ?1 AND follow_up.place IS NOT NULL AND follow_up.queue = ?2
        AND follow_up.follow_up > ?3 ORDER BY follow_up.follow_up LIMIT ?4";
    const DROP: &str = "DELETE FROM deferred WHERE sequence = ?1";
    const GO_ON: &str = "UPDATE deferred SET sequence = ?2, id = ?3 WHERE sequence = ?1";
    // What another program has written and cannot be read names no group.
    let (group, mut after) = read(id).unwrap_or((0, 0));
    let place = params![group, queue, after, most as i64];
    let found = db.rows(FIND, place, |row| {
        let generation = Generation { count: row.get::<_, i64>(1)? as u64, salt: NO_SALT };
        let id = bytes::Bytes::copy_from_slice(row.get_ref(2)?.as_blob().unwrap_or_default());
        Ok((row.get::<_, i64>(0)?, Target { id, generation: Some(generation) }))
    })?;
    let mut cancelling = Cancelling::new();
    let mut is_last = found.len() < most;
    for (follow_up, target) in &found {
        if cancelling.cancel(db, queue, target)?.is_none() {
            is_last = false;
            break;
        }
        after = *follow_up;
    }
    let delta = cancelling.end(db, queue)?;
    db.count(queue, &delta)?;
    if is_last {
        db.run(DROP, |s| s.execute([sequence]))?;
    } else {
        let (next, id) = (db.next_number(), format!("{group} {after}").into_bytes());
        db.run(GO_ON, |s| s.execute(params![sequence, next, id]))?;
    }
    Ok(found.len())
}

/// The number of the group, and that of follow-ups behind which to go on.
fn read(id: &[u8]) -> Option<(i64, i64)> {
    let (group, after) = std::str::from_utf8(id).ok()?.split_once(' ')?;
    Some((group.parse().ok()?, after.parse().ok()?))
}
