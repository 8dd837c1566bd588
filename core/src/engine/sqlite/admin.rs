//! Operations of operators: remove, requeue, purge, pause.

use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::mend::set_right;
use super::row::{Stored, WITHOUT_DATA, is_generation, read_priority, read_state, state_number};
use super::settle::delete_large;
use crate::Result;
use crate::engine::Target;
use crate::item::State;
use crate::name::QueueName;

pub(super) fn remove(db: &mut Database, name: &QueueName, items: &[Target]) -> Result<Vec<bool>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![false; items.len()]) };
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(items.len());
    for target in items {
        let number = db.run("SELECT number FROM item WHERE queue = ?1 AND id = ?2", |s| {
            s.query_row(params![queue, target.id.as_ref()], |row| row.get(0)).optional()
        })?;
        let gone = match number {
            Some(number) if is_generation(number, target) => remove_one(db, number, &mut delta)?,
            _ => false,
        };
        answers.push(gone);
    }
    db.count(queue, &delta)?;
    Ok(answers)
}

fn remove_one(db: &Database, number: i64, delta: &mut CountDelta) -> Result<bool> {
    let gone = db.run(
        "DELETE FROM item WHERE number = ?1 RETURNING state, priority, data IS NULL",
        |s| {
            s.query_row([number], |row| {
                Ok((read_state(row, 0)?, read_priority(row, 1)?, row.get(2)?))
            })
            .optional()
        },
    )?;
    let Some((state, priority, large)) = gone else { return Ok(false) };
    delete_large(db, number, large)?;
    if let Some(state) = state {
        delta.count(state, priority, -1);
    }
    delta.removed += 1;
    Ok(true)
}

pub(super) fn requeue(db: &mut Database, name: &QueueName, items: &[Target]) -> Result<Vec<bool>> {
    const REQUEUE: &str =
        "UPDATE item SET state = 0, sort_key = -priority, position = ?2, failures = 0, expiries = 0, front = 0,
        since = ?3, history = ?4 WHERE number = ?1";
    let find =
        format!("SELECT {WITHOUT_DATA} FROM item WHERE queue = ?1 AND id = ?2 AND state = 3");
    let Some(queue) = db.queue(name)? else { return Ok(vec![false; items.len()]) };
    let now = db.now as i64;
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(items.len());
    for target in items {
        let place = params![queue, target.id.as_ref()];
        let found = db.run(&find, |s| s.query_row(place, Stored::read).optional())?;
        let found = found.filter(|item| is_generation(item.number, target));
        answers.push(found.is_some());
        let Some(mut item) = found else { continue };
        if item.broken.any() {
            set_right(db, &item, &mut delta)?;
        }
        let position = db.next_number();
        item.history.releases = None;
        let history = item.history.packed();
        db.run(REQUEUE, |s| s.execute(params![item.number, position, now, history]))?;
        delta.count(State::Dead, item.priority, -1);
        delta.count(State::Ready, item.priority, 1);
    }
    db.count(queue, &delta)?;
    Ok(answers)
}

pub(super) fn purge(
    db: &mut Database,
    name: &QueueName,
    state: State,
    limit: u64,
) -> Result<(u64, u64)> {
    let Some(queue) = db.queue(name)? else { return Ok((0, 0)) };
    let numbers = db.rows(
        "SELECT number FROM item WHERE queue = ?1 AND state = ?2 ORDER BY sort_key, position, number LIMIT ?3",
        params![queue, state_number(state), limit as i64],
        |row| row.get(0),
    )?;
    let mut delta = CountDelta::default();
    for number in numbers {
        remove_one(db, number, &mut delta)?;
    }
    db.count(queue, &delta)?;
    // In a damaged file, an entry without a row would be found again and again.
    let gone = delta.removed as u64;
    Ok((gone, gone))
}

pub(super) fn set_paused(db: &mut Database, name: &QueueName, paused: bool) -> Result<()> {
    // A queue that does not exist is not paused.
    let queue = match db.queue(name)? {
        Some(queue) => queue,
        None if paused => db.queue_or_new(name)?,
        None => return Ok(()),
    };
    db.run("UPDATE queue SET paused = ?2 WHERE queue = ?1", |s| s.execute(params![queue, paused]))?;
    Ok(())
}
