//! Queries, which change nothing.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::row::{COLUMNS, Data, Stored, WITHOUT_DATA, state_number};
use crate::item::{Counts, Cursor, ItemInfo, Page, State, Totals};
use crate::name::QueueName;
use crate::options::MAX_BATCH_BYTES;
use crate::{Error, Result};

pub(super) fn counts(db: &mut Database, name: &QueueName) -> Result<Counts> {
    let Some(queue) = db.queue(name)? else { return Ok(Counts::default()) };
    let mut counts = db.run("SELECT * FROM queue WHERE queue = ?1", |s| {
        s.query_row([queue], |row| {
            let n = |name: &str| row.get::<_, i64>(name).map(|n| n.max(0) as u64);
            let mut counts = Counts {
                delayed: n("delayed")?,
                leased: n("leased")?,
                dead: n("dead")?,
                paused: row.get("paused")?,
                totals: Totals {
                    added: n("added")?,
                    leased: n("leases")?,
                    completed: n("completed")?,
                    expired: n("expired")?,
                    failed: n("failed")?,
                    died: n("died")?,
                    removed: n("removed")?,
                },
                ..Counts::default()
            };
            for (priority, ready) in counts.ready_by_priority.iter_mut().enumerate() {
                *ready = n(&format!("ready{priority}"))?;
            }
            Ok(counts)
        })
    })?;
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
        let Some(mut item) = row else {
            found.push(None);
            continue;
        };
        let most = if found.is_empty() { i64::MAX } else { room };
        match item.read_data(db, with_data, most)? {
            Data::TooLarge => break,
            Data::Found(data) if !item.broken.record => {
                room -= data.len() as i64;
                found.push(Some(item.info(data)));
            }
            _ => return Err(item.unreadable(name.as_str())),
        }
    }
    Ok(found)
}

pub(super) fn list(
    db: &mut Database,
    name: &QueueName,
    state: State,
    cursor: Option<&Cursor>,
    limit: usize,
) -> Result<Page> {
    let end = Page { items: Vec::new(), cursor: None };
    let Some(queue) = db.queue(name)? else { return Ok(end) };
    let (sort_key, second) = match cursor {
        None => (i64::MIN, i64::MIN),
        Some(cursor @ Cursor(sort_key, second)) => match (sort_key.parse(), second.parse()) {
            (Ok(sort_key), Ok(second)) => (sort_key, second),
            _ => {
                let what = format_args!("queue {name}: a cursor of another engine: {cursor}");
                return Err(Error::invalid(what));
            }
        },
    };
    // Each ready item has a position of its own; all others have position 0.
    let ready = state == State::Ready;
    let (position, number) = if ready { (second, i64::MAX) } else { (0, second) };
    // An item without a valid place, which another program has changed, would be found again and again.
    let placed = if ready { "typeof(position) = 'integer'" } else { "+position = 0" };
    let sql = format!(
        "SELECT {COLUMNS} FROM item WHERE queue = ?1 AND state = ?2 \
         AND (sort_key, position, number) > (?3, ?4, ?5) AND typeof(sort_key) = 'integer' AND {placed} \
         ORDER BY sort_key, position, number LIMIT ?6"
    );
    let after = params![queue, state_number(state), sort_key, position, number, limit as i64];
    let rows = db.rows(&sql, after, Stored::read)?;
    let mut page = end;
    // A page of large items has fewer of them.
    let (mut room, mut whole) = (MAX_BATCH_BYTES as i64, rows.len() < limit);
    for mut item in rows {
        let most = if page.items.is_empty() { i64::MAX } else { room };
        let data = item.take_data(db, most)?;
        if matches!(data, Data::TooLarge) {
            whole = false;
            break;
        }
        let second = if ready { item.position } else { item.number };
        page.cursor = Some(Cursor(item.sort_key.to_string(), second.to_string()));
        // Skips damaged items.
        if let Data::Found(data) = data
            && !item.broken.record
        {
            room -= data.len() as i64;
            page.items.push(item.info(data));
        }
    }
    if whole {
        page.cursor = None;
    }
    Ok(page)
}

/// The contents of the column, which another program may have written.
pub(super) fn queues(db: &mut Database) -> Result<Vec<String>> {
    db.rows("SELECT name FROM queue WHERE name IS NOT NULL", [], |row| {
        Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned())
    })
}
