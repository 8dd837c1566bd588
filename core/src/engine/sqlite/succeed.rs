//! What becomes of successors when the leases end for which they wait.

use rusqlite::params;

use super::add;
use super::database::Database;
use super::row::LEASED;
use super::successors::take;
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::name::QueueName;
use crate::options::MAX_BATCH;

/// Adds the successors of items whose leases have ended, in whatever state that has left them, at the end of the operation.
pub(super) fn follow(db: &Database, queue: i64, ended: &[i64]) -> Result<()> {
    for leased in ended {
        if let Some(successor) = take(db, *leased, false)? {
            add::add_successor(db, queue, *leased, &successor)?;
        }
    }
    Ok(())
}

/// Checks those after number `from`. Those whose item is not leased take its place. Returns where to continue.
pub(super) fn audit(
    db: &mut Database,
    name: &QueueName,
    from: i64,
    mend: bool,
    report: &mut DeepReport,
) -> Result<Option<i64>> {
    // Those of other queues count too, so that a step has a bounded size.
    const NEXT: &str = "SELECT leased,
            queue = ?2 AND (SELECT state FROM item WHERE item.number = leased) IS NOT ?4
        FROM successor WHERE leased > ?1 ORDER BY leased LIMIT ?3";
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    let step = params![from, queue, MAX_BATCH as i64, LEASED];
    let rows: Vec<(i64, bool)> = db.rows(NEXT, step, |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (leased, _) in rows.iter().filter(|(_, dangling)| *dangling) {
        let what = format_args!("successor of item number {leased}");
        report.note(Damage::DanglingDetails, 1, mend, what);
        if mend {
            follow(db, queue, &[*leased])?;
        }
    }
    Ok(rows.last().filter(|_| rows.len() == MAX_BATCH).map(|row| row.0))
}
