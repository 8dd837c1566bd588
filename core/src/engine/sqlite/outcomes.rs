//! How items have ended, and whether groups have.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::endings::{ENDINGS_LAST, delete_old, place, reports};
use super::numbers::first_at;
use super::row::{Stored, WITHOUT_DATA};
use super::{extra, groups};
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::engine::{Awaited, Ended, EndingPlace, Endings, Found, Outcomes, Subject};
use crate::error::show_id;
use crate::item::{NOT_LEASED, Outcome, State};
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES};

/// Longer than any registration lasts, in ms.
const LONGEST: i64 = 120_000;

pub(super) fn outcomes(db: &mut Database, name: &QueueName, ids: &[Bytes]) -> Result<Outcomes> {
    let subjects: Vec<Subject> = ids.iter().cloned().map(Subject::Item).collect();
    look_at(db, name, subjects.iter())
}

fn look_at<'a>(
    db: &mut Database,
    name: &QueueName,
    subjects: impl ExactSizeIterator<Item = &'a Subject>,
) -> Result<Outcomes> {
    const LAST: &str = "SELECT CAST(max(sequence) AS INTEGER) FROM ending WHERE name = ?1";
    let queue = db.queue(name)?;
    let (mut found, mut room) = (Vec::with_capacity(subjects.len()), MAX_BATCH_BYTES as i64);
    for subject in subjects {
        let most = if found.is_empty() { i64::MAX } else { room };
        let outcome = match (queue, subject) {
            (Some(queue), Subject::Item(id)) => look(db, queue, id, most)?,
            (Some(queue), Subject::Group(id)) => Some(look_at_group(db, queue, id)?),
            (None, _) => Some(Found::Nothing),
        };
        let Some(outcome) = outcome else { break };
        if let Found::Ended(ended) = &outcome {
            room -= ended.result().map_or(0, Bytes::len) as i64;
        }
        found.push(outcome);
    }
    let last: Option<i64> = db.run(LAST, |s| s.query_row([name.as_str()], |row| row.get(0)))?;
    Ok(Outcomes { place: place(last.unwrap_or(0)), found, endings: Endings::default() })
}

/// `None`: it has a result of more than `most` bytes.
fn look(db: &Database, queue: i64, id: &[u8], most: i64) -> Result<Option<Found>> {
    let sql = format!("SELECT {WITHOUT_DATA} FROM item WHERE queue = ?1 AND id = ?2");
    let row = db.run(&sql, |s| s.query_row(params![queue, id], Stored::read).optional())?;
    let Some(item) = row.filter(|item| !item.is_over(db.now)) else {
        return Ok(Some(Found::Nothing));
    };
    let outcome = match item.state {
        State::Completed => match extra::read(db, item.number, Some(most))? {
            Some(extra) => Outcome::Completed { result: extra.result, retained: true },
            None => return Ok(None),
        },
        State::Cancelled => Outcome::Cancelled,
        State::Dead => Outcome::Dead { error: item.error },
        _ if super::expiry::has_expired(db, &item)? => {
            Outcome::Dead { error: NOT_LEASED.to_owned() }
        }
        _ => return Ok(Some(Found::Open)),
    };
    Ok(Some(Found::Ended(outcome)))
}

fn look_at_group(db: &Database, queue: i64, id: &[u8]) -> Result<Found> {
    Ok(match groups::has_ended(db, queue, id)? {
        Some(true) => Found::Ended(Ended::Group.outcome()),
        Some(false) => Found::Open,
        None => Found::Nothing,
    })
}

/// How items have ended, and whether groups have. Registers those that have not.
pub(super) fn await_outcomes(
    db: &mut Database,
    name: &QueueName,
    items: &[Awaited],
    lasts: Duration,
    read_to: Option<EndingPlace>,
) -> Result<Outcomes> {
    const REGISTER: &str = "INSERT INTO awaited (name, id, is_group, until) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (name, id, is_group) DO UPDATE SET until = ?4 WHERE until NOT BETWEEN ?5 AND ?6";
    let mut answer = look_at(db, name, items.iter().map(|item| &item.subject))?;
    let (now, lasts) = (db.now as i64, lasts.as_millis() as i64);
    delete_lapsed(db)?;
    let mut any = false;
    for (item, found) in items.iter().zip(&answer.found) {
        let waits = matches!(found, Found::Open) || item.expect && matches!(found, Found::Nothing);
        if waits {
            // Most checks change nothing. A time that is too late is from before the clock was set back.
            let (until, enough, latest) = (now + lasts, now + lasts / 2, now + LONGEST);
            let (id, is_group) = (item.subject.id(), matches!(item.subject, Subject::Group(_)));
            let registration = params![name.as_str(), &id[..], is_group, until, enough, latest];
            db.run(REGISTER, |s| s.execute(registration))?;
            any = true;
        }
    }
    if any {
        db.note_awaited(now + lasts, now + lasts * 3 / 4..=now + LONGEST)?;
    }
    if let Some(read_to) = read_to
        && answer.found.contains(&Found::Nothing)
    {
        answer.endings = reports(db, name, read_to)?;
    }
    Ok(answer)
}

/// Deletes registrations that have lapsed. Returns how many.
fn delete_lapsed(db: &Database) -> Result<usize> {
    const LAPSED: &str = "DELETE FROM awaited WHERE (name, id, is_group) IN
        (SELECT name, id, is_group FROM awaited WHERE until <= ?1 ORDER BY until LIMIT ?2)";
    db.run(LAPSED, |s| s.execute([db.now as i64, MAX_BATCH as i64]))
}

/// Whether there is something for [`sweep`] to delete. Needs no writer lock.
pub(super) fn needs_sweep(db: &mut Database) -> Result<bool> {
    const LAPSED: &str = "SELECT until FROM awaited WHERE until <= ?1 LIMIT 1";
    const OLD: &str = "SELECT sequence FROM ending WHERE sequence < ?1 LIMIT 1";
    let exists =
        |sql, before: i64| Ok(!db.rows(sql, [before], |row| row.get::<_, i64>(0))?.is_empty());
    Ok(exists(LAPSED, db.now as i64)? || exists(OLD, first_at(db.now, -ENDINGS_LAST))?)
}

/// One step that deletes what clients have left, of all queues of the file.
pub(super) fn sweep(db: &mut Database) -> Result<()> {
    delete_lapsed(db)?;
    delete_old(db, MAX_BATCH as i64)?;
    Ok(())
}

/// One step that finds registrations that last longer than any client asks for.
pub(super) fn audit(db: &mut Database, mend: bool, report: &mut DeepReport) -> Result<bool> {
    const FIND: &str = "SELECT name, id, is_group FROM awaited WHERE until > ?1 LIMIT ?2";
    const DELETE: &str = "DELETE FROM awaited WHERE name = ?1 AND id = ?2 AND is_group = ?3";
    let latest = params![db.now as i64 + LONGEST, MAX_BATCH as i64];
    let found: Vec<(String, Vec<u8>, bool)> =
        db.rows(FIND, latest, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for (name, id, is_group) in &found {
        let kind = if *is_group { "group" } else { "item" };
        report.note(Damage::BadTime, 1, mend, format_args!("a wait for {kind} {}", show_id(id)));
        if mend {
            db.run(DELETE, |s| s.execute(params![name, id, is_group]))?;
        }
    }
    Ok(mend && found.len() == MAX_BATCH)
}
