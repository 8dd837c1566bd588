//! Cleaning: one step of a light clean.

use std::time::Duration;

use super::count_delta::CountDelta;
use super::database::Database;
use super::due::{move_due, next_due};
use crate::Result;
use crate::clean::LightReport;
use crate::name::QueueName;

/// Most items of each kind that one step moves.
const LIGHT_STEP: usize = 500;

pub(super) fn light_clean(db: &mut Database, name: &QueueName) -> Result<(LightReport, bool)> {
    let Some(queue) = db.queue(name)? else { return Ok((LightReport::default(), false)) };
    let mut delta = CountDelta::default();
    let moved = move_due(db, queue, LIGHT_STEP, &mut delta)?;
    db.count(queue, &delta)?;
    let next = next_due(db, queue)?;
    let report = LightReport {
        promoted: moved.promoted,
        expired: moved.expired,
        died: moved.died,
        next_in: next
            .map(|at| Duration::from_millis(at.saturating_sub(db.now as i64).max(0) as u64)),
    };
    Ok((report, moved.expired.max(moved.promoted) >= LIGHT_STEP as u64))
}

/// Whether there is anything to move: looking needs no lock.
pub(super) fn anything_due(db: &mut Database, name: &QueueName) -> Result<Result<(), LightReport>> {
    let Some(queue) = db.queue(name)? else { return Ok(Err(LightReport::default())) };
    let next = next_due(db, queue)?;
    if next.is_some_and(|at| at <= db.now as i64) {
        return Ok(Ok(()));
    }
    let next_in =
        next.map(|at| Duration::from_millis(at.saturating_sub(db.now as i64).max(0) as u64));
    Ok(Err(LightReport { next_in, ..LightReport::default() }))
}
