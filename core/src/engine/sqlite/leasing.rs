//! Leasing on behalf of callers: an idle queue costs no writer lock, and leases that arrive too late go back.

use std::time::Instant;

use super::database::Database;
use super::engine::SqliteEngine;
use super::executor::{Executor, no_answer};
use super::{lease, settle};
use crate::Result;
use crate::engine::{Complete, LeaseRequest, Leased, LeasedItem, Release};
use crate::name::QueueName;

/// Which leases were completed, and what was leased.
type Done = (Vec<bool>, Leased);

impl SqliteEngine {
    pub(super) async fn lease_items(
        &self,
        queue: &QueueName,
        wanted: &[LeaseRequest],
        until: Instant,
    ) -> Result<Leased> {
        // If the queue was empty the last time, it first looks without the writer lock.
        if self.begin_attempt(queue)?.unwrap_or(true)
            && let Some(nothing) = self.query(queue, until, lease::peek).await?
        {
            self.attempts.fell_short(queue);
            return Ok(nothing);
        }
        let (executor, count) = (self.executor()?, count(wanted));
        let inline = |db: &mut Database| lease::lease(db, queue, wanted);
        let leased = match executor.try_run_inline(true, count, inline) {
            Some(leased) => leased?,
            None => {
                let (name, wanted) = (queue.clone(), wanted.to_vec());
                let work =
                    move |db: &mut Database| Ok((Vec::new(), lease::lease(db, &name, &wanted)?));
                self.lease_on_thread(executor, queue, until, work).await?.1
            }
        };
        if leased.items.len() < count || count == 0 {
            self.attempts.fell_short(queue);
        }
        Ok(leased)
    }

    pub(super) async fn complete_and_lease_items(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        wanted: &[LeaseRequest],
        until: Instant,
    ) -> Result<Done> {
        self.begin_attempt(queue)?;
        let (executor, count) = (self.executor()?, count(wanted));
        let inline = |db: &mut Database| complete_and_lease(db, queue, leases, wanted);
        let done = match executor.try_run_inline(true, settle::size(leases) + count, inline) {
            Some(done) => done?,
            None => {
                let (name, leases, wanted) = (queue.clone(), leases.to_vec(), wanted.to_vec());
                let work = move |db: &mut Database| complete_and_lease(db, &name, &leases, &wanted);
                self.lease_on_thread(executor, queue, until, work).await?
            }
        };
        if done.1.items.len() < count {
            self.attempts.fell_short(queue);
        }
        Ok(done)
    }

    /// Whether the previous attempt fell short; `None` if there was none.
    fn begin_attempt(&self, queue: &QueueName) -> Result<Option<bool>> {
        let changes = self.executor()?.notifier().subscribe(queue);
        Ok(self.attempts.begin(queue, changes))
    }

    /// Completes and leases on the thread. Releases what is leased after the caller has got an error.
    pub(super) async fn lease_on_thread(
        &self,
        executor: Executor,
        queue: &QueueName,
        until: Instant,
        work: impl FnMut(&mut Database) -> Result<Done> + Send + 'static,
    ) -> Result<Done> {
        let late = match executor.send(true, until, work).await {
            Ok(done) => return done,
            Err(late) => late,
        };
        let (queue, timeout) = (queue.clone(), self.timeout);
        tokio::spawn(async move {
            let Ok(Ok((_, leased))) = late.await else { return };
            let release = |item: LeasedItem| Release {
                token: item.token,
                id: item.id,
                delay_ms: 0,
                reason: None,
            };
            let leases: Vec<_> = leased.items.into_iter().map(release).collect();
            let name = queue.clone();
            let give_back = move |db: &mut Database| settle::release(db, &name, &leases);
            match executor.run(true, Instant::now() + timeout, give_back).await {
                Ok(_) => executor.notifier().changed(&queue),
                Err(error) => {
                    tracing::warn!(%queue, %error, "leases of a call that has failed will expire");
                }
            }
        });
        Err(no_answer(true))
    }
}

fn count(wanted: &[LeaseRequest]) -> usize {
    wanted.iter().map(|wanted| wanted.count).sum()
}

fn complete_and_lease(
    db: &mut Database,
    queue: &QueueName,
    leases: &[Complete],
    wanted: &[LeaseRequest],
) -> Result<Done> {
    Ok((settle::complete(db, queue, leases)?, lease::lease(db, queue, wanted)?))
}
