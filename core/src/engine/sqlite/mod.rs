//! The embedded engine: SQLite, in a file shared by the processes of a machine, or in memory.
//!
//! A transaction either happens or not, and its outcome reaches the caller unless the process dies:
//! the stamps of the operations are not needed here.

mod add;
mod audit;
mod clean;
mod clock;
mod database;
mod due;
mod error;
mod files;
mod job;
mod lease;
mod location;
mod log;
mod log_watch;
mod look;
mod news;
mod opening;
mod operate;
mod park;
#[cfg(test)]
mod plans;
mod process;
mod row;
mod seat;
mod settle;
mod tally;
mod tend;
mod thread;
mod turn;
mod worker;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::watch;

use self::database::Database;
use self::location::Location;
use self::opening::Opening;
pub(crate) use self::park::{
    after_in_child as after_fork_in_child, after_in_parent as after_fork_in_parent,
    before as before_fork,
};
use self::worker::Worker;
use super::{BothHalves, Complete, Engine, Extend, Fail, Leased, Release, Stamp, Turn, Wanted};
use crate::access::Role;
use crate::clean::{DeepReport, LightReport};
use crate::doctor::Diagnosis;
use crate::item::{Counts, Cursor, Item, ItemInfo, Page, State};
use crate::name::QueueName;
use crate::options::ConnectOptions;
use crate::{Error, Result};

pub(crate) struct SqliteEngine {
    timeout: Duration,
    closed: AtomicBool,
    /// The process that connected.
    process: u32,
    worker: Mutex<Option<Worker>>,
    looked: Mutex<HashMap<QueueName, Looked>>,
    due: tend::Due,
}

/// The last look of a queue's calls for an item.
struct Looked {
    /// What the queue's count of changes was then.
    seen: watch::Receiver<u64>,
    /// There were fewer items than wanted: the next look is one that needs no lock.
    in_vain: bool,
}

fn how_many(wanted: &[Wanted]) -> usize {
    wanted.iter().map(|wanted| wanted.count).sum()
}

/// Completes and leases in one transaction.
fn both(
    db: &mut Database,
    queue: &QueueName,
    leases: &[Complete],
    wanted: &[Wanted],
) -> Result<(Vec<bool>, Leased)> {
    Ok((settle::complete(db, queue, leases)?, lease::lease(db, queue, wanted)?))
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SqliteEngine {
    pub(crate) async fn connect(
        url: &str,
        mut options: ConnectOptions,
    ) -> Result<(SqliteEngine, ConnectOptions)> {
        let location = Location::parse(url, &mut options)?;
        #[cfg(feature = "testing")]
        let clock = options
            .clock
            .clone()
            .map_or_else(|| Arc::new(clock::machine) as clock::Source, |clock| clock.0);
        #[cfg(not(feature = "testing"))]
        let clock: clock::Source = Arc::new(clock::machine);
        let timeout = options.timeout;
        let (worker, opened) = Worker::start(Opening::new(location, clock, timeout));
        opened.await.map_err(|_| Error::internal("no thread for the database"))??;
        let engine = SqliteEngine {
            timeout,
            closed: AtomicBool::new(false),
            process: std::process::id(),
            worker: Mutex::new(Some(worker)),
            looked: Mutex::default(),
            due: tend::Due::default(),
        };
        Ok((engine, options))
    }

    /// From now on changes of the queue are noticed. What is known of the look before.
    fn begin_look(&self, queue: &QueueName) -> Result<Option<Looked>> {
        let seen = self.worker()?.news().subscribe(queue);
        Ok(locked(&self.looked).insert(queue.clone(), Looked { seen, in_vain: false }))
    }

    fn looked_in_vain(&self, queue: &QueueName) {
        if let Some(looked) = locked(&self.looked).get_mut(queue) {
            looked.in_vain = true;
        }
    }

    /// What serves this process.
    fn worker(&self) -> Result<Worker> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        // The thread is not there in a child process.
        if self.process != std::process::id() {
            return Err(process::of_parent());
        }
        locked(&self.worker).clone().ok_or_else(Error::closed)
    }

    /// Runs one operation on a batch, on the caller's thread if that can be.
    async fn write<I: Clone + Send + 'static, T: Send + 'static>(
        &self,
        queue: &QueueName,
        inputs: &[I],
        size: usize,
        stamp: &Stamp,
        operation: fn(&mut Database, &QueueName, &[I]) -> Result<T>,
    ) -> Result<T> {
        let worker = self.worker()?;
        if let Some(done) = worker.run_here(true, size, |db| operation(db, queue, inputs)) {
            return done;
        }
        let (name, inputs) = (queue.clone(), inputs.to_vec());
        worker.run(true, stamp.until, move |db| operation(db, &name, &inputs)).await
    }

    /// The same for an operation that may make something ready.
    async fn write_and_tell<I: Clone + Send + 'static, T: Send + 'static>(
        &self,
        queue: &QueueName,
        inputs: &[I],
        size: usize,
        stamp: &Stamp,
        operation: fn(&mut Database, &QueueName, &[I]) -> Result<T>,
    ) -> Result<T> {
        let done = self.write(queue, inputs, size, stamp, operation).await?;
        self.worker()?.news().changed(queue);
        Ok(done)
    }

    /// Looks; cheap looks are had on the caller's thread.
    async fn look<T: Send + 'static>(
        &self,
        queue: &QueueName,
        until: Instant,
        operation: fn(&mut Database, &QueueName) -> Result<T>,
    ) -> Result<T> {
        let worker = self.worker()?;
        if let Some(done) = worker.run_here(false, 1, |db| operation(db, queue)) {
            return done;
        }
        let name = queue.clone();
        worker.run(false, until, move |db| operation(db, &name)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.worker()?.run(false, self.until(), work).await
    }

    fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }
}

#[async_trait]
impl Engine for SqliteEngine {
    /// None are: each request is a transaction, and the disk is waited for once in each.
    fn worth_a_request(&self) -> usize {
        usize::MAX
    }

    async fn open_queue(&self, _: &QueueName) -> Result<()> {
        // The format belongs to the file, and was checked when it was opened.
        Ok(())
    }

    async fn add(&self, queue: &QueueName, items: &[Item], stamp: &Stamp) -> Result<Vec<bool>> {
        let size = items.iter().map(|item| 1 + item.data.len() / 1_024).sum();
        self.write_and_tell(queue, items, size, stamp, add::add).await
    }

    async fn lease(
        &self,
        queue: &QueueName,
        wanted: &[Wanted],
        _patience: Duration,
        stamp: &Stamp,
    ) -> Result<Leased> {
        let before = self.begin_look(queue)?;
        if before.is_none_or(|before| before.in_vain)
            && let Err(nothing) = self.look(queue, stamp.until, lease::look).await?
        {
            self.looked_in_vain(queue);
            return Ok(nothing);
        }
        let count = how_many(wanted);
        let leased = self.write(queue, wanted, count, stamp, lease::lease).await?;
        if leased.items.len() < count {
            self.looked_in_vain(queue);
        }
        Ok(leased)
    }

    async fn complete(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        stamp: &Stamp,
    ) -> Result<Vec<bool>> {
        self.write(queue, leases, leases.len(), stamp, settle::complete).await
    }

    async fn complete_and_lease(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        wanted: &[Wanted],
        _patience: Duration,
        stamp: &Stamp,
    ) -> Result<BothHalves> {
        self.begin_look(queue)?;
        let (worker, count) = (self.worker()?, how_many(wanted));
        let here = |db: &mut Database| both(db, queue, leases, wanted);
        let done = match worker.run_here(true, leases.len() + count, here) {
            Some(done) => done,
            None => {
                let (name, leases, wanted) = (queue.clone(), leases.to_vec(), wanted.to_vec());
                let there = move |db: &mut Database| both(db, &name, &leases, &wanted);
                worker.run(true, stamp.until, there).await
            }
        };
        let (completed, leased) = done?;
        if leased.items.len() < count {
            self.looked_in_vain(queue);
        }
        Ok(BothHalves { completed, leased: Ok(leased) })
    }

    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        stamp: &Stamp,
    ) -> Result<Vec<Option<u64>>> {
        self.write(queue, leases, leases.len(), stamp, settle::extend).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        stamp: &Stamp,
    ) -> Result<Vec<bool>> {
        self.write_and_tell(queue, leases, leases.len(), stamp, settle::release).await
    }

    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        stamp: &Stamp,
    ) -> Result<Vec<Option<State>>> {
        self.write_and_tell(queue, leases, leases.len(), stamp, settle::fail).await
    }

    async fn remove(&self, queue: &QueueName, ids: &[Bytes], stamp: &Stamp) -> Result<Vec<bool>> {
        self.write(queue, ids, ids.len(), stamp, operate::remove).await
    }

    async fn requeue(&self, queue: &QueueName, ids: &[Bytes], stamp: &Stamp) -> Result<Vec<bool>> {
        self.write_and_tell(queue, ids, ids.len(), stamp, operate::requeue).await
    }

    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        stamp: &Stamp,
    ) -> Result<(u64, u64)> {
        let name = queue.clone();
        self.worker()?
            .run(true, stamp.until, move |db| operate::purge(db, &name, state, limit))
            .await
    }

    async fn light_clean(&self, queue: &QueueName, stamp: &Stamp) -> Result<(LightReport, bool)> {
        if let Err(nothing) = self.look(queue, stamp.until, clean::anything_due).await? {
            return Ok((nothing, false));
        }
        let (worker, name) = (self.worker()?, queue.clone());
        let done = worker.run(true, stamp.until, move |db| clean::light_clean(db, &name)).await?;
        worker.news().changed(queue);
        Ok(done)
    }

    async fn audit(&self, queue: &QueueName, mend: bool, pace: u32) -> Result<DeepReport> {
        audit::audit(&self.worker()?, self.timeout, queue, mend, pace).await
    }

    async fn next_due(&self, queue: &QueueName, _rest: Duration) -> Result<Option<Duration>> {
        self.due.looks(queue);
        let name = queue.clone();
        self.read(move |db| tend::next_due(db, &name)).await
    }

    async fn wait_due(&self, queue: &QueueName) {
        match self.worker() {
            Ok(worker) => self.due.wait(&worker, queue).await,
            // Closed, which the caller notices by itself.
            Err(_) => std::future::pending().await,
        }
    }

    async fn deep_turn(&self, queue: &QueueName, turn: Turn) -> Result<Duration> {
        let name = queue.clone();
        let until = Instant::now() + self.timeout;
        self.worker()?.run(true, until, move |db| tend::deep_turn(db, &name, turn)).await
    }

    async fn missing_rights(&self, _: &QueueName, _: Role) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    async fn diagnose(&self) -> Result<Diagnosis> {
        self.read(tend::diagnose).await
    }

    async fn set_paused(&self, queue: &QueueName, paused: bool) -> Result<()> {
        let (worker, name) = (self.worker()?, queue.clone());
        let pause = move |db: &mut Database| operate::set_paused(db, &name, paused);
        worker.run(true, self.until(), pause).await?;
        worker.news().changed(queue);
        Ok(())
    }

    async fn counts(&self, queue: &QueueName) -> Result<Counts> {
        self.look(queue, self.until(), look::counts).await
    }

    async fn get(&self, queue: &QueueName, id: &[u8]) -> Result<Option<ItemInfo>> {
        let (name, id) = (queue.clone(), id.to_vec());
        self.read(move |db| look::get(db, &name, &id)).await
    }

    async fn list(
        &self,
        queue: &QueueName,
        state: State,
        cursor: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page> {
        let (name, cursor) = (queue.clone(), cursor.cloned());
        self.read(move |db| look::list(db, &name, state, cursor.as_ref(), limit)).await
    }

    async fn queues(&self) -> Result<Vec<String>> {
        self.read(look::queues).await
    }

    async fn wait(&self, queue: &QueueName) {
        let seen = locked(&self.looked).get(queue).map(|looked| looked.seen.clone());
        match (self.worker(), seen) {
            (Ok(worker), Some(seen)) => worker.wait(seen).await,
            // Closed, which the caller notices by itself.
            _ => std::future::pending().await,
        }
    }

    async fn retire(&self, _: &QueueName, _: &[Arc<str>]) -> Result<()> {
        Ok(())
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if self.process != std::process::id() {
            return;
        }
        let open = locked(&self.worker).take();
        if let Some(worker) = open {
            worker.close(self.timeout).await;
        }
    }
}
