//! A second connection, with a thread of its own, for queries that read a whole queue or the whole file. It
//! reads one state of the database while others write, and blocks nobody. A fork interrupts it, and then it
//! begins again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};

use super::connection_slot::ConnectionSlot;
use super::database::Database;
use super::error::explain;
use super::executor::job::caught;
use super::executor::{Executor, GRACE};
use super::opening::Opening;
use super::process::forks;
use super::{audit, quiesce};
use crate::backoff::Backoff;
use crate::{Error, Result};

/// Beyond the time-out, a read may take one more second for each so many bytes of the file.
const BYTES_PER_SECOND: u64 = 16 << 20;
/// After how many steps of SQLite a statement checks whether its caller still waits.
const CHECK_EVERY: i32 = 10_000;
/// Longest pause after a fork.
const MAX_PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Reader {
    timeout: Duration,
    /// Limits the threads to one, even if the disk hangs and it never ends.
    free: Arc<Semaphore>,
}

/// Ends a read when its caller is dropped.
struct EndOnDrop {
    slot: Arc<ConnectionSlot>,
    over: Arc<AtomicBool>,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.slot.interrupt();
    }
}

/// An interrupt ends a statement that runs. This also ends statements that begin later.
fn end_when(db: &mut Database, over: &Arc<AtomicBool>) -> Result<()> {
    let over = over.clone();
    let is_over = move || over.load(Ordering::Acquire);
    let place = db.opening.location.describe();
    db.connection
        .progress_handler(CHECK_EVERY, Some(is_over))
        .map_err(|error| explain(&place, &error, false))
}

impl Reader {
    pub(super) fn new(timeout: Duration) -> Reader {
        Reader { timeout, free: Arc::new(Semaphore::new(1)) }
    }

    /// What SQLite finds wrong with the file; nothing in memory.
    pub(super) async fn file_damage(&self, executor: &Executor) -> Result<Vec<String>> {
        match self.opening(executor).await? {
            Some(opening) => self.read_apart(opening, audit::file_damage).await,
            None => Ok(Vec::new()),
        }
    }

    /// Runs `work` on one state of the database. In memory there is only one connection.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        executor: &Executor,
        mut work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self.opening(executor).await? {
            Some(opening) => self.read_apart(opening, work).await,
            None => executor.run(false, Instant::now() + self.timeout, move |db| work(db)).await,
        }
    }

    async fn opening(&self, executor: &Executor) -> Result<Option<Opening>> {
        let until = Instant::now() + self.timeout;
        executor.run(false, until, |db| Ok(db.opening_to_read())).await
    }

    async fn read_apart<T: Send + 'static>(
        &self,
        opening: Opening,
        mut work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let size = opening.location.path.as_ref().and_then(|path| std::fs::metadata(path).ok());
        let seconds = size.map_or(0, |file| file.len() / BYTES_PER_SECOND);
        let until = Instant::now() + self.timeout + Duration::from_secs(seconds);
        let too_long = || Error::unavailable("reading the whole file takes too long", false);
        let free = tokio::time::timeout_at(until.into(), self.free.clone().acquire_owned());
        let permit = free.await.map_err(|_| too_long())?.map_err(|_| Error::closed())?;
        let slot = ConnectionSlot::interruptible(opening);
        let over = Arc::new(AtomicBool::new(false));
        let _end = EndOnDrop { slot: slot.clone(), over: over.clone() };
        let (reply, answer) = oneshot::channel();
        let named = thread::Builder::new().name("leaseq-reader".into());
        let started = named.spawn(move || {
            let _permit = permit;
            quiesce::register(&slot);
            let mut backoff = Backoff::up_to(MAX_PAUSE);
            let done = loop {
                let before = forks();
                let done = slot.use_it(|db| {
                    end_when(db, &over)?;
                    db.read(until, |db| caught(|| work(db)))
                });
                let done = done.flatten();
                let again = done.is_err() && before != forks();
                if !again || over.load(Ordering::Acquire) || Instant::now() > until {
                    break done;
                }
                thread::sleep(backoff.pause());
            };
            slot.close();
            let _ = reply.send(done);
        });
        // If there is no thread, the sender `reply` is dropped, and the receiver fails.
        drop(started);
        let answer = tokio::time::timeout_at((until + GRACE).into(), answer).await;
        answer.map_err(|_| too_long())?.map_err(|_| Error::internal("no thread to read with"))?
    }
}
