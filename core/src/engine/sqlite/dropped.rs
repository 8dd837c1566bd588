//! Dropping a queue. The first step removes its name: from then on nobody finds it, and items that are added
//! under the name go to a new queue. Further steps delete its rows, a bounded number at a time.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Instant;

use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::executor::Executor;
use super::{follow_ups, groups, keys, successors, unique};
use crate::lock::lock;
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES};
use crate::{Error, ErrorKind, Result};

/// Removes the name of this queue, if it still has it. `None`: members of groups are to be purged first.
pub(super) fn detach(
    db: &mut Database,
    name: &QueueName,
    queue: i64,
    force: bool,
    purged: bool,
) -> Result<Option<()>> {
    if db.queue(name)? != Some(queue) {
        return Ok(Some(()));
    }
    let has_members = follow_ups::any_members(db, queue)?;
    if has_members && !purged {
        return Ok(None);
    }
    if (!force || has_members) && follow_ups::any_deferred(db, queue)? {
        return Err(match force {
            true => Error::holds_reports(name),
            false => Error::holds_follow_ups(name),
        });
    }
    db.run("UPDATE queue SET name = NULL WHERE queue = ?1", |s| s.execute([queue]))?;
    db.forget_queues()?;
    Ok(Some(()))
}

/// Deletes what dropped queues have left, in transactions of its own, so that damage in one of them affects
/// nothing else.
#[derive(Default)]
pub(super) struct Sweeper {
    /// Dropped queues that this client cannot delete. Each was logged once, and is not tried again.
    damaged: Mutex<BTreeSet<i64>>,
}

impl Sweeper {
    /// Does one step. False: nothing is left that can be deleted.
    pub(super) async fn step(&self, executor: &Executor, until: Instant) -> Result<bool> {
        let damaged = lock(&self.damaged).clone();
        let find = move |db: &mut Database| next(db, &damaged);
        let Some(queue) = executor.run(false, until, find).await? else { return Ok(false) };
        match executor.run(true, until, move |db| sweep(db, queue)).await {
            Err(error) if error.kind() == ErrorKind::Internal => {
                if lock(&self.damaged).insert(queue) {
                    tracing::warn!(queue, %error, "a dropped queue is damaged, and stays: run check");
                }
            }
            done => done?,
        }
        Ok(true)
    }

    /// The same for a clean, which continues even if this fails.
    pub(super) async fn try_step(&self, executor: &Executor, until: Instant) -> bool {
        self.step(executor, until).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "a later clean deletes what dropped queues have left");
            false
        })
    }
}

/// The first queue without a name, other than these.
pub(super) fn next(db: &Database, except: &BTreeSet<i64>) -> Result<Option<i64>> {
    let mut after = 0;
    loop {
        match first_after(db, after)? {
            Some(queue) if except.contains(&queue) => after = queue,
            found => return Ok(found),
        }
    }
}

fn first_after(db: &Database, queue: i64) -> Result<Option<i64>> {
    const NEXT: &str =
        "SELECT queue FROM queue WHERE name IS NULL AND queue > ?1 ORDER BY queue LIMIT 1";
    db.run(NEXT, |s| s.query_row([queue], |row| row.get(0)).optional())
}

/// Deletes some items of this queue, which has no name, or the queue itself if it has no items left.
pub(super) fn sweep(db: &mut Database, queue: i64) -> Result<()> {
    const SOME: &str = "SELECT number, data IS NULL FROM item WHERE queue = ?1
        ORDER BY state, sort_key, position LIMIT ?2";
    const KEYS: &str = "DELETE FROM unique_key WHERE queue = ?1 AND key IN
        (SELECT key FROM unique_key WHERE queue = ?1 LIMIT ?2)";
    let items: Vec<(i64, bool)> =
        db.rows(SOME, params![queue, MAX_BATCH as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut room = MAX_BATCH_BYTES as i64;
    for (number, large) in &items {
        if room <= 0 {
            break;
        }
        room -= delete(db, *number, *large)?;
    }
    let keys = db.run(KEYS, |s| s.execute([queue, MAX_BATCH as i64]))?
        + keys::delete_some(db, queue, MAX_BATCH)?
        + follow_ups::delete_some(db, queue, MAX_BATCH)?
        + successors::delete_some(db, queue, 16)?
        + groups::delete_some(db, queue)?;
    if items.is_empty() && keys == 0 {
        db.run("DELETE FROM schedule WHERE queue = ?1", |s| s.execute([queue]))?;
        db.run("DELETE FROM history WHERE queue = ?1", |s| s.execute([queue]))?;
        db.run("DELETE FROM event WHERE queue = ?1", |s| s.execute([queue]))?;
        db.run("DELETE FROM deep_turn WHERE queue = ?1", |s| s.execute([queue]))?;
        db.run("DELETE FROM queue WHERE queue = ?1", |s| s.execute([queue]))?;
        if first_after(db, queue - 1)? == Some(queue) {
            // In a damaged file it would be found again and again.
            return Err(Error::internal(format_args!("queue number {queue}: cannot be deleted")));
        }
    }
    Ok(())
}

/// Deletes an item. Returns the size of its data, if that is large.
pub(super) fn delete(db: &Database, number: i64, large: bool) -> Result<i64> {
    unique::disown(db, number)?;
    if db.run("DELETE FROM item WHERE number = ?1", |s| s.execute([number]))? == 0 {
        // In a damaged file it would be found again and again.
        return Err(Error::internal(format_args!("item number {number}: cannot be deleted")));
    }
    db.run("DELETE FROM extra WHERE number = ?1", |s| s.execute([number]))?;
    if !large {
        return Ok(0);
    }
    let size = db.run("SELECT length(data) FROM large WHERE number = ?1", |s| {
        s.query_row([number], |row| row.get(0)).optional()
    })?;
    db.run("DELETE FROM large WHERE number = ?1", |s| s.execute([number]))?;
    Ok(size.unwrap_or(0))
}
