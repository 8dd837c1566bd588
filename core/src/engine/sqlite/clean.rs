//! One step of a light clean.

use super::count_delta::CountDelta;
use super::database::Database;
use super::due::{move_due, next_due};
use super::{distribute, key_meter, keys, sweep};
use crate::Result;
use crate::clean::LightReport;
use crate::name::QueueName;
use crate::options::MAX_BATCH_BYTES;

/// Limit of the items that one step moves, for each state they come from.
const LIGHT_STEP: usize = 500;

pub(super) fn light_clean(db: &mut Database, name: &QueueName) -> Result<(LightReport, bool)> {
    let Some(queue) = db.queue(name)? else { return Ok((LightReport::default(), false)) };
    let mut delta = CountDelta::default();
    let moved = move_due(db, queue, LIGHT_STEP, &mut delta)?;
    let unfinished = sweep::sweep(db, queue, LIGHT_STEP, MAX_BATCH_BYTES as i64, &mut delta)?;
    let raised = keys::open_raised(db, queue, LIGHT_STEP)? | keys::open_in_time(db, queue)?;
    let refilled = key_meter::drop_refilled(db, queue, LIGHT_STEP)? == LIGHT_STEP;
    distribute::finish(db, queue, &delta)?;
    sweep::note_clean(db, queue)?;
    let next = next(db, queue)?;
    let report = LightReport {
        promoted: moved.promoted,
        expired: moved.expired,
        died: moved.died,
        removed: delta.removed.max(0) as u64,
        next_in: next.map(|at| db.time_until(at)),
    };
    let more =
        unfinished || raised || refilled || moved.expired.max(moved.promoted) >= LIGHT_STEP as u64;
    Ok((report, more))
}

/// When the next item is due or expires, or there is something to delete, in ms since 1970.
pub(super) fn next(db: &Database, queue: i64) -> Result<Option<i64>> {
    let times = [next_due(db, queue)?, sweep::next(db, queue)?, key_meter::next(db, queue)?];
    Ok(times.into_iter().flatten().min())
}

/// The report of a clean that would move and delete nothing, if so. It needs no writer lock.
pub(super) fn nothing_due(db: &mut Database, name: &QueueName) -> Result<Option<LightReport>> {
    let Some(queue) = db.queue(name)? else { return Ok(Some(LightReport::default())) };
    let next = next(db, queue)?;
    let is_due = next.is_some_and(|at| at <= db.now as i64);
    let is_due = is_due || keys::is_raised(db, queue)? || key_meter::any_refilled(db, queue)?;
    if is_due || sweep::any(db, queue)? {
        return Ok(None);
    }
    let next_in = next.map(|at| db.time_until(at));
    Ok(Some(LightReport { next_in, ..LightReport::default() }))
}
