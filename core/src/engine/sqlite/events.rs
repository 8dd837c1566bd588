//! The events of queues that keep them.

use bytes::Bytes;
use rusqlite::{OptionalExtension, Row};

use super::database::Database;
use super::noted_events::HEAD;
use super::row::Stored;
use super::settings;
use crate::Result;
use crate::engine::generation::NO_SALT;
use crate::engine::{EventEntry, FoundEvents, Generation, StoredEvent, WhichEvents};
use crate::event::{EventKind, EventsPage, Place};
use crate::name::QueueName;
use crate::settings::Setting;

/// About how many bytes of events one call reads.
const MAX_BYTES: usize = 1 << 20;

/// Whether the queue keeps its changes.
pub(super) fn are_kept(db: &Database, queue: i64) -> Result<bool> {
    Ok(settings::of(db, queue)?.get(Setting::Events) > 0)
}

/// Notes a change, if the queue keeps its changes. `attempt`: 0 if it is about none.
pub(super) fn note(
    db: &Database,
    queue: i64,
    kind: EventKind,
    number: i64,
    attempt: u32,
    id: Option<&[u8]>,
) -> Result<()> {
    if !are_kept(db, queue)? {
        return Ok(());
    }
    db.events.push(queue, kind, number, attempt, id.unwrap_or_default());
    Ok(())
}

pub(super) fn note_lease(db: &Database, queue: i64, item: &Stored) -> Result<()> {
    let attempt = item.failures.saturating_add(item.expiries).saturating_add(1);
    note(db, queue, EventKind::Leased, item.number, attempt, None)
}

/// The same for an item that is still there, with its id.
pub(super) fn note_with_id(db: &Database, queue: i64, kind: EventKind, number: i64) -> Result<()> {
    const ID: &str = "SELECT id FROM item WHERE number = ?1 AND queue = ?2";
    if !are_kept(db, queue)? {
        return Ok(());
    }
    let found = db.run(ID, |s| {
        let read = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob().ok().map(<[u8]>::to_vec));
        s.query_row([number, queue], read).optional()
    })?;
    match found {
        Some(id) => note(db, queue, kind, number, 0, id.as_deref()),
        None => Ok(()),
    }
}

pub(super) fn read(db: &mut Database, name: &QueueName, which: &WhichEvents) -> Result<EventsPage> {
    const LAST: &str = "SELECT event, events FROM queue WHERE queue = ?1";
    const FIRST: &str = "SELECT last - count FROM event WHERE queue = ?1 ORDER BY last LIMIT 1";
    const TIME: &str = "SELECT CASE WHEN last - count < ?2 THEN at END FROM event
        WHERE queue = ?1 AND last >= ?2 ORDER BY last LIMIT 1";
    let Some(queue) = db.queue(name)? else { return Ok(which.nothing()) };
    let (last, most): (i64, i64) =
        db.run(LAST, |s| s.query_row([queue], |row| Ok((row.get(0)?, row.get(1)?))))?;
    if most == 0 {
        return Ok(which.nothing());
    }
    let first: Option<i64> =
        db.run(FIRST, |s| s.query_row([queue], |row| row.get(0)).optional())?;
    let horizon = first.unwrap_or(last).max(last.saturating_sub(most));
    // When the event with this number was written, if it is kept.
    let time_of = |number: i64| -> Result<Option<i64>> {
        let read = |row: &Row<'_>| row.get::<_, Option<i64>>(0);
        Ok(db.run(TIME, |s| s.query_row([queue, number], read).optional())?.flatten())
    };
    let (mut gap, mut from) = (false, (horizon, db.now as i64));
    match which.after {
        Place::Start => {}
        Place::Now => from = (last, time_of(last)?.unwrap_or(from.1)),
        Place::After { number, at } => {
            let (number, at) = (number as i64, at as i64);
            // Another event has the number if a server has lost data.
            let differs = time_of(number)?.is_some_and(|seen| seen != at);
            gap = number < horizon || number > last || differs;
            if !gap {
                from = (number, at);
            }
        }
    }
    let entries = entries(db, queue, from.0, which.limit)?;
    Ok(which.page(FoundEvents { gap, from: (from.0 as u64, from.1 as u64), entries }))
}

/// Events behind this number, in whole rows.
fn entries(db: &Database, queue: i64, from: i64, limit: usize) -> Result<Vec<EventEntry>> {
    const NEXT: &str =
        "SELECT last, at, packed FROM event WHERE queue = ?1 AND last > ?2 ORDER BY last";
    db.run(NEXT, |s| {
        let mut rows = s.query([queue, from])?;
        let (mut entries, mut left, mut bytes) = (Vec::new(), limit as i64, 0);
        while let Some(row) = rows.next()? {
            let (last, at): (i64, i64) = (row.get(0)?, row.get(1)?);
            let packed: Vec<u8> = row.get(2)?;
            let events = unpack(&packed);
            bytes += packed.len();
            left -= (events.len() as i64).min(last - from);
            entries.push(EventEntry { last: last as u64, at: at as u64, events });
            if left <= 0 || bytes >= MAX_BYTES {
                break;
            }
        }
        Ok(entries)
    })
}

fn unpack(mut packed: &[u8]) -> Vec<StoredEvent> {
    let mut events = Vec::new();
    while let Some((head, rest)) = packed.split_first_chunk::<HEAD>() {
        let [letter, number @ .., a, b, c, d, e, f] = *head;
        let (attempt, length) = (u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, f]));
        let Some((id, behind)) = rest.split_at_checked(length.into()) else { break };
        let Some(kind) = EventKind::from_letter(letter) else { break };
        let generation = Generation { count: u64::from_be_bytes(number), salt: NO_SALT };
        events.push(StoredEvent {
            kind,
            generation: generation.to_string(),
            id: (!id.is_empty()).then(|| Bytes::copy_from_slice(id)),
            attempt: (kind.has_attempt() && attempt > 0).then_some(attempt),
        });
        packed = behind;
    }
    events
}
