//! Showing items.

use std::time::Duration;

use bytes::Bytes;

use super::database::Database;
use super::extra::{self, Extra};
use super::follow_ups;
use super::row::{Stored, in_line};
use crate::Result;
use crate::item::{ItemInfo, State};
use crate::unix_time::from_ms;

/// The item, with this data, and with its result and its follow-ups if `most` says how many bytes they may have. `None`: they
/// have more.
pub(super) fn info(
    item: Stored,
    db: &Database,
    data: Bytes,
    most: Option<i64>,
) -> Result<Option<ItemInfo>> {
    let generation = item.generation().to_string();
    let extra = match item.more {
        true => extra::read(db, item.number, most)?,
        false => Some(Extra::default()),
    };
    let Some(extra) = extra else { return Ok(None) };
    let left = most.map(|most| most - extra.result.as_ref().map_or(0, Bytes::len) as i64);
    let follow_ups = match left.zip(extra.follow_ups.filter(|_| extra.ended_at.is_none())) {
        Some((left, number)) => follow_ups::read(db, number, left)?,
        None => Some(Vec::new()),
    };
    let Some(follow_ups) = follow_ups else { return Ok(None) };
    Ok(Some(ItemInfo {
        data,
        state: item.state,
        priority: item.priority,
        max_attempts: item.max_attempts(),
        failures: item.failures,
        expiries: item.expiries,
        added_at: from_ms(item.added_at.max(0) as u64),
        at: (!in_line(item.state)).then(|| from_ms(item.sort_key.max(0) as u64)),
        last_error: item.error,
        endings: item.history.endings,
        releases: item.history.releases,
        generation,
        ended_at: extra.ended_at.map(|at| from_ms(at.max(0) as u64)),
        result: extra.result,
        retain: Duration::from_millis(extra.retain.max(0) as u64),
        unique: extra.unique,
        key: item.key,
        expires_at: extra.expires_at.map(|at| from_ms(at.unsigned_abs())),
        progress: extra.progress.filter(|_| item.state != State::Completed),
        cancel_requested: extra.marked,
        follow_ups,
        id: item.id,
    }))
}
