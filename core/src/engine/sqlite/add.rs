//! Adding items.

use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::row::{sort_key, state_number};
use crate::Result;
use crate::item::{Item, State};
use crate::name::QueueName;

/// Larger data is in a table of its own, so that leasing an item does not write its data again.
pub(super) const INLINE: usize = 1_024;

const ADD: &str = "INSERT INTO item
    (number, queue, state, sort_key, position, priority, max_attempts, added_at, since, id, data)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (queue, id) DO NOTHING";

pub(super) fn add(db: &mut Database, name: &QueueName, items: &[Item]) -> Result<Vec<bool>> {
    let queue = db.queue_or_new(name)?;
    let now = db.now as i64;
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(items.len());
    let mut large = Vec::new();
    db.run(ADD, |statement| {
        for item in items {
            let number = db.next_number();
            let delay = item.due().delay_ms(db.now) as i64;
            let (state, position, since) = match delay {
                0 => (State::Ready, number, 0),
                delay => (State::Delayed, 0, now + delay),
            };
            let inline = item.data.len() <= INLINE;
            let added = statement.execute(params![
                number,
                queue,
                state_number(state),
                sort_key(state, item.priority, since),
                position,
                item.priority,
                item.max_attempts.unwrap_or(0),
                now,
                since,
                item.id.as_ref(),
                inline.then_some(item.data.as_ref()),
            ])? == 1;
            if added {
                if !inline {
                    large.push((number, item));
                }
                delta.count(state, item.priority, 1);
                delta.added += 1;
            }
            answers.push(added);
        }
        Ok(())
    })?;
    for (number, item) in large {
        add_large(db, number, &item.data)?;
    }
    db.count(queue, &delta)?;
    Ok(answers)
}

pub(super) fn add_large(db: &Database, number: i64, data: &[u8]) -> Result<()> {
    db.run("INSERT INTO large VALUES (?1, ?2)", |s| s.execute(params![number, data]))?;
    Ok(())
}
