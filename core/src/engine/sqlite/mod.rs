//! The embedded engine: SQLite, in a file shared by the processes of a machine, or in memory.
//!
//! A transaction either happens or not, and its outcome reaches the caller unless the process dies:
//! the stamps of the operations are not needed here.

mod add;
mod admin;
mod audit;
mod auditor;
mod change_notifier;
mod clean;
mod clock;
mod connection_slot;
mod count_delta;
mod database;
mod dropped;
mod due;
mod error;
mod files;
mod inbox;
mod job;
mod lease;
mod location;
mod maintenance;
mod mend;
mod opening;
#[cfg(test)]
mod plans;
mod process;
mod query;
mod quiesce;
mod reader;
mod row;
mod settle;
mod thread;
mod waits;
mod wal_probe;
mod wal_watcher;
mod worker;
mod writer_lock;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::watch;

use self::auditor::Auditor;
use self::database::Database;
use self::dropped::Sweeper;
use self::location::Location;
use self::opening::Opening;
use self::reader::Reader;
use self::worker::{GRACE, Worker, no_answer};
use super::{
    Complete, CompleteAndLeaseReply, Engine, Extend, Fail, LeaseRequest, Leased, LeasedItem,
    Release, RequestId, Turn,
};
use crate::access::Role;
use crate::clean::{DeepReport, LightReport};
use crate::doctor::Diagnosis;
use crate::item::{Counts, Cursor, Item, ItemInfo, Page, State};
use crate::name::{QueueName, QueueNames};
use crate::options::ConnectOptions;
use crate::{Error, Result};

pub(crate) struct SqliteEngine {
    timeout: Duration,
    closed: AtomicBool,
    /// The process that connected.
    process: u32,
    worker: Mutex<Option<Worker>>,
    looked: Mutex<HashMap<QueueName, Looked>>,
    due: maintenance::Due,
    reader: Reader,
    sweeper: Sweeper,
}

/// The last look of a queue's calls for an item.
struct Looked {
    /// What the queue's count of changes was then.
    seen: watch::Receiver<u64>,
    /// There were fewer items than wanted: the next look is one that needs no lock.
    in_vain: bool,
}

fn how_many(wanted: &[LeaseRequest]) -> usize {
    wanted.iter().map(|wanted| wanted.count).sum()
}

/// Completes and leases in one transaction.
fn both(
    db: &mut Database,
    queue: &QueueName,
    leases: &[Complete],
    wanted: &[LeaseRequest],
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
        let opened = tokio::time::timeout(timeout + GRACE, opened).await;
        let late = |_| Error::unavailable("opening the database takes too long", false);
        opened.map_err(late)?.map_err(|_| Error::internal("no thread for the database"))??;
        let engine = SqliteEngine {
            timeout,
            closed: AtomicBool::new(false),
            process: std::process::id(),
            worker: Mutex::new(Some(worker)),
            looked: Mutex::default(),
            due: maintenance::Due::default(),
            reader: Reader::new(timeout),
            sweeper: Sweeper::default(),
        };
        Ok((engine, options))
    }

    /// From now on changes of the queue are noticed. What is known of the look before.
    fn begin_look(&self, queue: &QueueName) -> Result<Option<Looked>> {
        let seen = self.worker()?.notifier().subscribe(queue);
        Ok(locked(&self.looked).insert(queue.clone(), Looked { seen, in_vain: false }))
    }

    fn looked_in_vain(&self, queue: &QueueName) {
        if let Some(looked) = locked(&self.looked).get_mut(queue) {
            looked.in_vain = true;
        }
    }

    /// What is kept in memory for a queue. Who waits for an item looks again.
    fn forget(&self, queue: &QueueName) {
        locked(&self.looked).remove(queue);
        self.due.forget(queue);
        if let Ok(worker) = self.worker() {
            worker.notifier().forget(queue);
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
        request_id: &RequestId,
        operation: fn(&mut Database, &QueueName, &[I]) -> Result<T>,
    ) -> Result<T> {
        let worker = self.worker()?;
        if let Some(done) = worker.run_here(true, size, |db| operation(db, queue, inputs)) {
            return done;
        }
        let (name, inputs) = (queue.clone(), inputs.to_vec());
        worker.run(true, request_id.until, move |db| operation(db, &name, &inputs)).await
    }

    /// Completes and leases on the thread. What is leased when nobody waits for it any more is given back.
    async fn lease_there(
        &self,
        worker: Worker,
        queue: &QueueName,
        until: Instant,
        work: impl FnMut(&mut Database) -> Result<(Vec<bool>, Leased)> + Send + 'static,
    ) -> Result<(Vec<bool>, Leased)> {
        let late = match worker.send(true, until, work).await {
            Ok(done) => return done,
            Err(late) => late,
        };
        let (queue, timeout) = (queue.clone(), self.timeout);
        tokio::spawn(async move {
            let Ok(Ok((_, leased))) = late.await else { return };
            let release = |item: LeasedItem| Release { token: item.token, delay_ms: 0 };
            let leases: Vec<_> = leased.items.into_iter().map(release).collect();
            let name = queue.clone();
            let give_back = move |db: &mut Database| settle::release(db, &name, &leases);
            match worker.run(true, Instant::now() + timeout, give_back).await {
                Ok(_) => worker.notifier().changed(&queue),
                Err(error) => {
                    tracing::warn!(%queue, %error, "leases of a call that was given up expire");
                }
            }
        });
        Err(no_answer(true))
    }

    /// The same for an operation that may make something ready.
    async fn write_and_tell<I: Clone + Send + 'static, T: Send + 'static>(
        &self,
        queue: &QueueName,
        inputs: &[I],
        size: usize,
        request_id: &RequestId,
        operation: fn(&mut Database, &QueueName, &[I]) -> Result<T>,
    ) -> Result<T> {
        let done = self.write(queue, inputs, size, request_id, operation).await?;
        // What was executed is told also if the client was closed meanwhile.
        if let Ok(worker) = self.worker() {
            worker.notifier().changed(queue);
        }
        Ok(done)
    }

    /// Looks; cheap looks are had on the caller's thread.
    async fn query<T: Send + 'static>(
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
    fn min_batch(&self) -> usize {
        usize::MAX
    }

    /// It may look first.
    fn leases_in_one_step(&self) -> bool {
        false
    }

    /// Each is one transaction.
    fn undoes_failures(&self) -> bool {
        true
    }

    async fn open_queue(&self, _: &QueueName) -> Result<()> {
        // The format belongs to the file, and was checked when it was opened.
        Ok(())
    }

    async fn add(
        &self,
        queue: &QueueName,
        items: &[Item],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        let size = items.iter().map(|item| 1 + item.data.len() / 1_024).sum();
        self.write_and_tell(queue, items, size, request_id, add::add).await
    }

    async fn lease(
        &self,
        queue: &QueueName,
        wanted: &[LeaseRequest],
        _poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<Leased> {
        let before = self.begin_look(queue)?;
        if before.is_none_or(|before| before.in_vain)
            && let Err(nothing) = self.query(queue, request_id.until, lease::look).await?
        {
            self.looked_in_vain(queue);
            return Ok(nothing);
        }
        let (worker, count) = (self.worker()?, how_many(wanted));
        let leased = match worker.run_here(true, count, |db| lease::lease(db, queue, wanted)) {
            Some(done) => done?,
            None => {
                let (name, wanted) = (queue.clone(), wanted.to_vec());
                let there =
                    move |db: &mut Database| Ok((Vec::new(), lease::lease(db, &name, &wanted)?));
                self.lease_there(worker, queue, request_id.until, there).await?.1
            }
        };
        if leased.items.len() < count {
            self.looked_in_vain(queue);
        }
        Ok(leased)
    }

    async fn complete(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.write(queue, leases, leases.len(), request_id, settle::complete).await
    }

    async fn complete_and_lease(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        wanted: &[LeaseRequest],
        _poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<CompleteAndLeaseReply> {
        self.begin_look(queue)?;
        let (worker, count) = (self.worker()?, how_many(wanted));
        let here = |db: &mut Database| both(db, queue, leases, wanted);
        let done = match worker.run_here(true, leases.len() + count, here) {
            Some(done) => done,
            None => {
                let (name, leases, wanted) = (queue.clone(), leases.to_vec(), wanted.to_vec());
                let there = move |db: &mut Database| both(db, &name, &leases, &wanted);
                self.lease_there(worker, queue, request_id.until, there).await
            }
        };
        let (completed, leased) = done?;
        if leased.items.len() < count {
            self.looked_in_vain(queue);
        }
        Ok(CompleteAndLeaseReply { completed, leased: Ok(leased) })
    }

    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        request_id: &RequestId,
    ) -> Result<Vec<Option<u64>>> {
        self.write(queue, leases, leases.len(), request_id, settle::extend).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.write_and_tell(queue, leases, leases.len(), request_id, settle::release).await
    }

    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        request_id: &RequestId,
    ) -> Result<Vec<Option<State>>> {
        self.write_and_tell(queue, leases, leases.len(), request_id, settle::fail).await
    }

    async fn remove(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.write(queue, ids, ids.len(), request_id, admin::remove).await
    }

    async fn requeue(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.write_and_tell(queue, ids, ids.len(), request_id, admin::requeue).await
    }

    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        request_id: &RequestId,
    ) -> Result<(u64, u64)> {
        let name = queue.clone();
        self.worker()?
            .run(true, request_id.until, move |db| admin::purge(db, &name, state, limit))
            .await
    }

    async fn light_clean(
        &self,
        queue: &QueueName,
        request_id: &RequestId,
    ) -> Result<(LightReport, bool)> {
        let (worker, name) = (self.worker()?, queue.clone());
        // Whoever was dropping a queue may have died: each step of a clean takes one of that as well.
        let swept = self.sweeper.try_step(&worker, request_id.until).await;
        if let Err(nothing) = self.query(queue, request_id.until, clean::anything_due).await? {
            return Ok((nothing, swept));
        }
        let clean = move |db: &mut Database| clean::light_clean(db, &name);
        let (report, more) = worker.run(true, request_id.until, clean).await?;
        worker.notifier().changed(queue);
        Ok((report, more || swept))
    }

    async fn audit(&self, queue: &QueueName, mend: bool, pace: u32) -> Result<DeepReport> {
        let (worker, reader, sweeper) = (&self.worker()?, &self.reader, &self.sweeper);
        Auditor { worker, reader, sweeper, timeout: self.timeout, queue, mend, pace }.audit().await
    }

    async fn next_due(&self, queue: &QueueName, _rest: Duration) -> Result<Option<Duration>> {
        self.due.looks(queue);
        let name = queue.clone();
        self.read(move |db| maintenance::next_due(db, &name)).await
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
        self.worker()?.run(true, until, move |db| maintenance::deep_turn(db, &name, turn)).await
    }

    async fn missing_rights(&self, _: &QueueName, _: Role) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    async fn diagnose(&self) -> Result<Diagnosis> {
        self.read(maintenance::diagnose).await
    }

    async fn set_paused(&self, queue: &QueueName, paused: bool) -> Result<()> {
        let (worker, name) = (self.worker()?, queue.clone());
        let pause = move |db: &mut Database| admin::set_paused(db, &name, paused);
        worker.run(true, self.until(), pause).await?;
        worker.notifier().changed(queue);
        Ok(())
    }

    async fn counts(&self, queue: &QueueName) -> Result<Counts> {
        self.query(queue, self.until(), query::counts).await
    }

    async fn get(&self, queue: &QueueName, id: &[u8]) -> Result<Option<ItemInfo>> {
        let (name, id) = (queue.clone(), id.to_vec());
        self.read(move |db| query::get(db, &name, &id)).await
    }

    async fn list(
        &self,
        queue: &QueueName,
        state: State,
        cursor: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page> {
        let (name, cursor) = (queue.clone(), cursor.cloned());
        self.read(move |db| query::list(db, &name, state, cursor.as_ref(), limit)).await
    }

    async fn drop_queue(&self, queue: &QueueName) -> Result<bool> {
        let worker = self.worker()?;
        let name = queue.clone();
        // The one that is there now: another that gets its name meanwhile is not touched.
        let found = self.read(move |db| db.queue(&name)).await?;
        let Some(number) = found else { return Ok(false) };
        let name = queue.clone();
        worker.run(true, self.until(), move |db| dropped::detach(db, &name, number)).await?;
        self.forget(queue);
        loop {
            match self.sweeper.step(&worker, self.until()).await {
                Ok(true) => {}
                Ok(false) => return Ok(true),
                Err(error) => {
                    tracing::warn!(%queue, %error, "dropped; the next clean deletes what is left of it");
                    return Ok(true);
                }
            }
        }
    }

    async fn queues(&self) -> Result<QueueNames> {
        let found = self.read(query::queues).await?;
        let is_name = |name: &String| QueueName::new(name).is_ok();
        let (names, strange): (Vec<_>, Vec<_>) = found.into_iter().partition(is_name);
        Ok(QueueNames { names, skipped: strange.len() as u64 })
    }

    async fn wait(&self, queue: &QueueName) {
        let seen = locked(&self.looked).get(queue).map(|looked| looked.seen.clone());
        match (self.worker(), seen) {
            (Ok(worker), Some(seen)) => worker.wait(seen).await,
            // Forgotten since it looked: it looks again.
            (Ok(_), None) => {}
            // Closed, which the caller notices by itself.
            (Err(_), _) => std::future::pending().await,
        }
    }

    async fn retire(&self, queue: &QueueName, _: &[Arc<str>]) -> Result<()> {
        self.forget(queue);
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

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc;

    use leaseq_test_support::eventually;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_reading_that_was_given_up_between_two_statements_ends() {
        const LONG: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT
            1000000000) SELECT count(*) FROM n";
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("queue.db").display());
        let (engine, _) = SqliteEngine::connect(&url, ConnectOptions::default()).await.unwrap();
        let worker = engine.worker().unwrap();
        let (end, ended) = mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let mut begin = Some(begin);
        let long = move |db: &mut Database| {
            begin.take().map(|begin| begin.send(()));
            let _ = ended.recv();
            db.run(LONG, |s| s.query_row([], |row| row.get::<_, i64>(0)))
        };
        tokio::select! {
            read = engine.reader.read(&worker, long) => panic!("it was not held up: {read:?}"),
            begun = begun => begun.unwrap(),
        }
        drop(end);
        engine.reader.read(&worker, |_| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn what_was_executed_is_told_though_the_client_is_closed_meanwhile() {
        let (engine, _) =
            SqliteEngine::connect("memory:", ConnectOptions::default()).await.unwrap();
        let queue = QueueName::new("jobs").unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let request_id =
            RequestId { lane: "lane".into(), number: 1, until, late_copy: Default::default() };
        let (end, ended) = mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let mut begin = Some(begin);
        let worker = engine.worker().unwrap();
        let hanging = tokio::spawn(async move {
            let hang = move |_: &mut Database| {
                begin.take().map(|begin| begin.send(()));
                let _ = ended.recv();
                Ok(())
            };
            worker.run(false, until, hang).await
        });
        begun.await.unwrap();
        let items = [Item::new("a")];
        let mut add = pin!(engine.add(&queue, &items, &request_id));
        let mut close = pin!(engine.close());
        // Each is polled once: the item is on its way, and then the client is closed.
        tokio::select! {
            biased;
            added = &mut add => panic!("it was not held up: {added:?}"),
            () = &mut close => panic!("it did not wait for the item"),
            () = std::future::ready(()) => {}
        }
        drop(end);
        let (added, ()) = tokio::join!(add, close);
        assert_eq!(added.unwrap(), [true]);
        hanging.await.unwrap().unwrap();
    }

    /// As when the disk hangs.
    #[tokio::test]
    async fn what_is_leased_too_late_is_given_back() {
        let url = "memory:?timeout_ms=100";
        let (engine, _) = SqliteEngine::connect(url, ConnectOptions::default()).await.unwrap();
        let queue = QueueName::new("jobs").unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let request_id =
            RequestId { lane: "lane".into(), number: 1, until, late_copy: Default::default() };
        engine.add(&queue, &[Item::new("a"), Item::new("b")], &request_id).await.unwrap();
        let (end, ended) = mpsc::channel::<()>();
        let name = queue.clone();
        let hanging = move |db: &mut Database| {
            let _ = ended.recv();
            let wanted = [LeaseRequest { count: 2, duration_ms: 3_600_000 }];
            Ok((Vec::new(), lease::lease(db, &name, &wanted)?))
        };
        let until = Instant::now() + Duration::from_millis(100);
        let error = engine.lease_there(engine.worker().unwrap(), &queue, until, hanging).await;
        assert!(error.unwrap_err().outcome_unknown());
        drop(end);
        let given_back = async || {
            let counts = engine.counts(&queue).await.unwrap_or_default();
            (counts.ready, counts.leased, counts.totals.leased) == (2, 0, 2)
        };
        assert!(eventually(Duration::from_secs(20), given_back).await);
    }
}
