//! The embedded engine: SQLite, in a file shared by the processes of a machine, or in memory.
//!
//! A transaction either happens or not, and its outcome reaches the caller unless the process dies:
//! the stamps of the operations are not needed here.

mod add;
mod clean;
mod clock;
mod database;
mod due;
mod error;
mod files;
mod lease;
mod location;
mod look;
mod operate;
#[cfg(test)]
mod plans;
mod process;
mod row;
mod settle;
mod tally;
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
use self::worker::Worker;
use super::{Complete, Engine, Extend, Fail, Leased, Release, Stamp, Wanted};
use crate::clean::{Damage, DeepReport, LightReport};
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
}

/// The last look of a queue's calls for an item.
struct Looked {
    /// What the queue's count of changes was then.
    seen: watch::Receiver<u64>,
    /// There were fewer items than wanted: the next look is one that needs no lock.
    in_vain: bool,
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
        let (worker, opened) = start(&location, &clock, timeout);
        opened.await.map_err(|_| Error::internal("no thread for the database"))??;
        let engine = SqliteEngine {
            timeout,
            closed: AtomicBool::new(false),
            process: std::process::id(),
            worker: Mutex::new(Some(worker)),
            looked: Mutex::default(),
        };
        Ok((engine, options))
    }

    fn looked_in_vain(&self, queue: &QueueName) {
        if let Some(looked) = locked(&self.looked).get_mut(queue) {
            looked.in_vain = true;
        }
    }

    /// The thread that serves this process.
    fn worker(&self) -> Result<Worker> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        // The thread is not there in a child process.
        if self.process != std::process::id() {
            return Err(process::after_fork());
        }
        locked(&self.worker).clone().ok_or_else(Error::closed)
    }

    async fn write<T: Send + 'static>(
        &self,
        queue: &QueueName,
        stamp: &Stamp,
        work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let worker = self.worker()?;
        let done = worker.run(true, stamp.until, work).await?;
        worker.news().changed(queue);
        Ok(done)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.worker()?.run(false, Instant::now() + self.timeout, work).await
    }
}

fn start(
    location: &Location,
    clock: &clock::Source,
    timeout: Duration,
) -> (Worker, tokio::sync::oneshot::Receiver<Result<()>>) {
    let (location, clock) = (location.clone(), clock.clone());
    Worker::start(move || Database::open(&location, clock, timeout))
}

#[async_trait]
impl Engine for SqliteEngine {
    async fn open_queue(&self, _: &QueueName) -> Result<()> {
        // The format belongs to the file, and was checked when it was opened.
        Ok(())
    }

    async fn add(&self, queue: &QueueName, items: &[Item], stamp: &Stamp) -> Result<Vec<bool>> {
        let (name, items) = (queue.clone(), items.to_vec());
        self.write(queue, stamp, move |db| add::add(db, &name, &items)).await
    }

    async fn lease(
        &self,
        queue: &QueueName,
        wanted: &[Wanted],
        _patience: Duration,
        stamp: &Stamp,
    ) -> Result<Leased> {
        let worker = self.worker()?;
        let seen = worker.news().subscribe(queue);
        let before = locked(&self.looked).insert(queue.clone(), Looked { seen, in_vain: false });
        if before.is_none_or(|before| before.in_vain) {
            let name = queue.clone();
            let look = worker.run(false, stamp.until, move |db| lease::look(db, &name)).await?;
            if let Err(nothing) = look {
                self.looked_in_vain(queue);
                return Ok(nothing);
            }
        }
        let count: usize = wanted.iter().map(|wanted| wanted.count).sum();
        let (name, wanted) = (queue.clone(), wanted.to_vec());
        let work = move |db: &mut Database| lease::lease(db, &name, &wanted);
        let leased = worker.run(true, stamp.until, work).await?;
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
        let (name, leases) = (queue.clone(), leases.to_vec());
        self.worker()?.run(true, stamp.until, move |db| settle::complete(db, &name, &leases)).await
    }

    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        stamp: &Stamp,
    ) -> Result<Vec<Option<u64>>> {
        let (name, leases) = (queue.clone(), leases.to_vec());
        self.worker()?.run(true, stamp.until, move |db| settle::extend(db, &name, &leases)).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        stamp: &Stamp,
    ) -> Result<Vec<bool>> {
        let (name, leases) = (queue.clone(), leases.to_vec());
        self.write(queue, stamp, move |db| settle::release(db, &name, &leases)).await
    }

    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        stamp: &Stamp,
    ) -> Result<Vec<Option<State>>> {
        let (name, leases) = (queue.clone(), leases.to_vec());
        self.write(queue, stamp, move |db| settle::fail(db, &name, &leases)).await
    }

    async fn remove(&self, queue: &QueueName, ids: &[Bytes], stamp: &Stamp) -> Result<Vec<bool>> {
        let (name, ids) = (queue.clone(), ids.to_vec());
        self.worker()?.run(true, stamp.until, move |db| operate::remove(db, &name, &ids)).await
    }

    async fn requeue(&self, queue: &QueueName, ids: &[Bytes], stamp: &Stamp) -> Result<Vec<bool>> {
        let (name, ids) = (queue.clone(), ids.to_vec());
        self.write(queue, stamp, move |db| operate::requeue(db, &name, &ids)).await
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
        let name = queue.clone();
        let worker = self.worker()?;
        let look = worker.run(false, stamp.until, move |db| clean::anything_due(db, &name)).await?;
        if let Err(nothing) = look {
            return Ok((nothing, false));
        }
        let name = queue.clone();
        self.write(queue, stamp, move |db| clean::light_clean(db, &name)).await
    }

    async fn audit(&self, queue: &QueueName, mend: bool) -> Result<DeepReport> {
        let worker = self.worker()?;
        let until = || Instant::now() + self.timeout;
        let mut report = DeepReport::default();
        let mut from = Some(i64::MIN);
        while let Some(after) = from {
            let (name, so_far) = (queue.clone(), report.clone());
            let step = worker.run(mend, until(), move |db| {
                let mut report = so_far.clone();
                let next = clean::audit_items(db, &name, after, mend, &mut report)?;
                Ok((next, report))
            });
            (from, report) = step.await?;
        }
        let name = queue.clone();
        let wrong = worker.run(false, until(), move |db| clean::wrong_counts(db, &name)).await?;
        if let Some(by) = wrong {
            report.note(Damage::BadCount, 1, mend, format_args!("off by {by:?}"));
            if mend {
                let name = queue.clone();
                worker.run(true, until(), move |db| clean::correct_counts(db, &name, &by)).await?;
            }
        }
        let so_far = report;
        let find = move |mend: bool| {
            let so_far = so_far.clone();
            move |db: &mut Database| {
                let mut report = so_far.clone();
                clean::dangling_data(db, mend, &mut report)?;
                Ok(report)
            }
        };
        // The search takes a while: with the lock only if there is something to mend.
        let mut so_far = worker.run(false, until(), find(false)).await?;
        if mend && so_far.found.contains_key(&Damage::DanglingDetails) {
            so_far = worker.run(true, until(), find(true)).await?;
        }
        self.read(move |db| {
            let mut report = so_far.clone();
            clean::file_damage(db, &mut report)?;
            Ok(report)
        })
        .await
    }

    async fn set_paused(&self, queue: &QueueName, paused: bool) -> Result<()> {
        let name = queue.clone();
        let worker = self.worker()?;
        let until = Instant::now() + self.timeout;
        worker.run(true, until, move |db| operate::set_paused(db, &name, paused)).await?;
        worker.news().changed(queue);
        Ok(())
    }

    async fn counts(&self, queue: &QueueName) -> Result<Counts> {
        let name = queue.clone();
        self.read(move |db| look::counts(db, &name)).await
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
