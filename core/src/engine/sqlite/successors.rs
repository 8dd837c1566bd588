//! Successors: items that take the places of leased ones when their leases end. Until then each is a row of a table of its own, so
//! it is no item; but its id and its unique key are taken, as those of the leased item are.

use bytes::Bytes;
use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use super::large::{self, INLINE};
use super::packed_items::{pack, unpack};
use super::{endings, follow_ups};
use crate::Result;
use crate::engine::Ended;
use crate::item::{FollowUp, Item, On, Trigger};

/// One that waits.
pub(super) struct Successor {
    pub(super) number: i64,
    pub(super) item: Item,
    pub(super) trigger: Option<Trigger>,
    pub(super) added_at: i64,
    /// Its data is in `large`.
    pub(super) has_large: bool,
}

/// Stores an item as the only successor of a leased one.
pub(super) fn store(
    db: &Database,
    queue: i64,
    leased: i64,
    number: i64,
    item: &Item,
    trigger: Option<&Trigger>,
) -> Result<()> {
    const STORE: &str = "INSERT INTO successor
        (leased, number, queue, id, unique_key, packed, added_at, trigger_id, trigger_result)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    const MARK: &str =
        "INSERT INTO extra (queue, number, retain) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING";
    const MORE: &str = "UPDATE item SET more = max(more, 1) WHERE number = ?1";
    const OTHER_ID: &str = "UPDATE meta SET successors = 1 WHERE successors = 0 AND NOT EXISTS
        (SELECT 1 FROM item WHERE number = ?1 AND id = ?2)";
    // What replaces another one fires nothing.
    take(db, leased, true)?;
    let mut without_data = item.clone();
    if item.data.len() > INLINE {
        large::add(db, number, &item.data)?;
        without_data.data = Bytes::new();
    }
    let packed = pack(&[FollowUp::new(On::Ended, without_data)]);
    let (id, result) =
        (trigger.map(|one| &one.id[..]), trigger.and_then(|one| one.result.as_deref()));
    let (own_id, unique) = (&item.id[..], item.unique.as_deref());
    db.run(STORE, |s| {
        s.execute(params![leased, number, queue, own_id, unique, packed, db.now as i64, id, result])
    })?;
    // Who ends the lease of an item with more than its row looks here.
    db.run(MARK, |s| s.execute([queue, leased]))?;
    db.run(MORE, |s| s.execute([leased]))?;
    if db.run(OTHER_ID, |s| s.execute(params![leased, own_id]))? > 0 {
        db.successors.set(true);
    }
    Ok(())
}

/// Takes the successor of this item out of the table; `None` if there is none. `whole`: its large data, too.
pub(super) fn take(db: &Database, leased: i64, whole: bool) -> Result<Option<Successor>> {
    const TAKE: &str = "DELETE FROM successor WHERE leased = ?1
        RETURNING number, packed, added_at, trigger_id, trigger_result";
    let bytes = |row: &Row<'_>, column| -> rusqlite::Result<Option<Bytes>> {
        Ok(row.get_ref(column)?.as_blob().ok().map(Bytes::copy_from_slice))
    };
    let found = db.run(TAKE, |s| {
        s.query_row([leased], |row| {
            let item = unpack(row.get_ref(1)?.as_blob().unwrap_or_default())
                .and_then(|mut items| items.pop())
                .map(|follow_up| follow_up.item);
            let trigger = match bytes(row, 3)? {
                Some(id) => Some(Trigger { id, result: bytes(row, 4)? }),
                None => None,
            };
            Ok((row.get(0)?, item, row.get(2)?, trigger))
        })
        .optional()
    })?;
    let Some((number, item, added_at, trigger)) = found else { return Ok(None) };
    let has_large = large::length(db, number)?.is_some();
    if has_large && (whole || item.is_none()) {
        large::delete(db, number)?;
    }
    Ok(item.map(|item| Successor { number, item, trigger, added_at, has_large }))
}

/// `None`: the end of its lease has not left this item. Else whether it has this id.
pub(super) fn left_by_end(db: &Database, leased: i64, id: &[u8]) -> Result<Option<bool>> {
    const FIND: &str = "SELECT id = ?2 FROM item WHERE number = ?1";
    db.run(FIND, |s| s.query_row(params![leased, id], |row| row.get(0)).optional())
}

/// Drops the successor of a leased item that is removed or cancelled, as if it was removed itself.
pub(super) fn drop(db: &Database, queue: i64, leased: i64) -> Result<()> {
    let Some(Successor { item, .. }) = take(db, leased, true)? else { return Ok(()) };
    if !item.follow_ups.is_empty() {
        follow_ups::of_dropped(db, queue, &item)?;
    }
    // Whoever waits for the leased one waits for its own end.
    if left_by_end(db, leased, &item.id)? != Some(true) {
        endings::report(db, queue, &item.id, Ended::Removed)?;
    }
    Ok(())
}

/// The leased item whose successor has this id.
pub(super) fn with_id(db: &Database, queue: i64, id: &[u8]) -> Result<Option<i64>> {
    const FIND: &str = "SELECT leased FROM successor WHERE queue = ?1 AND id = ?2";
    db.run(FIND, |s| s.query_row(params![queue, id], |row| row.get(0)).optional())
}

/// The leased item whose successor has this unique key.
pub(super) fn with_key(db: &Database, queue: i64, key: &[u8]) -> Result<Option<i64>> {
    const FIND: &str = "SELECT leased FROM successor WHERE queue = ?1 AND unique_key = ?2";
    db.run(FIND, |s| s.query_row(params![queue, key], |row| row.get(0)).optional())
}

/// Deletes some of a queue that was dropped.
pub(super) fn delete_some(db: &Database, queue: i64, limit: usize) -> Result<usize> {
    const SOME: &str = "SELECT leased FROM successor WHERE queue = ?1 LIMIT ?2";
    let some: Vec<i64> = db.rows(SOME, [queue, limit as i64], |row| row.get(0))?;
    for leased in &some {
        take(db, *leased, true)?;
    }
    Ok(some.len())
}
