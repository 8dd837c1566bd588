//! Follow-ups. Whatever ends items writes a note for each that has some to `deferred`; `distribute.rs` adds them in the same
//! transaction, as far as its budget goes, so their order is that of the ends.

use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::expiry;
use super::packed_items::{pack, unpack};
use super::readable::readable;
use super::row::{CANCELLED, COMPLETED, DEAD, LEASED};
use crate::Result;
use crate::item::{FollowUp, GroupPlace, Item, On};
use crate::options::MAX_COPIED_RESULT;

/// What fires, as a sum of the bits of [`On`].
pub(super) type Kinds = u8;
pub(super) const COMPLETES: Kinds = 1;
const DIES: Kinds = 2;
pub(super) const ENDS: Kinds = 4;
/// Nothing fires, but the place of a member of a group has ended: it is replaced.
pub(super) const PLACE_ENDS: Kinds = 8;
/// Nothing fires, but the place of a member is open again.
pub(super) const PLACE_OPENS: Kinds = 16;
/// Nothing fires, but a member was not added.
pub(super) const PLACE_REFUSED: Kinds = 32;
/// Nothing fires, but a member was added whose place may have been refused before.
pub(super) const PLACE_ADDED: Kinds = 64;

/// Members of a cancelled group are to be cancelled.
pub(super) const CANCELS: Kinds = 128;

/// Stores the follow-ups of an item, and its place in a group; returns the number that `extra` keeps.
pub(super) fn store(
    db: &Database,
    queue: i64,
    follow_ups: &[FollowUp],
    place: Option<&GroupPlace>,
) -> Result<i64> {
    const STORE: &str =
        "INSERT INTO follow_up (follow_up, queue, packed, place, group_queue, group_number)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let number = db.next_number();
    let packed = pack(follow_ups);
    let group = place.map(|place| (place.place, &place.group));
    db.run(STORE, |s| {
        s.execute(params![
            number,
            queue,
            packed,
            group.map(|(place, _)| place),
            group.map(|(_, group)| group.queue.as_str()),
            group.map(|(_, group)| group.generation.count as i64),
        ])
    })?;
    Ok(number)
}

/// Whether the queue has items that are members of groups, or notes about some.
pub(super) fn any_members(db: &Database, queue: i64) -> Result<bool> {
    const ANY: &str = "SELECT 1 FROM follow_up WHERE queue = ?1 AND place IS NOT NULL LIMIT 1";
    db.run(ANY, |s| s.exists([queue]))
}

/// Those under this number; none if they were added, or cannot be read. `None`: they have more bytes than `most`.
pub(super) fn read(db: &Database, number: i64, most: i64) -> Result<Option<Vec<FollowUp>>> {
    const READ: &str = "SELECT packed FROM follow_up WHERE follow_up = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let packed = row.get_ref(0)?.as_blob().unwrap_or_default();
        let fits = packed.len() as i64 <= most;
        Ok(fits.then(|| unpack(packed).unwrap_or_default()))
    };
    let found = db.run(READ, |s| s.query_row([number], read).optional())?;
    Ok(found.unwrap_or_else(|| Some(Vec::new())))
}

/// What this item has. `Some`: it has follow-ups.
struct Fired {
    follow_ups: i64,
    id: Vec<u8>,
    state: Option<i64>,
    expires_at: Option<i64>,
}

fn find(db: &Database, number: i64) -> Result<Option<Fired>> {
    const FIND: &str = "SELECT extra.follow_ups, item.id, item.state, extra.expires_at
        FROM extra JOIN item ON item.number = extra.number
        WHERE extra.number = ?1 AND typeof(extra.follow_ups) = 'integer'";
    db.run(FIND, |s| {
        s.query_row([number], |row| {
            Ok(Fired {
                follow_ups: row.get(0)?,
                id: row.get_ref(1)?.as_blob().unwrap_or_default().to_vec(),
                state: row.get_ref(2)?.as_i64().ok(),
                expires_at: row.get_ref(3)?.as_i64().ok(),
            })
        })
        .optional()
    })
}

/// The item dies now, or has just died: it may be completed late, or requeued.
pub(super) fn die(db: &Database, queue: i64, number: i64) -> Result<()> {
    match find(db, number)? {
        Some(fired) => note(db, queue, &fired, DIES | ENDS, false, None),
        None => Ok(()),
    }
}

/// The item, which is dead, is requeued: the place of a member is open again.
pub(super) fn requeue(db: &Database, queue: i64, number: i64) -> Result<()> {
    match find(db, number)? {
        Some(fired) => note(db, queue, &fired, PLACE_OPENS, false, None),
        None => Ok(()),
    }
}

/// The member with this id was not added, because another item was in its way. See `members.rs`.
pub(super) fn refuse(db: &Database, queue: i64, id: &[u8], place: &GroupPlace) -> Result<()> {
    let follow_ups = store(db, queue, &[], Some(place))?;
    let fired = Fired { follow_ups, id: id.to_vec(), state: None, expires_at: None };
    note(db, queue, &fired, PLACE_REFUSED, true, None)
}

/// The member was added, and its place may have been refused before.
pub(super) fn note_added(db: &Database, queue: i64, number: i64) -> Result<()> {
    match find(db, number)? {
        Some(fired) => note(db, queue, &fired, PLACE_ADDED, false, None),
        None => Ok(()),
    }
}

/// A group of this queue has ended, whose follow-ups have this number.
pub(super) fn end_group(
    db: &Database,
    queue: i64,
    follow_ups: i64,
    id: Vec<u8>,
    completed: bool,
) -> Result<()> {
    let kinds = ENDS | if completed { COMPLETES } else { DIES };
    let fired = Fired { follow_ups, id, state: None, expires_at: None };
    note(db, queue, &fired, kinds, true, None)
}

/// The item ends now, and had not ended before: its lease or its wait was cancelled.
pub(super) fn cancel(db: &Database, queue: i64, number: i64) -> Result<()> {
    match find(db, number)? {
        Some(fired) => note(db, queue, &fired, ENDS, true, None),
        None => Ok(()),
    }
}

/// The members of this group in this queue, which are those behind this number of follow-ups, are to be cancelled.
pub(super) fn note_sweep(db: &Database, queue: i64, group: i64, after: i64) -> Result<()> {
    let id = format!("{group} {after}").into_bytes();
    let fired = Fired { follow_ups: 0, id, state: None, expires_at: None };
    note(db, queue, &fired, CANCELS, false, None)
}

/// The item is about to end from any state. `kinds` fires if it has not ended. One that is dead has fired its death; one
/// that has expired, which nobody has noticed yet, dies first.
pub(super) fn end(
    db: &Database,
    queue: i64,
    number: i64,
    kinds: Kinds,
    result: Option<&[u8]>,
) -> Result<()> {
    let Some(fired) = find(db, number)? else { return Ok(()) };
    match fired.state {
        // It has fired all.
        Some(COMPLETED | CANCELLED) => Ok(()),
        Some(DEAD) => note(db, queue, &fired, kinds & COMPLETES, true, result),
        state if state != Some(LEASED) && expiry::has_passed(db, fired.expires_at) => {
            note(db, queue, &fired, DIES | ENDS, false, None)?;
            note(db, queue, &fired, kinds & COMPLETES, true, result)
        }
        _ => note(db, queue, &fired, kinds, true, result),
    }
}

/// A call that has ended the item with this id adds these.
pub(super) fn added(db: &Database, queue: i64, id: &[u8], items: &[Item]) -> Result<()> {
    let all: Vec<_> = items.iter().map(|item| FollowUp::new(On::Completed, item.clone())).collect();
    let follow_ups = store(db, queue, &all, None)?;
    let fired = Fired { follow_ups, id: id.to_vec(), state: None, expires_at: None };
    note(db, queue, &fired, COMPLETES, true, None)
}

/// A successor that is dropped before it was an item fires `ended`.
pub(super) fn of_dropped(db: &Database, queue: i64, item: &Item) -> Result<()> {
    let follow_ups = store(db, queue, &item.follow_ups, None)?;
    let fired = Fired { follow_ups, id: item.id.to_vec(), state: None, expires_at: None };
    note(db, queue, &fired, ENDS, true, None)
}

fn note(
    db: &Database,
    queue: i64,
    fired: &Fired,
    kinds: Kinds,
    last: bool,
    result: Option<&[u8]>,
) -> Result<()> {
    const NOTE: &str = "INSERT INTO deferred (sequence, queue, follow_up, kinds, last, id, result)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let result = result.filter(|result| result.len() <= MAX_COPIED_RESULT);
    let number = db.next_number();
    db.run(NOTE, |s| {
        s.execute(params![number, queue, fired.follow_ups, kinds, last, fired.id, result])
    })?;
    db.note_deferred(queue);
    Ok(())
}

/// Adds one that was attached after its item had ended.
pub(super) fn attached_late(
    db: &Database,
    queue: i64,
    id: &[u8],
    follow_up: &FollowUp,
    result: Option<&[u8]>,
) -> Result<()> {
    let follow_ups = store(db, queue, std::slice::from_ref(follow_up), None)?;
    let fired = Fired { follow_ups, id: id.to_vec(), state: None, expires_at: None };
    note(db, queue, &fired, follow_up.on.bit(), true, result)
}

/// Gives an item these follow-ups instead of those under the old number; its place in a group stays. A note about an earlier run may be waiting, which goes
/// on to name the old ones.
pub(super) fn replace(
    db: &Database,
    queue: i64,
    number: i64,
    old: Option<i64>,
    follow_ups: &[FollowUp],
) -> Result<()> {
    const GIVE: &str = concat!(
        "INSERT INTO extra (queue, number, retain, follow_ups) VALUES (?1, ?2, 0, ?3)
        ON CONFLICT (number) DO UPDATE SET ended_at = NULL, result = NULL,
        expires_at = CASE typeof(expires_at) WHEN 'integer' THEN expires_at END, ",
        readable!(),
        ", follow_ups = ?3"
    );
    const MORE: &str = "UPDATE item SET more = max(more, 1) WHERE number = ?1";
    const DROP: &str = "DELETE FROM follow_up WHERE follow_up = ?1
        AND NOT EXISTS (SELECT 1 FROM deferred WHERE deferred.follow_up = ?1)";
    const KEEP_PLACE: &str = "UPDATE follow_up SET (place, group_queue, group_number) =
        (SELECT place, group_queue, group_number FROM follow_up WHERE follow_up = ?1)
        WHERE follow_up = ?2";
    let new = store(db, queue, follow_ups, None)?;
    db.run(GIVE, |s| s.execute([queue, number, new]))?;
    db.run(MORE, |s| s.execute([number]))?;
    if let Some(old) = old {
        db.run(KEEP_PLACE, |s| s.execute([old, new]))?;
        db.run(DROP, |s| s.execute([old]))?;
    }
    Ok(())
}

/// Whether some follow-ups of items that have ended are to be added.
pub(super) fn any_deferred(db: &Database, queue: i64) -> Result<bool> {
    db.run("SELECT 1 FROM deferred WHERE queue = ?1 LIMIT 1", |s| s.exists([queue]))
}

/// Deletes those of a queue that has none of its items left.
pub(super) fn delete_some(db: &Database, queue: i64, limit: usize) -> Result<usize> {
    const NOTES: &str = "DELETE FROM deferred WHERE sequence IN
        (SELECT sequence FROM deferred WHERE queue = ?1 LIMIT ?2)";
    const PACKED: &str = "DELETE FROM follow_up WHERE follow_up IN
        (SELECT follow_up FROM follow_up WHERE queue = ?1 LIMIT ?2)";
    let mut deleted = 0;
    for statement in [NOTES, PACKED] {
        deleted += db.run(statement, |s| s.execute([queue, limit as i64]))?;
    }
    Ok(deleted)
}

/// Follow-ups of no item, and of no note.
pub(super) fn dangling(db: &Database, queue: i64, delete: bool) -> Result<u64> {
    const WHERE: &str = "FROM follow_up WHERE queue = ?1
        AND NOT EXISTS (SELECT 1 FROM extra WHERE extra.follow_ups = follow_up.follow_up)
        AND NOT EXISTS (SELECT 1 FROM item_group WHERE item_group.follow_up = follow_up.follow_up)
        AND NOT EXISTS (SELECT 1 FROM deferred WHERE deferred.follow_up = follow_up.follow_up)";
    let found: i64 =
        db.run(&format!("SELECT count(*) {WHERE}"), |s| s.query_row([queue], |row| row.get(0)))?;
    if delete && found > 0 {
        db.run(&format!("DELETE {WHERE}"), |s| s.execute([queue]))?;
    }
    Ok(found as u64)
}
