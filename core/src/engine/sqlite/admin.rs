//! Operations of operators: remove, requeue, purge.

use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::mend::set_right;
use super::row::{Stored, WITHOUT_DATA, is_generation, state_number};
use super::{distribute, endings, events, expiry, extra, follow_ups, successors, unique};
use crate::Result;
use crate::engine::{Ended, Purged, Target};
use crate::event::EventKind;
use crate::item::State;
use crate::name::QueueName;

pub(super) fn remove(db: &mut Database, name: &QueueName, items: &[Target]) -> Result<Vec<bool>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![false; items.len()]) };
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(items.len());
    for target in items {
        let found =
            db.run("SELECT number, sort_key FROM item WHERE queue = ?1 AND id = ?2", |s| {
                s.query_row(params![queue, target.id.as_ref()], |row| {
                    Ok((row.get(0)?, row.get_ref(1)?.as_i64().unwrap_or(0)))
                })
                .optional()
            })?;
        let found = found.filter(|(number, _)| is_generation(*number, target));
        let Some((number, sort_key)) = found else {
            answers.push(false);
            continue;
        };
        follow_ups::end(db, queue, number, follow_ups::ENDS, None)?;
        successors::drop(db, queue, number)?;
        let state = extra::delete_item(db, queue, number, &mut delta)?.flatten();
        // A retained item whose time is over was not there any more.
        let over = state.is_some_and(State::is_retained) && sort_key <= db.now as i64;
        if !over {
            delta.removed += 1;
            events::note(db, queue, EventKind::Removed, number, 0, Some(&target.id))?;
            endings::report(db, queue, &target.id, Ended::Removed)?;
        }
        answers.push(!over);
    }
    distribute::finish(db, queue, &delta)?;
    Ok(answers)
}

pub(super) fn requeue(
    db: &mut Database,
    name: &QueueName,
    items: &[Target],
) -> Result<Vec<Option<bool>>> {
    const REQUEUE: &str =
        "UPDATE item SET state = ?5, sort_key = -priority, position = ?2, failures = 0, expiries = 0, front = 0,
        since = ?3, history = ?4 WHERE number = ?1";
    let find = format!("SELECT {WITHOUT_DATA} FROM item WHERE queue = ?1 AND id = ?2");
    let Some(queue) = db.queue(name)? else { return Ok(vec![Some(false); items.len()]) };
    let now = db.now as i64;
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(items.len());
    for target in items {
        let place = params![queue, target.id.as_ref()];
        let found = db.run(&find, |s| s.query_row(place, Stored::read).optional())?;
        let found = found.filter(|item| is_generation(item.number, target));
        let Some(mut item) = dead(db, found)? else {
            answers.push(Some(false));
            continue;
        };
        let extra = match item.more {
            true => extra::read(db, item.number, None)?,
            false => None,
        };
        let unique = extra.and_then(|extra| extra.unique);
        if let Some(key) = &unique {
            let owner = unique::owner(db, queue, key)?;
            let waits = successors::with_key(db, queue, key)?.is_some();
            if waits || owner.is_some_and(|owner| owner.number != item.number) {
                answers.push(Some(false));
                continue;
            }
            unique::take(db, queue, key, item.number, 0)?;
        }
        answers.push(Some(true));
        if item.broken.any() {
            set_right(db, &item, &mut delta)?;
        }
        if item.more && item.state != State::Dead {
            // It has expired, and dies before its new run begins.
            follow_ups::die(db, queue, item.number)?;
        }
        if item.more {
            follow_ups::requeue(db, queue, item.number)?;
        }
        expiry::end(db, item.number)?;
        // An item that waits in line keeps its place.
        let (state, position) = match item.state {
            State::Ready | State::Held => (item.state, item.position),
            _ => (State::Ready, db.next_number()),
        };
        item.history.releases = None;
        let history = item.history.packed();
        let (number, state_number) = (item.number, state_number(state));
        db.run(REQUEUE, |s| s.execute(params![number, position, now, history, state_number]))?;
        delta.count(item.state, item.priority, -1);
        delta.count(state, item.priority, 1);
        events::note(db, queue, EventKind::Requeued, number, 0, Some(&target.id))?;
    }
    distribute::finish(db, queue, &delta)?;
    Ok(answers)
}

/// The item, if it is dead: also if it has expired and no sweep has found it yet.
fn dead(db: &Database, found: Option<Stored>) -> Result<Option<Stored>> {
    let Some(item) = found else { return Ok(None) };
    let dead = item.state == State::Dead || expiry::has_expired(db, &item)?;
    Ok(dead.then_some(item))
}

pub(super) fn purge(
    db: &mut Database,
    name: &QueueName,
    state: State,
    limit: u64,
    newest: Option<i64>,
) -> Result<Purged> {
    let Some(queue) = db.queue(name)? else { return Ok(Purged { removed: 0, next: None }) };
    // What is added later, as a follow-up of what is removed, has a higher number.
    let newest = newest.unwrap_or_else(|| db.last_number());
    let numbers = db.rows(
        "SELECT number FROM item WHERE queue = ?1 AND state = ?2 AND sort_key > ?4 AND number <= ?5
            ORDER BY sort_key, position, number LIMIT ?3",
        // Of retained items, only those whose time has not passed.
        params![
            queue,
            state_number(state),
            limit as i64,
            if state.is_retained() { db.now as i64 } else { i64::MIN },
            newest
        ],
        |row| row.get(0),
    )?;
    let mut delta = CountDelta::default();
    for number in numbers {
        endings::report_number(db, queue, number, Ended::Removed)?;
        follow_ups::end(db, queue, number, follow_ups::ENDS, None)?;
        if state == State::Leased {
            successors::drop(db, queue, number)?;
        }
        events::note_with_id(db, queue, EventKind::Removed, number)?;
        let gone = extra::delete_item(db, queue, number, &mut delta)?;
        delta.removed += i64::from(gone.is_some());
    }
    distribute::finish(db, queue, &delta)?;
    // In a damaged file, an entry without a row would be found again and again.
    let removed = delta.removed as u64;
    Ok(Purged { removed, next: (removed > 0).then(|| newest.to_string()) })
}
