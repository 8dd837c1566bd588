//! Completing, extending, releasing and failing leases.

use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::expired::Expired;
use super::mend::set_right;
use super::row::{
    COMPLETED, Stored, WITHOUT_DATA, read_priority, read_state, sort_key, state_number,
};
use super::{
    cancel, distribute, endings, events, expired, expiry, extra, follow_ups, keys, named, settings,
    succeed, unique,
};
use crate::Result;
use crate::engine::{Complete, Ended, Extend, Fail, Release, Token};
use crate::event::EventKind;
use crate::item::{EndingKind, State};
use crate::name::QueueName;
use crate::settings::Setting;

/// The usual case, which reads nothing of the item: its lease is current, and it is not retained.
const COMPLETE_CURRENT: &str = "DELETE FROM item WHERE number = ?1 AND queue = ?2 AND state = 1
    AND deliveries = ?3 AND more = 0 AND data IS NOT NULL AND key IS NULL";
/// The same for an item with a key.
const COMPLETE_KEYED: &str = "DELETE FROM item WHERE number = ?1 AND queue = ?2 AND state = 1
    AND deliveries = ?3 AND more = 0 AND data IS NOT NULL AND key = ?4";
const EXTEND: &str = "UPDATE item SET sort_key = max(sort_key, ?4) WHERE number = ?1 AND queue = ?2
    AND state = 1 AND deliveries = ?3 RETURNING sort_key";
const RELEASE: &str =
    "UPDATE item SET state = ?4, sort_key = ?5, position = ?6, front = ?7, since = ?8,
    history = ?9, deliveries = deliveries + 1
    WHERE number = ?1 AND queue = ?2 AND state = 1 AND deliveries = ?3";
const FAIL: &str =
    "UPDATE item SET state = ?4, sort_key = ?5, position = ?6, front = 0, since = ?7, error = ?8,
    failures = failures + 1, deliveries = deliveries + 1, history = ?9
    WHERE number = ?1 AND queue = ?2 AND state = 1 AND deliveries = ?3";

/// How much there is to do for completions, in items: results count by their bytes.
pub(super) fn size(leases: &[Complete]) -> usize {
    let result = |lease: &Complete| lease.result.as_ref().map_or(0, |result| result.len() / 1_024);
    leases.iter().map(|lease| 1 + result(lease)).sum()
}

pub(super) fn complete(
    db: &mut Database,
    name: &QueueName,
    leases: &[Complete],
) -> Result<Vec<bool>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![false; leases.len()]) };
    let retained_by_default = settings::of(db, queue)?.get(Setting::Retain) > 0;
    let kept = events::are_kept(db, queue)?;
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(leases.len());
    while answers.len() < leases.len() {
        let first = answers.len();
        db.run(COMPLETE_CURRENT, |current| {
            for lease in &leases[answers.len()..] {
                let (number, delivery) = numbers(lease.token);
                let retained = lease.retain_ms.map_or(retained_by_default, |ms| ms > 0);
                // The attempt of a later delivery is read below.
                let read = retained || kept && delivery > 0;
                if read || current.execute([number, queue, delivery])? == 0 {
                    break;
                }
                answers.push(true);
                delta.leased -= 1;
                delta.completed += 1;
            }
            Ok(())
        })?;
        for lease in leases[first..answers.len()].iter().filter(|_| db.is_awaited()) {
            endings::report(db, queue, &lease.id, Ended::Completed { retained: false })?;
        }
        for lease in leases[first..answers.len()].iter().filter(|_| kept) {
            let number = lease.token.generation.count as i64;
            events::note(db, queue, EventKind::Completed, number, 1, Some(&lease.id))?;
        }
        if let Some(lease) = leases.get(answers.len()) {
            let usual = !kept && complete_keyed(db, queue, lease, retained_by_default, &mut delta)?;
            let done = usual || complete_any(db, queue, lease, &mut delta)?;
            answers.push(done);
        }
    }
    for (lease, _) in
        leases.iter().zip(&answers).filter(|(lease, done)| **done && !lease.add.is_empty())
    {
        follow_ups::added(db, queue, &lease.id, &lease.add)?;
    }
    distribute::finish(db, queue, &delta)?;
    Ok(answers)
}

/// Completes an item with a key, if its lease is current, and nothing else is to be done.
fn complete_keyed(
    db: &Database,
    queue: i64,
    lease: &Complete,
    retained_by_default: bool,
    delta: &mut CountDelta,
) -> Result<bool> {
    let key = lease.added_with.as_ref().and_then(|with| with.key.as_ref());
    let retained = lease.retain_ms.map_or(retained_by_default, |ms| ms > 0);
    let Some(key) = key.filter(|_| !retained) else { return Ok(false) };
    let (number, delivery) = numbers(lease.token);
    let current = params![number, queue, delivery, &key[..]];
    if db.run(COMPLETE_KEYED, |s| s.execute(current))? == 0 {
        return Ok(false);
    }
    delta.leased -= 1;
    delta.completed += 1;
    keys::open(db, queue, key)?;
    endings::report(db, queue, &lease.id, Ended::Completed { retained: false })?;
    Ok(true)
}

/// Completes an item with large data, that is retained or has a unique key, or whose lease is not current.
fn complete_any(
    db: &Database,
    queue: i64,
    lease: &Complete,
    delta: &mut CountDelta,
) -> Result<bool> {
    const FIND: &str =
        "SELECT state, priority, deliveries IS ?3, key, more IS NOT 0, failures, expiries FROM item
        WHERE number = ?1 AND queue = ?2";
    let (number, delivery) = numbers(lease.token);
    let found = db.run(FIND, |s| {
        s.query_row([number, queue, delivery], |row| {
            Ok((
                read_state(row, 0)?,
                read_priority(row, 1)?,
                row.get::<_, bool>(2)?,
                key_of(row, 3)?,
                row.get::<_, bool>(4)?,
                read_count(row, 5)?.saturating_add(read_count(row, 6)?).saturating_add(1),
            ))
        })
        .optional()
    })?;
    let Some((state, priority, same_delivery, key, more, attempt)) = found else {
        return Ok(false);
    };
    let current = same_delivery && state == Some(State::Leased);
    if state.is_some_and(State::is_retained) || (lease.strict && !current) {
        return Ok(false);
    }
    if more {
        let kinds = follow_ups::COMPLETES | follow_ups::ENDS;
        follow_ups::end(db, queue, number, kinds, lease.result.as_deref())?;
    }
    let own = match lease.retain_ms {
        Some(retain) => Some(retain as i64),
        None => extra::read(db, number, None)?.unwrap_or_default().own_retain(),
    };
    let retain = settings::retention(db, queue, own)?;
    let mut number = number;
    if retain > 0 {
        // Who comes late makes a new generation.
        number = match state {
            Some(State::Leased) => number,
            _ => named::renumber(db, queue, number)?,
        };
        // The death of an item that has expired is still to come.
        let expired = state != Some(State::Leased) && expiry::time_is_over(db, number)?;
        if expired {
            unique::release(db, queue, number)?;
        }
        if expired || state == Some(State::Dead) {
            extra::forget_key(db, number)?;
        }
        extra::retain(db, number, COMPLETED, retain, lease.result.as_deref())?;
        if let Some(state) = state {
            delta.count(state, priority, -1);
        }
        delta.count(State::Completed, priority, 1);
        if let (Some(State::Leased), Some(key)) = (state, key) {
            keys::open(db, queue, &key)?;
        }
    } else {
        extra::delete_item(db, queue, number, delta)?;
    }
    delta.completed += 1;
    events::note(db, queue, EventKind::Completed, number, attempt, Some(&lease.id))?;
    endings::report(db, queue, &lease.id, Ended::Completed { retained: retain > 0 })?;
    if more && state == Some(State::Leased) {
        succeed::follow(db, queue, &[number])?;
    }
    Ok(true)
}

pub(super) fn extend(
    db: &mut Database,
    name: &QueueName,
    leases: &[Extend],
) -> Result<Vec<Option<u64>>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![None; leases.len()]) };
    let mut answers = Vec::with_capacity(leases.len());
    for lease in leases {
        let (number, delivery) = numbers(lease.token);
        let deadline = (db.now + lease.duration_ms) as i64;
        let at: Option<i64> = db.run(EXTEND, |s| {
            s.query_row([number, queue, delivery, deadline], |row| row.get(0)).optional()
        })?;
        answers.push(at.map(|at| at as u64));
    }
    Ok(answers)
}

pub(super) fn release(
    db: &mut Database,
    name: &QueueName,
    leases: &[Release],
) -> Result<Vec<bool>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![false; leases.len()]) };
    let now = db.now as i64;
    let mut delta = CountDelta::default();
    let mut answers = vec![false; leases.len()];
    // If a batch has the same lease twice, the first counts. Of several items, the first goes to the front.
    let mut released: Vec<(usize, Stored)> = Vec::new();
    for (i, lease) in leases.iter().enumerate() {
        let twice = released.iter().any(|(other, _)| leases[*other].token == lease.token);
        if let Some(found) = held(db, queue, lease.token, &mut delta)?.filter(|_| !twice) {
            released.push((i, found));
        }
    }
    let mut ended = Vec::new();
    for (i, mut found) in released.into_iter().rev() {
        let lease = &leases[i];
        let (number, delivery) = numbers(lease.token);
        let delay = lease.delay_ms as i64;
        let cancelled = cancel::retention(db, queue, &found)?;
        let (state, at) = match (cancelled, delay) {
            (Some(retain), _) => (State::Cancelled, now.saturating_add(retain)),
            (None, 0) => (State::Ready, now),
            (None, delay) => (State::Delayed, now + delay),
        };
        let position = if state == State::Ready { -db.next_number() } else { 0 };
        let since = if state == State::Delayed { at } else { found.since };
        let sort_key = sort_key(state, found.priority, at);
        if let Some(reason) = &lease.reason {
            found.history.note_release(reason, db.now);
        }
        db.run(RELEASE, |s| {
            s.execute(params![
                number,
                queue,
                delivery,
                state_number(state),
                sort_key,
                position,
                state == State::Delayed,
                since,
                found.history.packed()
            ])
        })?;
        delta.count(State::Leased, found.priority, -1);
        delta.count(state, found.priority, 1);
        let attempt = found.failures + found.expiries + 1;
        events::note(db, queue, EventKind::Released, number, attempt, None)?;
        if let Some(retain) = cancelled {
            cancel::end(db, queue, number, retain, &mut delta)?;
        } else if found.more && expiry::time_is_over(db, number)? {
            // It has expired while it was leased.
            let expired = Expired { number, state, priority: found.priority };
            expired::die(db, queue, &[expired], &mut delta)?;
        }
        if let Some(key) = &found.key {
            keys::open(db, queue, key)?;
        }
        if found.more {
            ended.push(number);
        }
        answers[i] = true;
    }
    ended.reverse();
    succeed::follow(db, queue, &ended)?;
    distribute::finish(db, queue, &delta)?;
    Ok(answers)
}

pub(super) fn fail(
    db: &mut Database,
    name: &QueueName,
    leases: &[Fail],
) -> Result<Vec<Option<State>>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![None; leases.len()]) };
    let default_attempts = settings::of(db, queue)?.get(Setting::MaxAttempts);
    let now = db.now as i64;
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(leases.len());
    let mut ended = Vec::new();
    for lease in leases {
        let Some(mut found) = held(db, queue, lease.token, &mut delta)? else {
            answers.push(None);
            continue;
        };
        let (number, delivery) = numbers(lease.token);
        let delay = lease.delay_ms as i64;
        let cancelled = cancel::retention(db, queue, &found)?;
        let (state, at) = match (cancelled, delay) {
            (Some(retain), _) => (State::Cancelled, now.saturating_add(retain)),
            _ if lease.dead || found.ends_with_next(default_attempts) => (State::Dead, now),
            (None, 0) => (State::Ready, now),
            (None, delay) => (State::Delayed, now + delay),
        };
        let sort_key = sort_key(state, found.priority, at);
        let position = if state == State::Ready { db.next_number() } else { 0 };
        let state_number = state_number(state);
        found.history.note_ending(EndingKind::Failed, db.now);
        db.run(FAIL, |s| {
            s.execute(params![
                number,
                queue,
                delivery,
                state_number,
                sort_key,
                position,
                at,
                lease.error,
                found.history.packed()
            ])
        })?;
        delta.count(State::Leased, found.priority, -1);
        delta.count(state, found.priority, 1);
        delta.failed += 1;
        delta.died += i64::from(state == State::Dead);
        let attempt = found.failures + found.expiries + 1;
        events::note(db, queue, EventKind::Failed, number, attempt, None)?;
        if state == State::Dead {
            events::note(db, queue, EventKind::Dead, number, 0, None)?;
        }
        if found.more {
            expiry::end(db, number)?;
        }
        if let Some(retain) = cancelled {
            cancel::end(db, queue, number, retain, &mut delta)?;
        } else if state == State::Dead && found.more {
            unique::release(db, queue, number)?;
        }
        if state == State::Dead && found.more {
            follow_ups::die(db, queue, number)?;
        }
        if matches!(state, State::Dead | State::Cancelled) && !lease.add.is_empty() {
            follow_ups::added(db, queue, &found.id, &lease.add)?;
        }
        if state == State::Dead {
            endings::report_number(db, queue, number, Ended::Dead)?;
        }
        if let Some(key) = &found.key {
            keys::open(db, queue, key)?;
        }
        if found.more {
            ended.push(number);
        }
        answers.push(Some(state));
    }
    succeed::follow(db, queue, &ended)?;
    distribute::finish(db, queue, &delta)?;
    Ok(answers)
}

/// The item, if this lease is current. Repairs its row, so that it can be changed.
pub(super) fn held(
    db: &Database,
    queue: i64,
    token: Token,
    delta: &mut CountDelta,
) -> Result<Option<Stored>> {
    let sql = format!(
        "SELECT {WITHOUT_DATA} FROM item
        WHERE number = ?1 AND queue = ?2 AND state = 1 AND deliveries = ?3"
    );
    let (number, delivery) = numbers(token);
    let found =
        db.run(&sql, |s| s.query_row([number, queue, delivery], Stored::read).optional())?;
    match found {
        Some(item) if item.broken.any() => {
            set_right(db, &item, delta)?;
            // An unreadable item is dead now.
            Ok(Some(item).filter(|item| !item.broken.record))
        }
        found => Ok(found),
    }
}

/// 0 if it cannot be read.
fn read_count(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u32> {
    let count = row.get_ref(column)?.as_i64().unwrap_or(0);
    Ok(u32::try_from(count).unwrap_or(0))
}

/// `None` if it has none, or one that cannot be read.
fn key_of(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Vec<u8>>> {
    Ok(row.get_ref(column)?.as_blob().ok().map(<[u8]>::to_vec))
}

fn numbers(token: Token) -> (i64, i64) {
    (token.generation.count as i64, token.delivery as i64)
}
