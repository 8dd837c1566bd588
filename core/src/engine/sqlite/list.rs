//! Listing the items of a state.
//!
//! A place of a listing, after an item: of ready and held items `priority:position:end`, of others `time:0:number`. `end` is
//! the last position of that priority when the listing came to it. An item that becomes ready later, or comes
//! back, stands beyond it.

use rusqlite::params;

use super::database::Database;
use super::info::info;
use super::row::{COLUMNS, Data, MORE, Stored, WITHOUT_DATA, state_number};
use crate::engine::{ListStep, Listed};
use crate::item::State;
use crate::name::QueueName;
use crate::options::{MAX_BATCH_BYTES, MAX_PRIORITY};
use crate::{Error, Result};

/// An item and its place.
type Placed = (Stored, String);

pub(super) fn list(db: &mut Database, name: &QueueName, step: &ListStep) -> Result<Listed> {
    let mut listed = Listed::default();
    let Some(queue) = db.queue(name)? else { return Ok(listed) };
    let mut rows = match step.state {
        State::Ready | State::Held => in_line(db, queue, step, place(name, step)?)?,
        _ => by_time(db, queue, step, place(name, step)?)?,
    };
    let mut more = rows.len() > step.limit;
    rows.truncate(step.limit);
    // A page of large items has fewer of them.
    let mut room = MAX_BATCH_BYTES as i64;
    for (mut item, place) in rows {
        let most = if room == MAX_BATCH_BYTES as i64 { i64::MAX } else { room };
        let info = match item.read_data(db, step.with_data, most)? {
            Data::TooLarge => {
                more = true;
                break;
            }
            Data::Found(data) if !item.broken.record => {
                let left = most - data.len() as i64;
                let Some(info) = info(item, db, data, step.with_data.then_some(left))? else {
                    more = true;
                    break;
                };
                room -= info.bytes();
                Some(info)
            }
            // Skips damaged items.
            _ => None,
        };
        listed.entries.push((info, step.cursor_at(place)));
    }
    listed.cursor = listed.entries.last().filter(|_| more).map(|(_, cursor)| cursor.clone());
    Ok(listed)
}

/// The numbers of the place to go on after; `None` to begin.
fn place(name: &QueueName, step: &ListStep) -> Result<Option<[i64; 3]>> {
    let Some(cursor) = &step.cursor else { return Ok(None) };
    let numbers: Option<Vec<i64>> = cursor.place.split(':').map(|part| part.parse().ok()).collect();
    let place = numbers.and_then(|numbers| numbers.try_into().ok());
    place.map(Some).ok_or_else(|| {
        let what = format_args!("queue {name}: a cursor of another engine: {cursor}");
        Error::invalid(what)
    })
}

fn columns(step: &ListStep) -> &'static str {
    if step.with_data { COLUMNS } else { WITHOUT_DATA }
}

/// One more than the limit, if there are so many.
fn in_line(
    db: &Database,
    queue: i64,
    step: &ListStep,
    place: Option<[i64; 3]>,
) -> Result<Vec<Placed>> {
    let (after, until, order, opposite) = match step.reverse {
        false => (">", "<=", "ASC", "DESC"),
        true => ("<", ">=", "DESC", "ASC"),
    };
    // An item without a valid position, which another program has changed, has no place.
    let line = format!(
        "FROM item WHERE queue = ?1 AND state = {} AND sort_key = ?2 AND typeof(position) = 'integer'",
        state_number(step.state)
    );
    let end = format!("SELECT position {line} ORDER BY position {opposite} LIMIT 1");
    let columns = columns(step);
    let items = format!(
        "SELECT {columns}, position {line} AND position {after} ?3 AND position {until} ?4 \
         ORDER BY position {order} LIMIT ?5"
    );
    let mut priorities: Vec<i64> = (0..=i64::from(MAX_PRIORITY)).collect();
    if !step.reverse {
        priorities.reverse();
    }
    let mut found: Vec<Placed> = Vec::new();
    let first = place.map(|[priority, ..]| priority);
    for priority in
        priorities.into_iter().skip_while(|one| first.is_some_and(|first| *one != first))
    {
        let left = (step.limit + 1 - found.len()) as i64;
        if left == 0 {
            break;
        }
        let (after, end) = match place {
            Some([of, position, end]) if of == priority => (position, end),
            _ => match db.rows(&end, [queue, -priority], |row| row.get(0))?.pop() {
                Some(end) => (if step.reverse { i64::MAX } else { i64::MIN }, end),
                None => continue,
            },
        };
        let rows = db.rows(&items, [queue, -priority, after, end, left], |row| {
            let place = format!("{priority}:{}:{end}", row.get::<_, i64>(MORE)?);
            Ok((Stored::read(row)?, place))
        })?;
        found.extend(rows);
    }
    Ok(found)
}

/// One more than the limit, if there are so many.
fn by_time(
    db: &Database,
    queue: i64,
    step: &ListStep,
    place: Option<[i64; 3]>,
) -> Result<Vec<Placed>> {
    let ms = |time| i64::try_from(time).unwrap_or(i64::MAX);
    let mut first = step.since_ms.map_or(i64::MIN, ms);
    // Retained items whose time is over are not there.
    if step.state.is_retained() {
        first = first.max(db.now as i64 + 1);
    }
    let last = step.until_ms.map_or(i64::MAX, |time| ms(time).saturating_sub(1));
    let place = place.map(|[time, _, number]| (time, number));
    // The listing goes on after this time and number, up to the other end.
    let ((time, number), end, after, until, order) = match step.reverse {
        false => (place.max(Some((first, i64::MIN))).unwrap_or_default(), last, ">", "<=", "ASC"),
        true => {
            let begin = (last, i64::MAX);
            (place.map_or(begin, |place| place.min(begin)), first, "<", ">=", "DESC")
        }
    };
    // Items that are not in line have position 0. One without a valid place would be found again and again.
    let columns = columns(step);
    let sql = format!(
        "SELECT {columns}, sort_key FROM item WHERE queue = ?1 AND state = ?2 \
         AND (sort_key, position, number) {after} (?3, 0, ?4) AND sort_key {until} ?5 \
         AND typeof(sort_key) = 'integer' AND +position = 0 \
         ORDER BY sort_key {order}, position {order}, number {order} LIMIT ?6"
    );
    let limit = step.limit as i64 + 1;
    let params = params![queue, state_number(step.state), time, number, end, limit];
    db.rows(&sql, params, |row| {
        let (time, item) = (row.get::<_, i64>(MORE)?, Stored::read(row)?);
        let place = format!("{time}:0:{}", item.number);
        Ok((item, place))
    })
}
