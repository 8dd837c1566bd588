//! Making items dead that have expired.

use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::named::renumber;
use super::readable::readable;
use super::row::{read_priority, read_state};
use super::{endings, events, expiry, follow_ups, unique};
use crate::Result;
use crate::engine::Ended;
use crate::event::EventKind;
use crate::item::{NOT_LEASED, State};

/// An item that has expired, and the state and priority that it had.
pub(super) struct Expired {
    pub(super) number: i64,
    pub(super) state: State,
    pub(super) priority: u8,
}

pub(super) const DIE: &str =
    "UPDATE item SET state = 3, sort_key = ?2, position = 0, front = 0, error = ?3
    WHERE number IN (SELECT value FROM json_each(?1))";

/// Makes items dead that have expired, all with the same few statements.
pub(super) fn die(
    db: &Database,
    queue: i64,
    items: &[Expired],
    delta: &mut CountDelta,
) -> Result<()> {
    const END: &str = concat!(
        "UPDATE extra SET expires_at = NULL, ended_at = NULL, result = NULL, ",
        readable!(),
        " WHERE number IN (SELECT value FROM json_each(?1)) AND expires_at IS NOT NULL"
    );
    const OWNERS: &str = "SELECT number FROM extra
        WHERE number IN (SELECT value FROM json_each(?1)) AND unique_key IS NOT NULL";
    const FOLLOWED: &str = "SELECT number FROM extra
        WHERE number IN (SELECT value FROM json_each(?1)) AND follow_ups IS NOT NULL";
    if items.is_empty() {
        return Ok(());
    }
    let numbers = items.iter().map(|item| item.number.to_string()).collect::<Vec<_>>().join(",");
    let numbers = format!("[{numbers}]");
    db.run(DIE, |s| s.execute(params![numbers, db.now as i64, NOT_LEASED]))?;
    db.run(END, |s| s.execute([&numbers]))?;
    for owner in db.rows(OWNERS, [&numbers], |row| row.get(0))? {
        unique::release(db, queue, owner)?;
    }
    for number in db.rows(FOLLOWED, [&numbers], |row| row.get(0))? {
        follow_ups::die(db, queue, number)?;
    }
    for Expired { number, state, priority } in items {
        delta.count(*state, *priority, -1);
        delta.count(State::Dead, *priority, 1);
        endings::report_number(db, queue, *number, Ended::Dead)?;
        events::note_with_id(db, queue, EventKind::Dead, *number)?;
    }
    delta.died += items.len() as i64;
    delta.expired_unleased += items.len() as i64;
    Ok(())
}

/// How far one lease has looked through the items that have expired. It looks at none of them twice, because many may
/// be leased or delayed, and at no more than `MAX_WALK`.
#[derive(Default)]
pub(super) struct Walk {
    /// When the last one has expired, and its number.
    last: (i64, i64),
    seen: usize,
}

const MAX_WALK: usize = 10_000;

/// Makes ready and held items dead that have expired, by time: how many there were among the next `limit`.
pub(super) fn die_waiting(
    db: &Database,
    queue: i64,
    limit: usize,
    walk: &mut Walk,
    delta: &mut CountDelta,
) -> Result<usize> {
    const PASSED: &str = "SELECT passed.number, passed.expires_at, item.state, item.priority
        FROM (SELECT number, expires_at FROM extra
            WHERE queue = ?1 AND (expires_at, number) > (?2, ?4) AND expires_at <= ?3
            ORDER BY expires_at, number LIMIT ?5) AS passed
        LEFT JOIN item ON item.number = passed.number";
    let limit = limit.min(MAX_WALK - walk.seen);
    if limit == 0 {
        return Ok(0);
    }
    let passed = params![queue, walk.last.0, db.now as i64, walk.last.1, limit as i64];
    let found: Vec<(i64, i64, Option<State>, u8)> = db.rows(PASSED, passed, |row| {
        Ok((row.get(0)?, row.get(1)?, read_state(row, 2)?, read_priority(row, 3)?))
    })?;
    if let Some((number, expires_at, ..)) = found.last() {
        walk.last = (*expires_at, *number);
    }
    walk.seen = if found.len() < limit { MAX_WALK } else { walk.seen + found.len() };
    let waiting: Vec<Expired> = found
        .into_iter()
        .filter_map(|(number, _, state, priority)| match state? {
            state @ (State::Ready | State::Held) => Some(Expired { number, state, priority }),
            _ => None,
        })
        .collect();
    die(db, queue, &waiting, delta)?;
    Ok(waiting.len())
}

/// Makes items dead that have expired: at most `limit`, and about `room` bytes. Each is a new generation, as a buried
/// item, because that is so on Redis. True if there may be more.
pub(super) fn sweep(
    db: &Database,
    queue: i64,
    limit: usize,
    mut room: i64,
    delta: &mut CountDelta,
) -> Result<bool> {
    const PASSED: &str = "SELECT extra.number, item.state, item.priority,
            coalesce((SELECT length(data) FROM large WHERE large.number = extra.number), 0)
        FROM extra LEFT JOIN item ON item.number = extra.number
        WHERE extra.queue = ?1 AND extra.expires_at BETWEEN 0 AND ?2
        ORDER BY extra.expires_at, extra.number LIMIT ?3";
    const SEEN_LEASED: &str = concat!(
        "UPDATE extra SET expires_at = -expires_at, ended_at = NULL, result = NULL, ",
        readable!(),
        " WHERE number = ?1"
    );
    let passed = params![queue, db.now as i64, limit as i64];
    let found: Vec<(i64, Option<State>, u8, i64)> = db.rows(PASSED, passed, |row| {
        let size = row.get_ref(3)?.as_i64().unwrap_or(0);
        Ok((row.get(0)?, read_state(row, 1)?, read_priority(row, 2)?, size))
    })?;
    let (mut more, mut expired) = (found.len() == limit, Vec::new());
    for (number, state, priority, size) in found {
        match state {
            Some(State::Leased) => _ = db.run(SEEN_LEASED, |s| s.execute([number]))?,
            Some(state @ (State::Ready | State::Delayed | State::Held)) => {
                if room <= 0 {
                    more = true;
                    break;
                }
                room -= size;
                let number = renumber(db, queue, number)?;
                expired.push(Expired { number, state, priority });
            }
            // Only another program can have left the time of an item that has ended.
            _ => expiry::end(db, number)?,
        }
    }
    die(db, queue, &expired, delta)?;
    Ok(more)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::location::Location;
    use super::super::opening::Opening;
    use super::super::{add, lease, open};
    use super::*;
    use crate::clock::Clock;
    use crate::engine::LeaseRequest;
    use crate::item::Item;
    use crate::name::QueueName;

    #[test]
    fn ready_ones_are_found_behind_many_that_are_leased() {
        let location = Location { path: None, full: true };
        let opening = Opening::new(location, Clock::machine(), Duration::from_secs(1));
        let mut db = open::open(&opening).unwrap();
        db.begin_write(Instant::now() + Duration::from_secs(10)).unwrap();
        let name = QueueName::new("jobs").unwrap();
        let add = |db: &mut Database, count: usize, seconds| {
            let time = Duration::from_secs(seconds);
            let items = (0..count)
                .map(|n| Item::new("x").with_id(format!("{seconds} {n}")).expires_in(time));
            add::add(db, &name, &items.collect::<Vec<_>>()).unwrap();
        };
        add(&mut db, 1_000, 60);
        let wanted = [LeaseRequest { count: 1_000, duration_ms: 3_600_000 }];
        assert_eq!(lease::lease(&mut db, &name, &wanted).unwrap().items.len(), 1_000);
        add(&mut db, 3, 61);
        add(&mut db, 1, 1_000);
        db.now += 120_000;
        let queue = db.queue(&name).unwrap().unwrap();
        let (mut walk, mut delta) = (Walk::default(), CountDelta::default());
        let mut died = || die_waiting(&db, queue, 400, &mut walk, &mut delta).unwrap();
        assert_eq!([died(), died(), died(), died()], [0, 0, 3, 0]);
        assert_eq!(delta.died, 3);
        db.end_write(Ok(())).unwrap();
    }
}
