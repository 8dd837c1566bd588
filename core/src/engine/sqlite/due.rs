//! Moving items that are due or expired.

use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::mend::set_right;
use super::row::{DELAYED, LEASED, Stored, WITHOUT_DATA, sort_key, state_number};
use super::{cancel, endings, events, expiry, follow_ups, keys, settings, succeed, unique};
use crate::Result;
use crate::engine::Ended;
use crate::event::EventKind;
use crate::item::{EndingKind, State};
use crate::settings::Setting;

#[derive(Debug, Default)]
pub(super) struct Moved {
    pub(super) promoted: u64,
    pub(super) expired: u64,
    pub(super) died: u64,
}

const RECLAIM: &str =
    "UPDATE item SET state = ?2, sort_key = ?3, position = ?4, expiries = expiries + 1,
    deliveries = deliveries + 1, history = ?5 WHERE number = ?1";
const PROMOTE: &str =
    "UPDATE item SET state = 0, sort_key = -priority, position = ?2, front = 0 WHERE number = ?1";

/// Moves at most `limit` due and `limit` expired items, oldest first. Due items become ready. Expired ones count
/// an expiry and become ready at the front, or dead at their limit of attempts, or are cancelled.
pub(super) fn move_due(
    db: &mut Database,
    queue: i64,
    limit: usize,
    delta: &mut CountDelta,
) -> Result<Moved> {
    let now = db.now as i64;
    let mut moved = Moved::default();
    let due = at_most(db, queue, State::Delayed, limit, delta)?;
    let (front, back): (Vec<_>, Vec<_>) = due.into_iter().partition(|item| item.front);
    let places = back
        .into_iter()
        .map(|item| (item, 1))
        .chain(front.into_iter().rev().map(|item| (item, -1)));
    for (item, side) in places {
        let position = side * db.next_number();
        db.run(PROMOTE, |s| s.execute(params![item.number, position]))?;
        delta.count(State::Delayed, item.priority, -1);
        delta.count(State::Ready, item.priority, 1);
        moved.promoted += 1;
    }
    let default_attempts = settings::of(db, queue)?.get(Setting::MaxAttempts);
    let mut ended = Vec::new();
    // Reclaimed items come before due ones, the oldest first: it gets the last, and so the lowest, position.
    for mut item in at_most(db, queue, State::Leased, limit, delta)?.into_iter().rev() {
        let cancelled = cancel::retention(db, queue, &item)?;
        let (state, at) = match cancelled {
            Some(retain) => (State::Cancelled, now.saturating_add(retain)),
            None if item.ends_with_next(default_attempts) => (State::Dead, now),
            None => (State::Ready, now),
        };
        let sort_key = sort_key(state, item.priority, at);
        let position = if state == State::Ready { -db.next_number() } else { 0 };
        item.history.note_ending(EndingKind::Expired, db.now);
        let history = item.history.packed();
        db.run(RECLAIM, |s| {
            s.execute(params![item.number, state_number(state), sort_key, position, history])
        })?;
        delta.count(State::Leased, item.priority, -1);
        delta.count(state, item.priority, 1);
        moved.expired += 1;
        moved.died += u64::from(state == State::Dead);
        let attempt = item.failures + item.expiries + 1;
        events::note(db, queue, EventKind::Expired, item.number, attempt, None)?;
        if state == State::Dead {
            events::note(db, queue, EventKind::Dead, item.number, 0, None)?;
        }
        if item.more {
            expiry::end(db, item.number)?;
        }
        if let Some(retain) = cancelled {
            cancel::end(db, queue, item.number, retain, delta)?;
        } else if state == State::Dead && item.more {
            unique::release(db, queue, item.number)?;
        }
        if state == State::Dead && item.more {
            follow_ups::die(db, queue, item.number)?;
        }
        if state == State::Dead {
            endings::report_number(db, queue, item.number, Ended::Dead)?;
        }
        if let Some(key) = &item.key {
            keys::open(db, queue, key)?;
        }
        if item.more {
            ended.push(item.number);
        }
    }
    ended.reverse();
    succeed::follow(db, queue, &ended)?;
    delta.expired += moved.expired as i64;
    delta.died += moved.died as i64;
    Ok(moved)
}

/// The items of a state that are due. Unreadable ones are repaired first, and left out if they are dead then.
fn at_most(
    db: &Database,
    queue: i64,
    state: State,
    limit: usize,
    delta: &mut CountDelta,
) -> Result<Vec<Stored>> {
    let sql = format!(
        "SELECT {WITHOUT_DATA} FROM item WHERE queue = ?1 AND state = {} AND sort_key <= ?2 \
         ORDER BY sort_key, position, number LIMIT ?3",
        state_number(state)
    );
    let mut due = Vec::new();
    for item in db.rows(&sql, params![queue, db.now as i64, limit as i64], Stored::read)? {
        if item.broken.any() {
            set_right(db, &item, delta)?;
        }
        if !item.broken.record {
            due.push(item);
        }
    }
    Ok(due)
}

/// When the next item is due or expires, in ms since 1970.
pub(super) fn next_due(db: &Database, queue: i64) -> Result<Option<i64>> {
    let next = |state: i64| {
        // A value of a wrong type is no time; an audit finds it.
        const NEXT: &str = "SELECT CAST(min(sort_key) AS INTEGER) FROM item
            WHERE queue = ?1 AND state = ?2 AND sort_key <= 9223372036854775807";
        db.run(NEXT, |s| s.query_row([queue, state], |row| row.get::<_, Option<i64>>(0)))
    };
    Ok([next(LEASED)?, next(DELAYED)?].into_iter().flatten().min())
}
