//! Reports of the ends that somebody waits for.

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::numbers::first_at;
use crate::Result;
use crate::engine::{Ended, EndingPlace, EndingReport, Endings};
use crate::name::QueueName;
use crate::options::MAX_BATCH;

/// How long reports are kept, in ms: clients read them at once, or ask.
pub(super) const ENDINGS_LAST: i64 = 60_000;
/// How many old reports each new one deletes at most.
const DELETED: i64 = 10;

pub(super) fn place(sequence: i64) -> EndingPlace {
    EndingPlace(sequence.max(0) as u64, 0)
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
        Some(EndingReport { place: place(sequence), subject: how.subject(id?), how })
    });
    Ok(Endings { reports: reports.collect(), last, lost: false })
}

/// Reports the end of an item or a group, if somebody waits for it.
pub(super) fn report(db: &Database, queue: i64, id: &[u8], how: Ended) -> Result<()> {
    const TAKE: &str = "DELETE FROM awaited
        WHERE name = (SELECT name FROM queue WHERE queue = ?1) AND id = ?2 AND is_group = ?3";
    const REPORT: &str = "INSERT INTO ending (name, sequence, letter, id)
        SELECT name, ?2, ?3, ?4 FROM queue WHERE queue = ?1";
    let taken = params![queue, id, how == Ended::Group];
    if !db.is_awaited() || db.run(TAKE, |s| s.execute(taken))? == 0 {
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
pub(super) fn delete_old(db: &Database, limit: i64) -> Result<usize> {
    const OLD: &str = "DELETE FROM ending WHERE sequence IN
        (SELECT sequence FROM ending WHERE sequence < ?1 ORDER BY sequence LIMIT ?2)";
    let oldest = first_at(db.now, -ENDINGS_LAST);
    db.run(OLD, |s| s.execute([oldest, limit]))
}
