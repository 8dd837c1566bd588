//! Adding follow-ups of items that have ended, to their queue or others: source and target are one file, so no outbox is needed.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use super::add::add_fired;
use super::count_delta::CountDelta;
use super::database::Database;
use super::follow_ups::{Kinds, any_deferred};
use super::packed_items::unpack;
use crate::Result;
use crate::item::{FollowUp, Trigger};
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES};

struct Note {
    sequence: i64,
    follow_up: i64,
    kinds: Kinds,
    last: bool,
    trigger: Trigger,
}

/// Writes what an operation that may have ended items has counted, and adds their follow-ups.
pub(super) fn finish(db: &Database, queue: i64, delta: &CountDelta) -> Result<()> {
    db.count(queue, delta)?;
    // Adding some may end others, which they replace.
    if db.deferred.take() {
        step(db, queue)?;
    }
    Ok(())
}

/// One step for a queue. Returns whether more are left.
pub(super) fn distribute(db: &mut Database, name: &QueueName) -> Result<bool> {
    let Some(queue) = db.queue(name)? else { return Ok(false) };
    step(db, queue)?;
    any_deferred(db, queue)
}

/// Adds up to 1,000 items, and of up to 16 MiB, but at least those of one note.
fn step(db: &Database, queue: i64) -> Result<()> {
    let (mut left, mut room) = (MAX_BATCH, MAX_BATCH_BYTES);
    while left > 0 && room > 0 {
        let Some(note) = next(db, queue)? else { break };
        let (follow_ups, size) = fired(db, &note)?;
        if left < MAX_BATCH && (follow_ups.len() + 1 > left || size > room) {
            break;
        }
        (left, room) = (left.saturating_sub(follow_ups.len() + 1), room.saturating_sub(size));
        let fired = |follow_up: &'_ FollowUp| follow_up.with_trigger.then_some(&note.trigger);
        let targets: BTreeSet<_> = follow_ups.iter().map(|one| one.item.queue.as_ref()).collect();
        for target in targets {
            let queue = target.map_or(Ok(queue), |name| queue_or_new(db, name))?;
            let theirs = follow_ups.iter().filter(|one| one.item.queue.as_ref() == target);
            if add_fired(db, queue, theirs.map(|one| (&one.item, fired(one))))? > 0 {
                db.note_added(queue);
            }
        }
        db.run("DELETE FROM deferred WHERE sequence = ?1", |s| s.execute([note.sequence]))?;
        if note.last {
            const DELETE: &str = "DELETE FROM follow_up WHERE follow_up = ?1";
            db.run(DELETE, |s| s.execute([note.follow_up]))?;
        }
    }
    Ok(())
}

/// The oldest note. What another program has written and cannot be read fires nothing.
fn next(db: &Database, queue: i64) -> Result<Option<Note>> {
    const NEXT: &str = "SELECT sequence, follow_up, kinds, last, id, result FROM deferred
        WHERE queue = ?1 ORDER BY sequence LIMIT 1";
    db.run(NEXT, |s| {
        s.query_row([queue], |row| {
            let bytes = |column| -> rusqlite::Result<Option<bytes::Bytes>> {
                Ok(row.get_ref(column)?.as_blob().ok().map(bytes::Bytes::copy_from_slice))
            };
            Ok(Note {
                sequence: row.get(0)?,
                follow_up: row.get_ref(1)?.as_i64().unwrap_or(0),
                kinds: row.get_ref(2)?.as_i64().unwrap_or(0) as Kinds,
                last: row.get_ref(3)?.as_i64() == Ok(1),
                trigger: Trigger { id: bytes(4)?.unwrap_or_default(), result: bytes(5)? },
            })
        })
        .optional()
    })
}

/// What the note fires, and about how many bytes these are.
fn fired(db: &Database, note: &Note) -> Result<(Vec<FollowUp>, usize)> {
    const PACKED: &str = "SELECT packed FROM follow_up WHERE follow_up = ?1";
    if note.kinds == 0 {
        return Ok((Vec::new(), 0));
    }
    let found = db.run(PACKED, |s| {
        s.query_row(params![note.follow_up], |row| {
            let packed = row.get_ref(0)?.as_blob().unwrap_or_default();
            Ok((unpack(packed).unwrap_or_default(), packed.len()))
        })
        .optional()
    })?;
    let (mut all, size) = found.unwrap_or_default();
    all.retain(|follow_up| note.kinds & follow_up.on.bit() != 0);
    let result = note.trigger.result.as_ref().map_or(0, bytes::Bytes::len);
    let with_trigger = all.iter().filter(|follow_up| follow_up.with_trigger).count();
    Ok((all, size + result * with_trigger))
}

/// The number of the queue with this name. `Database::queue_or_new` needs a database that nobody else uses.
fn queue_or_new(db: &Database, name: &QueueName) -> Result<i64> {
    const FIND: &str = "SELECT queue FROM queue WHERE name = ?1";
    let found = db.run(FIND, |s| s.query_row([name.as_str()], |row| row.get(0)).optional())?;
    if let Some(queue) = found {
        return Ok(queue);
    }
    db.run("INSERT INTO queue (name) VALUES (?1)", |s| s.execute([name.as_str()]))?;
    db.run(FIND, |s| s.query_row([name.as_str()], |row| row.get(0)))
}
