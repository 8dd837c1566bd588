//! Leasing.

use std::time::Duration;

use rusqlite::params;

use super::database::Database;
use super::due::{move_due, next_due};
use super::row::Stored;
use super::tally::Tally;
use crate::engine::{Generation, Leased, LeasedItem, Token, Wanted};
use crate::item::State;
use crate::name::QueueName;
use crate::options::MAX_BATCH_BYTES;
use crate::{Error, Result};

/// Most items of each kind that are moved on the way.
const MOVE_STEP: usize = 500;

/// What a lease has to know of a queue beforehand.
struct Outlook {
    paused: bool,
    largest: i64,
    /// When the next item is due or expires.
    next: Option<i64>,
}

fn outlook(db: &Database, queue: i64) -> Result<Outlook> {
    const OUTLOOK: &str = "SELECT paused, largest,
            (SELECT min(rank) FROM item WHERE queue = ?1 AND state = 1),
            (SELECT min(rank) FROM item WHERE queue = ?1 AND state = 2)
        FROM queue WHERE queue = ?1";
    db.run(OUTLOOK, |s| {
        s.query_row([queue], |row| {
            let next: [Option<i64>; 2] = [row.get(2)?, row.get(3)?];
            let next = next.into_iter().flatten().min();
            Ok(Outlook { paused: row.get(0)?, largest: row.get(1)?, next })
        })
    })
}

/// Whether a lease would find or move anything; if not, when to look again.
pub(super) fn look(db: &mut Database, name: &QueueName) -> Result<Result<(), Leased>> {
    let nothing = |look_in| Ok(Err(Leased { items: Vec::new(), look_in }));
    let Some(queue) = db.queue(name)? else { return nothing(None) };
    let Outlook { paused, next, .. } = outlook(db, queue)?;
    if next.is_some_and(|at| at <= db.now as i64) || (!paused && any_ready(db, queue)?) {
        return Ok(Ok(()));
    }
    nothing(next.map(|at| from_now(db, at)))
}

fn from_now(db: &Database, at: i64) -> Duration {
    Duration::from_millis((at - db.now as i64).max(0) as u64)
}

fn any_ready(db: &Database, queue: i64) -> Result<bool> {
    db.run("SELECT 1 FROM item WHERE queue = ?1 AND state = 0 LIMIT 1", |s| s.exists([queue]))
}

pub(super) fn lease(db: &mut Database, name: &QueueName, wanted: &[Wanted]) -> Result<Leased> {
    let Some(queue) = db.queue(name)? else {
        return Ok(Leased { items: Vec::new(), look_in: None });
    };
    let mut tally = Tally::default();
    let Outlook { paused, largest, mut next } = outlook(db, queue)?;
    let mut cut_short = false;
    if next.is_some_and(|at| at <= db.now as i64) {
        let moved = move_due(db, queue, MOVE_STEP, &mut tally)?;
        cut_short = moved.expired.max(moved.promoted) >= MOVE_STEP as u64;
        next = next_due(db, queue)?;
    }
    let mut items = Vec::new();
    if !paused {
        let mut room = MAX_BATCH_BYTES as i64;
        for group in wanted {
            let taken = take(db, queue, group, largest.max(1), &mut room, &mut tally)?;
            let short = taken.len() < group.count;
            items.extend(taken);
            if short {
                cut_short |= room <= 0;
                break;
            }
        }
    }
    tally.leases += items.len() as i64;
    db.count(queue, &tally)?;
    let ends = items.iter().map(|item| item.deadline_ms as i64);
    let look_in = match next.into_iter().chain(ends).min() {
        _ if cut_short => Some(Duration::ZERO),
        next => next.map(|at| from_now(db, at)),
    };
    Ok(Leased { items, look_in })
}

const FIRST: &str = "SELECT number, state, rank, place, priority, max_attempts, failures, expiries,
        deliveries, added_at, error, id, data
    FROM item WHERE queue = ?1 AND state = 0 ORDER BY rank, place LIMIT ?2";
const TAKE: &str = "UPDATE item SET state = 1, rank = ?3, place = 0 WHERE number IN
    (SELECT number FROM item WHERE queue = ?1 AND state = 0 ORDER BY rank, place LIMIT ?2)";

fn take(
    db: &mut Database,
    queue: i64,
    group: &Wanted,
    largest: i64,
    room: &mut i64,
    tally: &mut Tally,
) -> Result<Vec<LeasedItem>> {
    let deadline_ms = db.now + group.duration_ms;
    let mut items = Vec::new();
    while items.len() < group.count && *room > 0 {
        // No more at a time than surely fit into what is left of the answer.
        let step = (group.count - items.len()).min((*room / largest).max(1) as usize);
        // Reading first: what a change returns, SQLite would copy to another table before.
        let rows = db.rows(FIRST, params![queue, step as i64], Stored::read)?;
        let got = rows.len();
        if got == 0 {
            break;
        }
        let taken = db.run(TAKE, |s| s.execute(params![queue, step as i64, deadline_ms as i64]))?;
        if taken != got {
            return Err(Error::internal(format_args!(
                "queue {queue}: {taken} items were taken instead of {got}: run check"
            )));
        }
        for mut row in rows {
            let data = row.data(db)?;
            *room -= data.len() as i64;
            tally.count(State::Ready, row.priority, -1);
            tally.count(State::Leased, row.priority, 1);
            items.push(LeasedItem {
                token: Token {
                    generation: Generation { count: row.number as u64, salt: [0; 5] },
                    delivery: row.deliveries,
                },
                data,
                priority: row.priority,
                max_attempts: row.max_attempts(),
                failures: row.failures,
                expiries: row.expiries,
                last_error: row.error,
                id: row.id,
                duration_ms: group.duration_ms,
                deadline_ms,
            });
        }
        if got < step {
            break;
        }
    }
    Ok(items)
}
