//! A second connection, with a thread of its own, for what reads a whole queue or the whole file in one
//! go. It reads one state of the database while others write the next ones, and is in nobody's way.
//! A fork interrupts it; it then begins again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};

use super::connection_slot::ConnectionSlot;
use super::database::Database;
use super::error::explain;
use super::job::caught;
use super::opening::Opening;
use super::worker::{GRACE, Worker};
use super::{audit, quiesce};
use crate::backoff::Backoff;
use crate::{Error, Result};

/// Beside the time-out, reading may take a second for each so many bytes of the file.
const BYTES_PER_SECOND: u64 = 16 << 20;
/// How many steps of SQLite's a statement takes between two looks whether anybody waits for it.
const LOOK_EVERY: i32 = 10_000;
/// Longest pause after a fork.
const MAX_PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Reader {
    timeout: Duration,
    /// One thread at a time, even if the disk hangs and it never ends.
    free: Arc<Semaphore>,
}

/// Ends the reading when nobody waits for it any more.
struct Ending {
    slot: Arc<ConnectionSlot>,
    over: Arc<AtomicBool>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.slot.interrupt();
    }
}

/// An interrupt ends what runs, this also what is yet to begin.
fn end_when(db: &mut Database, over: &Arc<AtomicBool>) -> Result<()> {
    let over = over.clone();
    let is_over = move || over.load(Ordering::Acquire);
    let place = db.opening.location.describe();
    db.connection
        .progress_handler(LOOK_EVERY, Some(is_over))
        .map_err(|error| explain(&place, &error, false))
}

impl Reader {
    pub(super) fn new(timeout: Duration) -> Reader {
        Reader { timeout, free: Arc::new(Semaphore::new(1)) }
    }

    /// What SQLite finds wrong with the file; in memory there is none.
    pub(super) async fn file_damage(&self, worker: &Worker) -> Result<Vec<String>> {
        match self.opening(worker).await? {
            Some(opening) => self.apart(opening, audit::file_damage).await,
            None => Ok(Vec::new()),
        }
    }

    /// Runs `work` on one state of the database; in memory there is but one connection.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        worker: &Worker,
        mut work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self.opening(worker).await? {
            Some(opening) => self.apart(opening, work).await,
            None => worker.run(false, Instant::now() + self.timeout, move |db| work(db)).await,
        }
    }

    async fn opening(&self, worker: &Worker) -> Result<Option<Opening>> {
        let until = Instant::now() + self.timeout;
        worker.run(false, until, |db| Ok(db.opening_to_read())).await
    }

    async fn apart<T: Send + 'static>(
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
        let _ending = Ending { slot: slot.clone(), over: over.clone() };
        let (reply, answer) = oneshot::channel();
        let named = thread::Builder::new().name("leaseq-reader".into());
        let started = named.spawn(move || {
            let _permit = permit;
            quiesce::register(&slot);
            let mut backoff = Backoff::up_to(MAX_PAUSE);
            let done = loop {
                let forks = quiesce::forks();
                let done = slot.use_it(|db| {
                    end_when(db, &over)?;
                    db.read(until, |db| caught(|| work(db)))
                });
                let done = done.flatten();
                let again = done.is_err() && forks != quiesce::forks();
                if !again || over.load(Ordering::Acquire) || Instant::now() > until {
                    break done;
                }
                thread::sleep(backoff.pause());
            };
            slot.end();
            let _ = reply.send(done);
        });
        // Without a thread, `reply` is dropped, which says the same.
        drop(started);
        let answer = tokio::time::timeout_at((until + GRACE).into(), answer).await;
        answer.map_err(|_| too_long())?.map_err(|_| Error::internal("no thread to read with"))?
    }
}
