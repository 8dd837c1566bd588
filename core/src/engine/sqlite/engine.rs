//! The engine of one client: what its operations have in common.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::attempts::Attempts;
use super::database::Database;
use super::dropped::Sweeper;
use super::executor::{Executor, GRACE};
use super::location::Location;
use super::maintenance::Due;
use super::opening::Opening;
use super::reader::Reader;
use crate::clock::Clock;
use crate::engine::RequestId;
use crate::lock::lock;
use crate::name::QueueName;
use crate::options::ConnectOptions;
use crate::{Error, Result};

pub(crate) struct SqliteEngine {
    pub(super) timeout: Duration,
    closed: AtomicBool,
    /// The process that connected.
    process: u32,
    executor: Mutex<Option<Executor>>,
    pub(super) attempts: Attempts,
    pub(super) due: Due,
    pub(super) reader: Reader,
    pub(super) sweeper: Sweeper,
}

impl SqliteEngine {
    pub(crate) async fn connect(
        url: &str,
        mut options: ConnectOptions,
    ) -> Result<(SqliteEngine, ConnectOptions)> {
        let location = Location::parse(url, &mut options)?;
        let clock = options.clock.clone().unwrap_or_else(Clock::machine);
        let timeout = options.timeout;
        let (executor, opened) = Executor::start(Opening::new(location, clock, timeout));
        let opened = tokio::time::timeout(timeout + GRACE, opened).await;
        let late = |_| Error::unavailable("opening the database takes too long", false);
        opened.map_err(late)?.map_err(|_| Error::internal("no thread for the database"))??;
        let engine = SqliteEngine {
            timeout,
            closed: AtomicBool::new(false),
            process: std::process::id(),
            executor: Mutex::new(Some(executor)),
            attempts: Attempts::default(),
            due: Due::default(),
            reader: Reader::new(timeout),
            sweeper: Sweeper::default(),
        };
        Ok((engine, options))
    }

    /// Fails if the client is closed or belongs to another process.
    pub(super) fn executor(&self) -> Result<Executor> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        // A forked child does not have the thread.
        if self.process != std::process::id() {
            return Err(Error::of_parent());
        }
        lock(&self.executor).clone().ok_or_else(Error::closed)
    }

    pub(super) async fn end(&self) {
        self.closed.store(true, Ordering::Release);
        if self.process != std::process::id() {
            return;
        }
        let open = lock(&self.executor).take();
        if let Some(executor) = open {
            executor.close(self.timeout).await;
        }
    }

    /// When an operation that begins now times out.
    pub(super) fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Runs an operation on a batch, on this thread if possible. `size`: items, or KiB of data.
    pub(super) async fn write<I: Clone + Send + 'static, T: Send + 'static>(
        &self,
        queue: &QueueName,
        inputs: &[I],
        size: usize,
        request_id: &RequestId,
        operation: fn(&mut Database, &QueueName, &[I]) -> Result<T>,
    ) -> Result<T> {
        let executor = self.executor()?;
        let inline = |db: &mut Database| operation(db, queue, inputs);
        if let Some(done) = executor.try_run_inline(true, size, inline) {
            return done;
        }
        let (name, inputs) = (queue.clone(), inputs.to_vec());
        executor.run(true, request_id.until, move |db| operation(db, &name, &inputs)).await
    }

    /// The same for an operation that may make items ready.
    pub(super) async fn write_and_notify<I: Clone + Send + 'static, T: Send + 'static>(
        &self,
        queue: &QueueName,
        inputs: &[I],
        size: usize,
        request_id: &RequestId,
        operation: fn(&mut Database, &QueueName, &[I]) -> Result<T>,
    ) -> Result<T> {
        let done = self.write(queue, inputs, size, request_id, operation).await?;
        // The operation has succeeded even if the client was closed meanwhile.
        if let Ok(executor) = self.executor() {
            executor.notifier().changed(queue);
        }
        Ok(done)
    }

    /// Runs a cheap query, on this thread if possible.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        queue: &QueueName,
        until: Instant,
        operation: fn(&mut Database, &QueueName) -> Result<T>,
    ) -> Result<T> {
        let executor = self.executor()?;
        if let Some(done) = executor.try_run_inline(false, 1, |db| operation(db, queue)) {
            return done;
        }
        let name = queue.clone();
        executor.run(false, until, move |db| operation(db, &name)).await
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.executor()?.run(false, self.until(), work).await
    }

    /// Forgets what is kept in memory for a queue. Calls that wait for an item of it ask again.
    pub(super) fn forget(&self, queue: &QueueName) {
        self.attempts.forget(queue);
        self.due.forget(queue);
        if let Ok(executor) = self.executor() {
            executor.notifier().forget(queue);
        }
    }
}
