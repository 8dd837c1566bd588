//! Adding items.

use rusqlite::params;

use super::database::Database;
use super::tally::Tally;
use crate::Result;
use crate::item::{Item, State};
use crate::name::QueueName;

/// Larger data stands apart, so that leasing an item does not write its data again.
const INLINE: usize = 1_024;

const ADD: &str = "INSERT INTO item
    (number, queue, state, priority, place, at, max_attempts, added_at, since, id, data)
    VALUES (?1, ?2, ?3, ?4, ?1, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (queue, id) DO NOTHING";

pub(super) fn add(db: &mut Database, name: &QueueName, items: &[Item]) -> Result<Vec<bool>> {
    let queue = db.queue_or_new(name)?;
    let now = db.now as i64;
    let mut tally = Tally::default();
    let mut answers = Vec::with_capacity(items.len());
    for item in items {
        let number = db.next_number();
        let delay = item.delay_ms() as i64;
        let state = if delay > 0 { State::Delayed } else { State::Ready };
        let inline = item.data.len() <= INLINE;
        let data = inline.then_some(item.data.as_ref());
        let added = db.run(ADD, |statement| {
            statement.execute(params![
                number,
                queue,
                state as i64,
                item.priority,
                now + delay,
                item.max_attempts.unwrap_or(0),
                now,
                now + delay,
                item.id.as_ref(),
                data,
            ])
        })? == 1;
        if added {
            if !inline {
                db.run("INSERT INTO large VALUES (?1, ?2)", |statement| {
                    statement.execute(params![number, item.data.as_ref()])
                })?;
            }
            tally.count(state, item.priority, 1);
            tally.added += 1;
            tally.largest = tally.largest.max(item.data.len() as i64);
        }
        answers.push(added);
    }
    db.count(queue, &tally)?;
    Ok(answers)
}
