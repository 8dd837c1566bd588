//! Dropping a queue. The first step takes its name away: from then on nobody finds it, and what is added
//! under that name goes to another queue. The others delete what it had, a bounded part at a time.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Instant;

use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::locked;
use super::worker::Worker;
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES};
use crate::{Error, ErrorKind, Result};

/// Takes the name away from this queue, if it still has it.
pub(super) fn detach(db: &mut Database, name: &QueueName, queue: i64) -> Result<()> {
    if db.queue(name)? != Some(queue) {
        return Ok(());
    }
    db.run("UPDATE queue SET name = NULL WHERE queue = ?1", |s| s.execute([queue]))?;
    db.forget_queues()
}

/// Deletes what dropped queues have left, in transactions of its own: damage in one of them is in the
/// way of no other, and of nothing else.
#[derive(Default)]
pub(super) struct Sweeper {
    /// Dropped queues that this client cannot delete. Each was logged, and is not tried again.
    damaged: Mutex<BTreeSet<i64>>,
}

impl Sweeper {
    /// Takes one step. False: nothing is left that can be deleted.
    pub(super) async fn step(&self, worker: &Worker, until: Instant) -> Result<bool> {
        let damaged = locked(&self.damaged).clone();
        let look = move |db: &mut Database| next(db, &damaged);
        let Some(queue) = worker.run(false, until, look).await? else { return Ok(false) };
        match worker.run(true, until, move |db| sweep(db, queue)).await {
            Err(error) if error.kind() == ErrorKind::Internal => {
                if locked(&self.damaged).insert(queue) {
                    tracing::warn!(queue, %error, "a dropped queue is damaged, and stays: run check");
                }
            }
            done => done?,
        }
        Ok(true)
    }

    /// The same for those who clean, and can do so whatever happens here.
    pub(super) async fn try_step(&self, worker: &Worker, until: Instant) -> bool {
        self.step(worker, until).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "a later clean deletes what dropped queues have left");
            false
        })
    }
}

/// The first queue without a name but for these.
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

/// Deletes some items of this queue, which has no name, and the queue itself when it has none.
pub(super) fn sweep(db: &mut Database, queue: i64) -> Result<()> {
    const SOME: &str = "SELECT number, data IS NULL FROM item WHERE queue = ?1
        ORDER BY state, sort_key, position LIMIT ?2";
    let items: Vec<(i64, bool)> =
        db.rows(SOME, params![queue, MAX_BATCH as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut room = MAX_BATCH_BYTES as i64;
    for (number, large) in &items {
        if room <= 0 {
            break;
        }
        room -= delete(db, *number, *large)?;
    }
    if items.is_empty() {
        db.run("DELETE FROM deep_turn WHERE queue = ?1", |s| s.execute([queue]))?;
        db.run("DELETE FROM queue WHERE queue = ?1", |s| s.execute([queue]))?;
        if first_after(db, queue - 1)? == Some(queue) {
            // In a damaged file it would be found for ever.
            return Err(Error::internal(format_args!("queue number {queue}: cannot be deleted")));
        }
    }
    Ok(())
}

/// Deletes an item; the size of its data, if that is large.
pub(super) fn delete(db: &Database, number: i64, large: bool) -> Result<i64> {
    if db.run("DELETE FROM item WHERE number = ?1", |s| s.execute([number]))? == 0 {
        // In a damaged file it would be found for ever.
        return Err(Error::internal(format_args!("item number {number}: cannot be deleted")));
    }
    if !large {
        return Ok(0);
    }
    let size = db.run("SELECT length(data) FROM large WHERE number = ?1", |s| {
        s.query_row([number], |row| row.get(0)).optional()
    })?;
    db.run("DELETE FROM large WHERE number = ?1", |s| s.execute([number]))?;
    Ok(size.unwrap_or(0))
}
