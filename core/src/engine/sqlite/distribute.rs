//! Adding follow-ups of items that have ended, to their queue or others: source and target are one file, so no outbox is needed.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use super::add::{self, add_fired};
use super::cancel_members;
use super::count_delta::CountDelta;
use super::database::Database;
use super::follow_ups::{CANCELS, Kinds, any_deferred};
use super::groups::{self, Member};
use super::members::Report;
use super::packed_items::unpack;
use crate::Result;
use crate::item::{FollowUp, Item, Trigger};
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
    step(db, db.take_deferred())
}

/// Adds items, and what those fire that they replace.
pub(super) fn add(db: &mut Database, name: &QueueName, items: &[Item]) -> Result<Vec<bool>> {
    let answers = add::add(db, name, items)?;
    add_pending(db)?;
    Ok(answers)
}

/// Adds what is noted in this transaction.
pub(super) fn add_pending(db: &Database) -> Result<()> {
    step(db, db.take_deferred())
}

/// One step for a queue. Returns whether more are left.
pub(super) fn distribute(db: &mut Database, name: &QueueName) -> Result<bool> {
    let Some(queue) = db.queue(name)? else { return Ok(false) };
    step(db, vec![queue])?;
    any_deferred(db, queue)
}

/// Adds up to 1,000 items, and of up to 16 MiB, but at least those of one note. Then those of other queues whose groups have ended.
fn step(db: &Database, mut queues: Vec<i64>) -> Result<()> {
    let (mut left, mut room) = (MAX_BATCH, MAX_BATCH_BYTES);
    while left > 0 && room > 0 {
        let Some(&queue) = queues.last() else { break };
        let Some(note) = next(db, queue)? else {
            queues.pop();
            continue;
        };
        if note.kinds & CANCELS != 0 {
            let looked = cancel_members::step(db, queue, (note.sequence, &note.trigger.id), left)?;
            left = left.saturating_sub(1 + looked);
            continue;
        }
        let (follow_ups, size, member) = fired(db, &note)?;
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
        if let (Some(member), Some(report)) = (member, Report::of(note.kinds))
            && let Some(other) = groups::fill(db, &member, report)?
            && other != queue
        {
            queues.push(other);
        }
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

/// What the note fires, about how many bytes these are, and the place of a member.
fn fired(db: &Database, note: &Note) -> Result<(Vec<FollowUp>, usize, Option<Member>)> {
    const PACKED: &str = "SELECT packed, place, group_queue, group_number FROM follow_up
        WHERE follow_up = ?1";
    if note.kinds == 0 {
        return Ok((Vec::new(), 0, None));
    }
    let found = db.run(PACKED, |s| {
        s.query_row(params![note.follow_up], |row| {
            let packed = row.get_ref(0)?.as_blob().unwrap_or_default();
            let member = Member::read(row, 1)?;
            Ok((unpack(packed).unwrap_or_default(), packed.len(), member))
        })
        .optional()
    })?;
    let (mut all, size, member) = found.unwrap_or_default();
    all.retain(|follow_up| note.kinds & follow_up.on.bit() != 0);
    let result = note.trigger.result.as_ref().map_or(0, bytes::Bytes::len);
    let with_trigger = all.iter().filter(|follow_up| follow_up.with_trigger).count();
    Ok((all, size + result * with_trigger, member))
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
