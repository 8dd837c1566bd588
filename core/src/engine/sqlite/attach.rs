//! Attaching follow-ups to items.

use super::count_delta::CountDelta;
use super::database::Database;
use super::packed_items::pack;
use super::{distribute, expiry, extra, follow_ups, named};
use crate::Result;
use crate::engine::{Attach, Attached};
use crate::item::{FollowUp, On, State};
use crate::name::QueueName;
use crate::options::{MAX_COPIED_RESULT, MAX_FOLLOW_UPS, MAX_FOLLOW_UPS_SIZE};

pub(super) fn attach(
    db: &mut Database,
    name: &QueueName,
    items: &[Attach],
) -> Result<Vec<Attached>> {
    let Some(queue) = db.queue(name)? else { return Ok(vec![Attached::No; items.len()]) };
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(items.len());
    for Attach { target, follow_up } in items {
        let found = named::find(db, queue, target, &mut delta, |_| true)?;
        let Some(item) = found.filter(|item| !item.is_over(db.now)) else {
            answers.push(Attached::No);
            continue;
        };
        let fired: &[On] = match item.state {
            State::Completed => &[On::Completed, On::Ended],
            State::Cancelled => &[On::Ended],
            State::Dead => &[On::Dead, On::Ended],
            _ if expiry::has_expired(db, &item)? => &[On::Dead, On::Ended],
            _ => {
                answers.push(to_living(db, queue, name, item.number, follow_up)?);
                continue;
            }
        };
        if !fired.contains(&follow_up.on) {
            answers.push(Attached::No);
            continue;
        }
        let result = match follow_up.with_trigger {
            true => extra::read(db, item.number, Some(MAX_COPIED_RESULT as i64))?,
            false => None,
        };
        let result = result.and_then(|extra| extra.result);
        follow_ups::attached_late(db, queue, &item.id, follow_up, result.as_deref())?;
        answers.push(Attached::Yes);
    }
    distribute::finish(db, queue, &delta)?;
    Ok(answers)
}

fn to_living(
    db: &Database,
    queue: i64,
    name: &QueueName,
    number: i64,
    follow_up: &FollowUp,
) -> Result<Attached> {
    let old = extra::read(db, number, None)?.unwrap_or_default().follow_ups;
    let mut all = match old {
        Some(old) => follow_ups::read(db, old, i64::MAX)?.unwrap_or_default(),
        None => Vec::new(),
    };
    if all.iter().any(|one| is_same(name, one, follow_up)) {
        return Ok(Attached::Yes);
    }
    all.push(follow_up.clone());
    // As for those that an item is added with, without what they take more on Redis.
    if all.len() > MAX_FOLLOW_UPS || pack(&all).len() > MAX_FOLLOW_UPS_SIZE {
        return Ok(Attached::Full);
    }
    follow_ups::replace(db, queue, number, old, &all)?;
    Ok(Attached::Yes)
}

/// Whether one end can fire both, and both have the same id and queue. `queue`: that of the item that has them.
fn is_same(queue: &QueueName, one: &FollowUp, other: &FollowUp) -> bool {
    let both_fire = one.on == other.on || [one.on, other.on].contains(&On::Ended);
    let target = |follow_up: &FollowUp| follow_up.item.queue.clone().unwrap_or(queue.clone());
    both_fire && one.item.id == other.item.id && target(one) == target(other)
}
