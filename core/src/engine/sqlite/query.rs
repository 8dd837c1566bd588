//! Queries, which change nothing.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::info::info;
use super::row::{CANCELLED, COLUMNS, COMPLETED, Data, Stored, WITHOUT_DATA};
use super::{rate, settings};
use crate::Result;
use crate::item::{Counts, ItemInfo, Totals};
use crate::name::QueueName;
use crate::options::MAX_BATCH_BYTES;
use crate::pause::Paused;

pub(super) fn counts(db: &mut Database, name: &QueueName) -> Result<Counts> {
    let Some(queue) = db.queue(name)? else { return Ok(Counts::default()) };
    let mut counts = db.run("SELECT * FROM queue WHERE queue = ?1", |s| {
        s.query_row([queue], |row| {
            let n = |name: &str| row.get::<_, i64>(name).map(|n| n.max(0) as u64);
            let mut counts = Counts {
                delayed: n("delayed")?,
                leased: n("leased")?,
                dead: n("dead")?,
                completed: n("kept_completed")?,
                cancelled: n("kept_cancelled")?,
                held: n("held")?,
                paused: Paused::at(row.get("paused")?, db.now) != Paused::No,
                totals: Totals {
                    added: n("added")?,
                    leased: n("leases")?,
                    completed: n("completed")?,
                    expired: n("expired")?,
                    failed: n("failed")?,
                    died: n("died")?,
                    removed: n("removed")?,
                    replaced: n("replaced")?,
                    expired_unleased: n("expired_unleased")?,
                    cancelled: n("cancelled")?,
                },
                ..Counts::default()
            };
            for (priority, ready) in counts.ready_by_priority.iter_mut().enumerate() {
                *ready = n(&format!("ready{priority}"))?;
            }
            Ok(counts)
        })
    })?;
    // Items whose time is over count no longer, even if nobody has deleted them yet: usually a few.
    const OVER: &str =
        "SELECT count(*) FROM item WHERE queue = ?1 AND state = ?2 AND sort_key <= ?3";
    for (kept, state) in [(&mut counts.completed, COMPLETED), (&mut counts.cancelled, CANCELLED)] {
        if *kept > 0 {
            let over: i64 =
                db.run(OVER, |s| s.query_row([queue, state, db.now as i64], |row| row.get(0)))?;
            *kept = kept.saturating_sub(over as u64);
        }
    }
    let meter = rate::meter(db, queue, settings::of(db, queue)?.rate())?;
    counts.rate_limited = meter.is_some_and(|meter| meter.opens().is_some());
    counts.ready = counts.ready_by_priority.iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
    // The front of a line is the oldest, unless items were released with a delay: reads the first few.
    let mut oldest: Option<i64> = None;
    for priority in (0..10i64).filter(|p| counts.ready_by_priority[*p as usize] > 0) {
        let heads = db.rows(
            "SELECT CAST(CASE since WHEN 0 THEN added_at ELSE since END AS INTEGER) FROM item WHERE queue = ?1 AND state = 0 AND sort_key = ?2 ORDER BY position LIMIT 16",
            [queue, -priority],
            |row| row.get::<_, Option<i64>>(0),
        )?;
        oldest = heads.into_iter().flatten().chain(oldest).min();
    }
    let age =
        |since: i64| Duration::from_millis((db.now as i64).saturating_sub(since).max(0) as u64);
    counts.oldest_ready = oldest.map(age);
    Ok(counts)
}

pub(super) fn get(
    db: &mut Database,
    name: &QueueName,
    ids: &[Bytes],
    with_data: bool,
) -> Result<Vec<Option<ItemInfo>>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![None; ids.len()]) };
    let columns = if with_data { COLUMNS } else { WITHOUT_DATA };
    let sql = format!("SELECT {columns} FROM item WHERE queue = ?1 AND id = ?2");
    let (mut found, mut room) = (Vec::with_capacity(ids.len()), MAX_BATCH_BYTES as i64);
    for id in ids {
        let row =
            db.run(&sql, |s| s.query_row(params![queue, &id[..]], Stored::read).optional())?;
        let Some(mut item) = row.filter(|item| !item.is_over(db.now)) else {
            found.push(None);
            continue;
        };
        let most = if found.is_empty() { i64::MAX } else { room };
        match item.read_data(db, with_data, most)? {
            Data::TooLarge => break,
            Data::Found(data) if !item.broken.record => {
                let left = most - data.len() as i64;
                let Some(info) = info(item, db, data, with_data.then_some(left))? else { break };
                room -= info.bytes();
                found.push(Some(info.seen_at(db.now)));
            }
            _ => return Err(item.unreadable(name.as_str())),
        }
    }
    Ok(found)
}

/// The contents of the column, which another program may have written.
pub(super) fn queues(db: &mut Database) -> Result<Vec<String>> {
    db.rows("SELECT name FROM queue WHERE name IS NOT NULL", [], |row| {
        Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned())
    })
}
