//! How items have ended: asking, and reporting the ends that somebody waits for.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::extra;
use super::numbers::first_at;
use super::row::{Stored, WITHOUT_DATA};
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::engine::{Awaited, Ended, EndingPlace, EndingReport, Endings, Found, Outcomes};
use crate::error::show_id;
use crate::item::{NOT_LEASED, Outcome, State};
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES};

/// How long reports are kept, in ms: clients read them at once, or ask.
const ENDINGS_LAST: i64 = 60_000;
/// Longer than any registration lasts, in ms.
const LONGEST: i64 = 120_000;
/// How many old reports each new one deletes at most.
const DELETED: i64 = 10;

pub(super) fn outcomes(db: &mut Database, name: &QueueName, ids: &[Bytes]) -> Result<Outcomes> {
    const LAST: &str = "SELECT CAST(max(sequence) AS INTEGER) FROM ending WHERE name = ?1";
    let queue = db.queue(name)?;
    let (mut found, mut room) = (Vec::with_capacity(ids.len()), MAX_BATCH_BYTES as i64);
    for id in ids {
        let most = if found.is_empty() { i64::MAX } else { room };
        let outcome = match queue {
            Some(queue) => look(db, queue, id, most)?,
            None => Some(Found::Nothing),
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

fn place(sequence: i64) -> EndingPlace {
    EndingPlace(sequence.max(0) as u64, 0)
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

/// The same, and registers those that have not ended.
pub(super) fn await_outcomes(
    db: &mut Database,
    name: &QueueName,
    items: &[Awaited],
    lasts: Duration,
    read_to: Option<EndingPlace>,
) -> Result<Outcomes> {
    const REGISTER: &str = "INSERT INTO awaited (name, id, until) VALUES (?1, ?2, ?3)
        ON CONFLICT (name, id) DO UPDATE SET until = ?3 WHERE until NOT BETWEEN ?4 AND ?5";
    let ids: Vec<Bytes> = items.iter().map(|item| item.id.clone()).collect();
    let mut answer = outcomes(db, name, &ids)?;
    let (now, lasts) = (db.now as i64, lasts.as_millis() as i64);
    delete_lapsed(db)?;
    let mut any = false;
    for (item, found) in items.iter().zip(&answer.found) {
        let waits = matches!(found, Found::Open) || item.expect && matches!(found, Found::Nothing);
        if waits {
            // Most checks change nothing. A time that is too late is from before the clock was set back.
            let (until, enough, latest) = (now + lasts, now + lasts / 2, now + LONGEST);
            let registration = params![name.as_str(), &item.id[..], until, enough, latest];
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

/// Reports behind this place, the first ones.
pub(super) fn reports(db: &mut Database, name: &QueueName, after: EndingPlace) -> Result<Endings> {
    const READ: &str = "SELECT sequence, letter, id FROM ending
        WHERE name = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";
    let behind = params![name.as_str(), after.0 as i64, MAX_BATCH as i64];
    let rows = db.rows(READ, behind, |row| {
        let letter = row.get_ref(1)?.as_i64().unwrap_or(0);
        let id = row.get_ref(2)?.as_blob().map(Bytes::copy_from_slice);
        Ok((row.get::<_, i64>(0)?, letter, id.ok()))
    })?;
    // What another program has written and cannot be read is left out: clients also ask.
    let last = rows.last().map(|(sequence, ..)| place(*sequence));
    let reports = rows.into_iter().filter_map(|(sequence, letter, id)| {
        let how = u8::try_from(letter).ok().and_then(Ended::from_letter)?;
        Some(EndingReport { place: place(sequence), id: id?, how })
    });
    Ok(Endings { reports: reports.collect(), last, lost: false })
}

/// Reports the end of an item, if somebody waits for it.
pub(super) fn report(db: &Database, queue: i64, id: &[u8], how: Ended) -> Result<()> {
    const TAKE: &str = "DELETE FROM awaited
        WHERE name = (SELECT name FROM queue WHERE queue = ?1) AND id = ?2";
    const REPORT: &str = "INSERT INTO ending (name, sequence, letter, id)
        SELECT name, ?2, ?3, ?4 FROM queue WHERE queue = ?1";
    if !db.is_awaited() || db.run(TAKE, |s| s.execute(params![queue, id]))? == 0 {
        return Ok(());
    }
    let report = params![queue, db.next_number(), how.letter(), id];
    db.run(REPORT, |s| s.execute(report))?;
    delete_old(db, DELETED)?;
    db.report_after_commit();
    Ok(())
}

/// The same by the number of the item, which still has its row.
pub(super) fn report_number(db: &Database, queue: i64, number: i64, how: Ended) -> Result<()> {
    const ID: &str = "SELECT id FROM item WHERE number = ?1";
    if !db.is_awaited() {
        return Ok(());
    }
    let id: Option<Vec<u8>> = db.run(ID, |s| {
        s.query_row([number], |row| Ok(row.get_ref(0)?.as_blob().map(<[u8]>::to_vec).ok()))
            .optional()
            .map(Option::flatten)
    })?;
    id.map_or(Ok(()), |id| report(db, queue, &id, how))
}

/// Deletes reports that are older than anybody needs. Returns how many.
fn delete_old(db: &Database, limit: i64) -> Result<usize> {
    const OLD: &str = "DELETE FROM ending WHERE sequence IN
        (SELECT sequence FROM ending WHERE sequence < ?1 ORDER BY sequence LIMIT ?2)";
    let oldest = first_at(db.now, -ENDINGS_LAST);
    db.run(OLD, |s| s.execute([oldest, limit]))
}

/// Deletes registrations that have lapsed. Returns how many.
fn delete_lapsed(db: &Database) -> Result<usize> {
    const LAPSED: &str = "DELETE FROM awaited WHERE (name, id) IN
        (SELECT name, id FROM awaited WHERE until <= ?1 ORDER BY until LIMIT ?2)";
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
    const FIND: &str = "SELECT name, id FROM awaited WHERE until > ?1 LIMIT ?2";
    const DELETE: &str = "DELETE FROM awaited WHERE name = ?1 AND id = ?2";
    let latest = params![db.now as i64 + LONGEST, MAX_BATCH as i64];
    let found: Vec<(String, Vec<u8>)> =
        db.rows(FIND, latest, |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (name, id) in &found {
        report.note(Damage::BadTime, 1, mend, format_args!("a wait for item {}", show_id(id)));
        if mend {
            db.run(DELETE, |s| s.execute(params![name, id]))?;
        }
    }
    Ok(mend && found.len() == MAX_BATCH)
}
