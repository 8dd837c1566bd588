//! Operations of operators that make new generations of items: bury, revise.

use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::large::{self, INLINE};
use super::row::{Stored, in_line, sort_key, state_number};
use super::{distribute, endings, events, expiry, extra, follow_ups, named, unique};
use crate::Result;
use crate::engine::{Bury, Ended, Revise, Target};
use crate::event::EventKind;
use crate::item::State;
use crate::name::QueueName;
use crate::options::MAX_BATCH_BYTES;

/// Neither an earlier lease nor an earlier reference leads to the new number.
const RENUMBER: &str = "UPDATE item SET number = ?2, state = ?3, sort_key = ?4, position = ?5,
    priority = ?6, max_attempts = ?7, front = ?8, since = ?9, error = ?10, deliveries = 0
    WHERE number = ?1";

pub(super) fn bury(
    db: &mut Database,
    name: &QueueName,
    items: &[Bury],
) -> Result<Vec<Option<bool>>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![Some(false); items.len()]) };
    let mut step = Step::new(queue);
    for bury in items {
        let found = step.find(db, &bury.target)?;
        let found = found.filter(|(item, expired)| item.state != State::Dead && !expired);
        let found = found.map(|(item, _)| item);
        step.answer(db, found, None, |db, mut item| {
            (item.state, item.sort_key) = (State::Dead, db.now as i64);
            (item.front, item.error) = (false, bury.error.as_ref().to_owned());
            item
        })?;
    }
    step.end(db)
}

pub(super) fn revise(
    db: &mut Database,
    name: &QueueName,
    items: &[Revise],
) -> Result<Vec<Option<bool>>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![Some(false); items.len()]) };
    let mut step = Step::new(queue);
    for revise in items {
        let found = step.find(db, &revise.target)?;
        let found = found.filter(|(item, expired)| {
            (item.state != State::Dead && !expired) || revise.due.is_none()
        });
        let (found, data) = (found.map(|(item, _)| item), revise.data.as_deref());
        step.answer(db, found, data, |db, item| revised(db, item, revise))?;
    }
    step.end(db)
}

/// The item as it is to be.
fn revised(db: &Database, mut item: Stored, revise: &Revise) -> Stored {
    item.priority = revise.priority.unwrap_or(item.priority);
    item.max_attempts = revise.max_attempts.unwrap_or(item.max_attempts);
    if let Some(due) = revise.due {
        let delay = due.delay_ms(db.now) as i64;
        item.state = if delay > 0 { State::Delayed } else { State::Ready };
        (item.sort_key, item.front) = (db.now as i64 + delay, false);
        item.since = item.sort_key;
    } else if in_line(item.state) {
        // A held one goes to the back, like a ready one.
        item.state = State::Ready;
        item.since = db.now as i64;
    }
    item
}

/// The items that one transaction changes.
struct Step {
    queue: i64,
    delta: CountDelta,
    answers: Vec<Option<bool>>,
    /// How many bytes of data it may still copy.
    room: i64,
    /// An item did not fit: the next step begins with it.
    full: bool,
}

impl Step {
    fn new(queue: i64) -> Self {
        let room = MAX_BATCH_BYTES as i64;
        Step { queue, delta: CountDelta::default(), answers: Vec::new(), room, full: false }
    }

    /// The target, if it is not leased and has not ended, and whether it has expired.
    fn find(&mut self, db: &Database, target: &Target) -> Result<Option<(Stored, bool)>> {
        let allows = |state: State| state != State::Leased && !state.is_retained();
        let found = named::find(db, self.queue, target, &mut self.delta, allows)?;
        let Some(item) = found else { return Ok(None) };
        let expired = expiry::has_expired(db, &item)?;
        Ok(Some((item, expired)))
    }

    /// Changes the item that was found, under a new number. `data`: replaces its data.
    fn answer(
        &mut self,
        db: &Database,
        found: Option<Stored>,
        data: Option<&[u8]>,
        change: impl FnOnce(&Database, Stored) -> Stored,
    ) -> Result<()> {
        if self.full {
            self.answers.push(None);
            return Ok(());
        }
        let Some(old) = found else {
            self.answers.push(Some(false));
            return Ok(());
        };
        let (number, state, priority, more) = (old.number, old.state, old.priority, old.more);
        let large = large::length(db, number)?;
        let copied = match large {
            Some(None) if data.is_none() => {
                self.answers.push(Some(false));
                return Ok(());
            }
            Some(Some(length)) if data.is_none() => length,
            _ => 0,
        };
        if copied > self.room && self.answers.contains(&Some(true)) {
            self.full = true;
            self.answers.push(None);
            return Ok(());
        }
        self.room -= copied;

        let new = db.next_number();
        let item = change(db, old);
        let kind = match item.state {
            State::Dead if state != State::Dead => EventKind::Dead,
            _ => EventKind::Revised,
        };
        events::note(db, self.queue, kind, new, 0, Some(&item.id))?;
        // A ready item goes to the back.
        let position = if item.state == State::Ready { new } else { 0 };
        db.run(RENUMBER, |s| {
            s.execute(params![
                number,
                new,
                state_number(item.state),
                sort_key(item.state, item.priority, item.sort_key),
                position,
                item.priority,
                item.max_attempts,
                item.front,
                item.since,
                item.error,
            ])
        })?;
        match data {
            None if large.is_some() => {
                db.run(named::MOVE_LARGE, |s| s.execute([number, new]))?;
            }
            None => {}
            Some(data) => {
                if large.is_some() {
                    large::delete(db, number)?;
                }
                let inline = (data.len() <= INLINE).then_some(data);
                db.run("UPDATE item SET data = ?2 WHERE number = ?1", |s| {
                    s.execute(params![new, inline])
                })?;
                if inline.is_none() {
                    large::add(db, new, data)?;
                }
            }
        }
        if more {
            extra::renumber(db, self.queue, number, new)?;
        }
        if more && item.state == State::Dead {
            expiry::end(db, new)?;
            unique::release(db, self.queue, new)?;
        }
        self.delta.count(state, priority, -1);
        self.delta.count(item.state, item.priority, 1);
        if state != State::Dead && item.state == State::Dead {
            self.delta.died += 1;
            if more {
                follow_ups::die(db, self.queue, new)?;
            }
            endings::report_number(db, self.queue, new, Ended::Dead)?;
        }
        self.answers.push(Some(true));
        Ok(())
    }

    fn end(self, db: &Database) -> Result<Vec<Option<bool>>> {
        distribute::finish(db, self.queue, &self.delta)?;
        Ok(self.answers)
    }
}
