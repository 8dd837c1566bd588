//! Groups. The end of a member fills its place in the transaction that adds its follow-ups.

use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use super::members::Report;
use super::{endings, follow_ups};
use crate::Result;
use crate::engine::generation::NO_SALT;
use crate::engine::groups::{IN_FIELD, OPEN, read_state};
use crate::engine::{ChangeGroup, Ended, Generation, GroupChange, StoredGroup};
use crate::group::PlaceState;
use crate::item::Item;
use crate::name::QueueName;
use crate::options::{GROUP_LIFE, MAX_PLACES, ms};

/// How many groups whose time is over go when another one is created, or in one step of a drop.
const STEP: i64 = 10;

/// A row of `item_group`.
struct Found {
    number: i64,
    queue: i64,
    id: Vec<u8>,
    places: u32,
    ended: u32,
    completed: u32,
    has_ended: bool,
    changed: i64,
    follow_up: Option<i64>,
}

const COLUMNS: &str =
    "SELECT number, queue, id, places, ended, completed, has_ended, changed, follow_up
    FROM item_group";

impl Found {
    fn read(row: &Row<'_>) -> rusqlite::Result<Found> {
        let count = |column| -> rusqlite::Result<u32> {
            Ok(u32::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
        };
        Ok(Found {
            number: row.get(0)?,
            queue: row.get(1)?,
            id: row.get(2)?,
            places: count(3)?,
            ended: count(4)?,
            completed: count(5)?,
            has_ended: row.get(6)?,
            changed: row.get(7)?,
            follow_up: row.get(8)?,
        })
    }

    /// Whether it is gone: it was not sealed, or has ended, and nothing has changed it for a day.
    fn is_over(&self, db: &Database) -> bool {
        (self.places == 0 || self.has_ended) && self.changed <= oldest(db)
    }

    fn generation(&self) -> Generation {
        Generation { count: self.number as u64, salt: NO_SALT }
    }

    fn write(&self, db: &Database) -> Result<()> {
        const WRITE: &str = "UPDATE item_group
            SET places = ?2, ended = ?3, completed = ?4, has_ended = ?5, changed = ?6
            WHERE number = ?1";
        let Found { number, places, ended, completed, has_ended, .. } = self;
        let now = db.now as i64;
        db.run(WRITE, |s| s.execute(params![number, places, ended, completed, has_ended, now]))?;
        Ok(())
    }

    /// Ends it if all its places are filled.
    fn end_if_filled(&mut self, db: &Database) -> Result<bool> {
        self.has_ended = self.places > 0 && self.ended == self.places;
        if self.has_ended {
            endings::report(db, self.queue, &self.id, Ended::Group)?;
        }
        if let (true, Some(follow_up)) = (self.has_ended, self.follow_up) {
            let completed = self.completed == self.places;
            follow_ups::end_group(db, self.queue, follow_up, self.id.clone(), completed)?;
        }
        Ok(self.has_ended)
    }

    fn delete(&self, db: &Database) -> Result<()> {
        db.run("DELETE FROM group_field WHERE number = ?1", |s| s.execute([self.number]))?;
        db.run("DELETE FROM item_group WHERE number = ?1", |s| s.execute([self.number]))?;
        // Those of a group that has ended go with the note of its end.
        if let (false, Some(follow_up)) = (self.has_ended, self.follow_up) {
            db.run("DELETE FROM follow_up WHERE follow_up = ?1", |s| s.execute([follow_up]))?;
        }
        Ok(())
    }
}

/// Groups that were changed last by this time are gone, unless they wait for their members.
fn oldest(db: &Database) -> i64 {
    db.now as i64 - ms(GROUP_LIFE) as i64
}

fn find(db: &Database, queue: i64, id: &[u8]) -> Result<Option<Found>> {
    let sql = format!("{COLUMNS} WHERE queue = ?1 AND id = ?2");
    db.run(&sql, |s| s.query_row(params![queue, id], Found::read).optional())
}

/// Whether a group has ended; `None`: there is none.
pub(super) fn has_ended(db: &Database, queue: i64, id: &[u8]) -> Result<Option<bool>> {
    let found = find(db, queue, id)?.filter(|found| !found.is_over(db));
    Ok(found.map(|found| found.has_ended))
}

pub(super) fn change(
    db: &mut Database,
    name: &QueueName,
    change: &ChangeGroup,
) -> Result<Option<Generation>> {
    if let GroupChange::Create(item) = &change.change {
        let queue = db.queue_or_new(name)?;
        return create(db, queue, item).map(Some);
    }
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    let found = find(db, queue, &change.id)?.filter(|found| !found.is_over(db));
    let generation_is = |generation| move |found: &Found| found.generation() == generation;
    match change.change {
        GroupChange::Create(_) => Ok(None),
        GroupChange::Remove { generation } => {
            let Some(found) = found.filter(generation_is(generation)) else { return Ok(None) };
            found.delete(db)?;
            endings::report(db, queue, &found.id, Ended::Group)?;
            Ok(Some(generation))
        }
        GroupChange::Cancel { generation } => {
            let found = found.filter(generation_is(generation)).filter(|found| !found.has_ended);
            let Some(found) = found else { return Ok(None) };
            cancel(db, found.number)?;
            Ok(Some(generation))
        }
        GroupChange::Seal { generation, places } => {
            let Some(found) = found.filter(generation_is(generation)) else { return Ok(None) };
            Ok(seal(db, found, places)?.then_some(generation))
        }
    }
}

fn create(db: &Database, queue: i64, item: &Item) -> Result<Generation> {
    const CREATE: &str = "INSERT INTO item_group
        (number, queue, id, places, ended, completed, has_ended, changed, follow_up)
        VALUES (?1, ?2, ?3, 0, 0, 0, 0, ?4, ?5)";
    match find(db, queue, &item.id)? {
        Some(found) if found.is_over(db) => found.delete(db)?,
        Some(found) => return Ok(found.generation()),
        None => {}
    }
    delete_over(db)?;
    let follow_up = match &item.follow_ups[..] {
        [] => None,
        all => Some(follow_ups::store(db, queue, all, None)?),
    };
    let number = db.next_number();
    let now = db.now as i64;
    db.run(CREATE, |s| s.execute(params![number, queue, item.id.as_ref(), now, follow_up]))?;
    Ok(Generation { count: number as u64, salt: NO_SALT })
}

/// Members that are added later see the mark: [`is_cancelled`].
fn cancel(db: &Database, number: i64) -> Result<()> {
    const MARK: &str = "UPDATE item_group SET cancelled = 1, changed = ?2 WHERE number = ?1";
    const NEXT: &str = "SELECT queue FROM follow_up
        WHERE group_number = ?1 AND place IS NOT NULL AND queue > ?2 ORDER BY queue LIMIT 1";
    db.run(MARK, |s| s.execute([number, db.now as i64]))?;
    let mut last = 0;
    loop {
        let next = db.run(NEXT, |s| s.query_row([number, last], |row| row.get(0)).optional())?;
        let Some(queue) = next else { break };
        follow_ups::note_sweep(db, queue, number, 0)?;
        last = queue;
    }
    Ok(())
}

/// Whether the members of the group with this number are cancelled.
pub(super) fn is_cancelled(db: &Database, number: i64) -> Result<bool> {
    const FIND: &str = "SELECT 1 FROM item_group WHERE number = ?1 AND cancelled = 1
        AND NOT ((places = 0 OR has_ended = 1) AND changed <= ?2)";
    db.run(FIND, |s| s.exists([number, oldest(db)]))
}

/// Deletes some groups of any queue that are gone.
fn delete_over(db: &Database) -> Result<()> {
    let sql = format!(
        "{COLUMNS} WHERE changed <= ?1 AND (places = 0 OR has_ended = 1) ORDER BY changed LIMIT {STEP}"
    );
    for found in db.rows(&sql, params![oldest(db)], Found::read)? {
        found.delete(db)?;
    }
    Ok(())
}

/// False: it has another number of places.
fn seal(db: &Database, mut found: Found, places: u32) -> Result<bool> {
    if found.places > 0 {
        return Ok(found.places == places);
    }
    // Until now all places have counted.
    (found.places, found.ended, found.completed) = (places, 0, 0);
    for state in states(db, found.number, 0, places)? {
        found.ended += u32::from(state != PlaceState::Open);
        found.completed += u32::from(state == PlaceState::Completed);
    }
    found.end_if_filled(db)?;
    found.write(db)?;
    Ok(true)
}

/// A member of a group.
pub(super) struct Member {
    place: u32,
    queue: String,
    number: i64,
}

impl Member {
    /// From three columns. `None`: it is none.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Member>> {
        let place = row.get_ref(first)?.as_i64().ok().and_then(|place| u32::try_from(place).ok());
        let Some(place) = place else { return Ok(None) };
        Ok(Some(Member { place, queue: row.get(first + 1)?, number: row.get(first + 2)? }))
    }
}

/// Fills a place, or opens it. Returns the queue of the group if that has ended.
pub(super) fn fill(db: &Database, member: &Member, report: Report) -> Result<Option<i64>> {
    const WRITE: &str = "INSERT INTO group_field (number, field, states) VALUES (?1, ?2, ?3)
        ON CONFLICT (number, field) DO UPDATE SET states = ?3";
    let sql = format!(
        "{COLUMNS} WHERE number = ?1 AND queue = (SELECT queue FROM queue WHERE name = ?2)"
    );
    let place = params![member.number, member.queue];
    let found = db.run(&sql, |s| s.query_row(place, Found::read).optional())?;
    let Some(mut found) = found.filter(|found| !found.is_over(db) && !found.has_ended) else {
        return Ok(None);
    };
    let most = if found.places > 0 { found.places } else { MAX_PLACES };
    if member.place >= most {
        return Ok(None);
    }
    let (field, at) = (member.place / IN_FIELD, (member.place % IN_FIELD) as usize);
    let mut states = read_field(db, found.number, field)?;
    if states.len() <= at {
        states.resize(at + 1, OPEN);
    }
    let before = read_state(states.get(at));
    states[at] = report.after(states[at]);
    let state = read_state(states.get(at));
    let count = |count: u32, now: bool, before: bool| {
        (count + u32::from(now)).saturating_sub(u32::from(before))
    };
    let is_filled = |state| state != PlaceState::Open;
    found.ended = count(found.ended, is_filled(state), is_filled(before));
    let is_completed = |state| state == PlaceState::Completed;
    found.completed = count(found.completed, is_completed(state), is_completed(before));
    db.run(WRITE, |s| s.execute(params![found.number, field, states]))?;
    let has_ended = found.end_if_filled(db)?;
    found.write(db)?;
    Ok(has_ended.then_some(found.queue))
}

fn read_field(db: &Database, number: i64, field: u32) -> Result<Vec<u8>> {
    const READ: &str = "SELECT states FROM group_field WHERE number = ?1 AND field = ?2";
    let found =
        db.run(READ, |s| s.query_row(params![number, field], |row| row.get(0)).optional())?;
    Ok(found.unwrap_or_default())
}

/// The states of so many places.
fn states(db: &Database, number: i64, from: u32, count: u32) -> Result<Vec<PlaceState>> {
    let (first, to) = (from / IN_FIELD, from.saturating_add(count).min(MAX_PLACES));
    let mut all = Vec::new();
    for field in first..to.div_ceil(IN_FIELD) {
        let letters = read_field(db, number, field)?;
        all.extend((0..IN_FIELD as usize).map(|at| read_state(letters.get(at))));
    }
    let skipped = (from - first * IN_FIELD) as usize;
    Ok(all.into_iter().skip(skipped).take(to.saturating_sub(from) as usize).collect())
}

pub(super) fn read(
    db: &mut Database,
    name: &QueueName,
    id: &[u8],
    from: u32,
    most: u32,
) -> Result<Option<StoredGroup>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    let Some(found) = find(db, queue, id)?.filter(|found| !found.is_over(db)) else {
        return Ok(None);
    };
    let places = if found.places > 0 { found.places } else { MAX_PLACES };
    Ok(Some(StoredGroup {
        generation: found.generation(),
        places: found.places,
        ended: found.ended,
        completed: found.completed,
        has_ended: found.has_ended,
        changed_ms: found.changed as u64,
        states: states(db, found.number, from, most.min(places.saturating_sub(from)))?,
    }))
}

/// Deletes some of a queue that is dropped.
pub(super) fn delete_some(db: &Database, queue: i64) -> Result<usize> {
    let sql = format!("{COLUMNS} WHERE queue = ?1 LIMIT {STEP}");
    let found = db.rows(&sql, params![queue], Found::read)?;
    for group in &found {
        group.delete(db)?;
    }
    Ok(found.len())
}
