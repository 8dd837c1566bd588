//! Adding items.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::large::{self, INLINE};
use super::row::{DEAD, LEASED, sort_key, state_number};
use super::successors::Successor;
use super::{
    endings, events,
    extra::{self, Extra},
    follow_ups, groups, members, successors, unique,
};
use crate::Result;
use crate::engine::Ended;
use crate::event::EventKind;
use crate::item::{Item, State, Trigger};
use crate::name::QueueName;
use crate::options::ms;

const ADD: &str = "INSERT INTO item
    (number, queue, state, sort_key, position, priority, max_attempts, added_at, since, id, data, more, key)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (queue, id) DO NOTHING";

pub(super) fn add(db: &mut Database, name: &QueueName, items: &[Item]) -> Result<Vec<bool>> {
    let queue = db.queue_or_new(name)?;
    let mut adding = Adding::new(db, queue);
    let mut answers = Vec::with_capacity(items.len());
    for item in items {
        answers.push(adding.add(item, None)?);
    }
    let delta = adding.delta;
    db.count(queue, &delta)?;
    Ok(answers)
}

/// Adds items that the end of another one has fired, perhaps with that as their trigger. Returns how many.
pub(super) fn add_fired<'a>(
    db: &Database,
    queue: i64,
    items: impl Iterator<Item = (&'a Item, Option<&'a Trigger>)>,
) -> Result<usize> {
    let mut adding = Adding::new(db, queue);
    let mut added = 0;
    for (item, trigger) in items {
        added += usize::from(adding.add(item, trigger)?);
    }
    let delta = adding.delta;
    db.count(queue, &delta)?;
    Ok(added)
}

/// Adds an item that has waited as the successor of this one, which it replaces if the end of the lease has left it. Nothing else
/// is in its way: its id and its unique key were kept free.
pub(super) fn add_successor(
    db: &Database,
    queue: i64,
    leased: i64,
    waited: &Successor,
) -> Result<()> {
    let Successor { number, item, trigger, added_at, has_large } = waited;
    let mut adding = Adding::new(db, queue);
    if let Some(same_id) = successors::left_by_end(db, leased, &item.id)? {
        adding.replace(leased, same_id)?;
    }
    let place = Place {
        number: *number,
        position: db.next_number(),
        added_at: *added_at,
        since: db.now as i64,
        has_large: *has_large,
    };
    let until = adding.reserved_until(item);
    if adding.insert(place, item, trigger.as_ref())? {
        adding.take_key(item, *number, until)?;
    }
    let delta = adding.delta;
    db.count(queue, &delta)?;
    db.note_added(queue);
    Ok(())
}

/// Where an item is put.
struct Place {
    number: i64,
    position: i64,
    added_at: i64,
    /// When it becomes ready, if it has no delay; 0: when it is added.
    since: i64,
    /// Its data is in `large`.
    has_large: bool,
}

/// Whether there is room for an item.
enum Room {
    /// Something is in the way that stays.
    Taken,
    /// Its unique key is reserved until then.
    Until(i64),
    /// It waits until the lease of this item ends.
    Behind(i64),
}

/// One batch.
struct Adding<'a> {
    db: &'a Database,
    queue: i64,
    delta: CountDelta,
    /// The number of the first item that is added. Those of a batch do not make room for each other.
    first: Option<i64>,
    /// The ids that were not added. Of items with the same id in one batch only the first can be.
    refused: HashSet<&'a [u8]>,
    /// The leased items that have got a successor.
    waited_for: HashSet<i64>,
    /// Cancelled groups whose new members are noted.
    cancelled: HashSet<i64>,
}

impl<'a> Adding<'a> {
    fn new(db: &'a Database, queue: i64) -> Self {
        Adding {
            db,
            queue,
            delta: CountDelta::default(),
            first: None,
            refused: HashSet::new(),
            waited_for: HashSet::new(),
            cancelled: HashSet::new(),
        }
    }

    fn add(&mut self, item: &'a Item, trigger: Option<&Trigger>) -> Result<bool> {
        let number = self.db.next_number();
        let added = self.add_as(number, item, trigger)?;
        match &item.group {
            Some(place) if added => members::note_added(self.db, self.queue, number, place)?,
            Some(place) => members::refuse(self.db, self.queue, item, place)?,
            None => {}
        }
        Ok(added)
    }

    fn add_as(&mut self, number: i64, item: &'a Item, trigger: Option<&Trigger>) -> Result<bool> {
        if self.refused.contains(item.id.as_ref()) {
            return Ok(false);
        }
        let first = *self.first.get_or_insert(number);
        let now = self.db.now as i64;
        let place = Place { number, position: number, added_at: now, since: 0, has_large: false };
        let is_plain = item.unique.is_none() && !item.replace && !self.db.successors.get();
        if is_plain && self.insert(place, item, trigger)? {
            return Ok(true);
        }
        let until = match self.make_room(item, first)? {
            Room::Until(until) => until,
            Room::Behind(leased) => {
                successors::store(self.db, self.queue, leased, number, item, trigger)?;
                self.waited_for.insert(leased);
                return Ok(true);
            }
            Room::Taken => {
                self.refused.insert(&item.id);
                return Ok(false);
            }
        };
        let place = Place { number, position: number, added_at: now, since: 0, has_large: false };
        self.insert(place, item, trigger)?;
        self.take_key(item, number, until)?;
        Ok(true)
    }

    fn take_key(&self, item: &Item, number: i64, until: i64) -> Result<()> {
        match &item.unique {
            Some(key) => unique::take(self.db, self.queue, key, number, until),
            None => Ok(()),
        }
    }

    /// False if there is an item with this id.
    fn insert(&mut self, place: Place, item: &Item, trigger: Option<&Trigger>) -> Result<bool> {
        let Place { number, position, added_at, since, has_large } = place;
        let now = self.db.now as i64;
        let delay = item.due().delay_ms(self.db.now) as i64;
        let (state, position, since) = match delay {
            0 => (State::Ready, position, since),
            delay => (State::Delayed, 0, now + delay),
        };
        let inline = !has_large && item.data.len() <= INLINE;
        let expires_at = item.expires_in.map(|time| now + ms(time) as i64);
        let has_end = !item.retain.is_zero() || expires_at.is_some() || !item.follow_ups.is_empty();
        let has_end = has_end || item.group.is_some();
        let more = match trigger {
            Some(_) => 2,
            None => i64::from(has_end || item.unique.is_some()),
        };
        let added = self.db.run(ADD, |statement| {
            statement.execute(params![
                number,
                self.queue,
                state_number(state),
                sort_key(state, item.priority, since),
                position,
                item.priority,
                item.max_attempts.unwrap_or(0),
                added_at,
                since,
                item.id.as_ref(),
                inline.then_some(item.data.as_ref()),
                more,
                item.key.as_deref(),
            ])
        })?;
        if added == 0 {
            return Ok(false);
        }
        if !inline && !has_large {
            large::add(self.db, number, &item.data)?;
        }
        if more > 0 {
            let (all, place) = (&item.follow_ups[..], item.group.as_ref());
            let follow_ups = match all.is_empty() && place.is_none() {
                true => None,
                false => Some(follow_ups::store(self.db, self.queue, all, place)?),
            };
            if let (Some(place), Some(follow_ups)) = (place, follow_ups) {
                let group = place.group.generation.count as i64;
                if !self.cancelled.contains(&group) && groups::is_cancelled(self.db, group)? {
                    self.cancelled.insert(group);
                    follow_ups::note_sweep(self.db, self.queue, group, follow_ups - 1)?;
                }
            }
            let (retain, unique) = (ms(item.retain) as i64, item.unique.clone());
            let extra = Extra {
                retain,
                unique,
                expires_at,
                follow_ups,
                trigger: trigger.cloned(),
                ..Extra::default()
            };
            extra::write(self.db, self.queue, number, &extra)?;
        }
        self.delta.count(state, item.priority, 1);
        self.delta.added += 1;
        events::note(self.db, self.queue, EventKind::Added, number, 0, Some(&item.id))?;
        Ok(true)
    }

    /// Deletes what an item may replace, unless its number is `first` or later.
    fn make_room(&mut self, item: &Item, first: i64) -> Result<Room> {
        let same = self.with_id(item)?;
        let owner = match &item.unique {
            Some(key) => unique::owner(self.db, self.queue, key)?,
            None => None,
        };
        let alive = owner.as_ref().filter(|owner| owner.alive.is_some());
        let owner_is_same = |number: i64| same.as_ref().is_some_and(|(same, _)| *same == number);
        // The key stays taken although its owner has ended, unless the owner is replaced.
        if owner.as_ref().is_some_and(|o| o.alive.is_none() && !owner_is_same(o.number)) {
            return Ok(Room::Taken);
        }
        // An item whose successor waits also has the id and the unique key of that.
        let (has_same_id, mut same, mut with_key) =
            (same.is_some(), same, alive.map(|owner| (owner.number, owner.alive.unwrap_or(DEAD))));
        if same.is_none() && self.db.successors.get() {
            same =
                successors::with_id(self.db, self.queue, &item.id)?.map(|leased| (leased, LEASED));
        }
        if with_key.is_none()
            && let Some(key) = &item.unique
        {
            with_key =
                successors::with_key(self.db, self.queue, key)?.map(|leased| (leased, LEASED));
        }
        let two = same.is_some_and(|(same, _)| with_key.is_some_and(|(other, _)| other != same));
        let in_the_way = same.or(with_key);
        if let Some((number, state)) = in_the_way {
            if !item.replace || two || number >= first {
                return Ok(Room::Taken);
            }
            if state == LEASED {
                let waits = item.successor && !self.waited_for.contains(&number);
                return Ok(if waits { Room::Behind(number) } else { Room::Taken });
            }
            self.replace(number, has_same_id)?;
        }
        Ok(Room::Until(owner.map_or(0, |owner| owner.until).max(self.reserved_until(item))))
    }

    /// Deletes an item that is replaced. One with the same id takes its place.
    fn replace(&mut self, number: i64, same_id: bool) -> Result<()> {
        self.delta.replaced += 1;
        events::note_with_id(self.db, self.queue, EventKind::Replaced, number)?;
        if !same_id {
            endings::report_number(self.db, self.queue, number, Ended::Removed)?;
        }
        follow_ups::end(self.db, self.queue, number, follow_ups::PLACE_ENDS, None)?;
        extra::delete_item(self.db, self.queue, number, &mut self.delta)?;
        Ok(())
    }

    /// Until when an item that is added now keeps its unique key in any case; 0 if for no longer than it needs it.
    fn reserved_until(&self, item: &Item) -> i64 {
        match item.unique_for.is_zero() {
            true => 0,
            false => self.db.now as i64 + ms(item.unique_for) as i64,
        }
    }

    /// Number and state of the item with this id. One whose time is over is deleted.
    fn with_id(&mut self, item: &Item) -> Result<Option<(i64, i64)>> {
        const FIND: &str = "SELECT number, state, state IN (4, 5) AND sort_key <= ?3 FROM item
            WHERE queue = ?1 AND id = ?2";
        let now = self.db.now as i64;
        let found = self.db.run(FIND, |s| {
            s.query_row(params![self.queue, item.id.as_ref(), now], |row| {
                Ok((row.get::<_, i64>(0)?, row.get_ref(1)?.as_i64().unwrap_or(0), row.get(2)?))
            })
            .optional()
        })?;
        match found {
            Some((number, _, true)) => {
                extra::delete_item(self.db, self.queue, number, &mut self.delta)?;
                Ok(None)
            }
            found => Ok(found.map(|(number, state, _)| (number, state))),
        }
    }
}
