//! Runs the operations of a client: on the thread of the caller if the database is idle and the operation is
//! short, otherwise on the [`thread`] of the database.

mod inbox;
pub(super) mod job;
mod shared;
#[cfg(test)]
mod tests;
mod thread;
mod thread_lock;
pub(super) mod waits;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Builder;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use self::job::Job;
use self::shared::Shared;
use self::thread::Thread;
use super::change_notifier::ChangeNotifier;
use super::database::Database;
use super::opening::Opening;
use super::process::FILES;
use super::quiesce;
use crate::{Error, Result};

/// Limit of an operation that runs on the thread of the caller: so many items, and as many KiB of data.
const MAX_INLINE_SIZE: usize = 256;

/// How much longer than its time-out a call waits for an operation that has begun, as when the disk hangs.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// Runs operations. The thread ends when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Executor {
    handle: Arc<Handle>,
    shared: Arc<Shared>,
    ended: CancellationToken,
}

/// Ends the thread when it is dropped.
struct Handle {
    shared: Arc<Shared>,
    /// A forked child has no thread, and a mutex may stay locked for ever.
    process: u32,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.shared.inbox.end();
            waits::leave(&self.shared);
        }
    }
}

/// The error for an operation that has begun and does not end.
pub(super) fn no_answer(writes: bool) -> Error {
    Error::unavailable("the database does not answer", writes)
}

/// A job that was sent. If its caller is dropped, the job is taken back, unless it has begun.
struct Sent<'a> {
    job: Arc<Job>,
    shared: &'a Shared,
    process: u32,
}

impl Sent<'_> {
    /// False if it has begun.
    fn take_back(&self) -> bool {
        let given_up = self.job.claim().is_some();
        if given_up {
            self.shared.pending.fetch_sub(1, Ordering::AcqRel);
            self.shared.inbox.given_up();
        }
        given_up
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        // A forked child has no thread, and a mutex may stay locked for ever.
        if self.process == std::process::id() {
            self.take_back();
        }
    }
}

impl Executor {
    /// Starts the thread, which opens the database and reports how that went.
    pub(super) fn start(opening: Opening) -> (Executor, oneshot::Receiver<Result<()>>) {
        let until = Instant::now() + opening.timeout;
        let (opened, answer) = oneshot::channel();
        let ended = CancellationToken::new();
        let path = opening.location.path.clone();
        let is_file = path.is_some();
        let shared = Shared::new(opening);
        let (of_thread, guard) = (shared.clone(), ended.clone().drop_guard());
        let started = Builder::new().name("leaseq-sqlite".into()).spawn(move || {
            let _guard = guard;
            quiesce::register(&of_thread.slot);
            let mut thread = Thread::new(of_thread, path);
            // Checked before anything else: a parent may hold the writer lock and wait for this child.
            let allowed = FILES.check(std::process::id(), is_file);
            let done = allowed.and_then(|()| thread.open(until, || opened.is_closed()));
            let is_open = done.is_ok();
            let _ = opened.send(done);
            if is_open {
                thread.run();
            }
            thread.close();
        });
        // If there is no thread, the sender `opened` is dropped, and the receiver fails.
        drop(started);
        let handle = Arc::new(Handle { shared: shared.clone(), process: std::process::id() });
        (Executor { handle, shared, ended }, answer)
    }

    /// Ends the thread when there is no other clone, and waits until the file is closed. It waits no longer
    /// than this, since the thread may be waiting for a lock.
    pub(super) async fn close(self, within: Duration) {
        let (ended, shared) = (self.ended.clone(), self.shared.clone());
        drop(self);
        if shared.is_blocked.load(Ordering::Acquire) {
            // No job has begun. The thread may end only when another process continues.
            shared.slot.try_close();
            return;
        }
        let _ = tokio::time::timeout(within, ended.cancelled()).await;
    }

    /// Reports the ends of items from now on, and writes of other processes.
    pub(super) fn endings(&self) -> watch::Receiver<u64> {
        self.shared.endings.subscribe()
    }

    pub(super) fn notifier(&self) -> &ChangeNotifier {
        &self.shared.notifier
    }

    /// Runs `work` in a transaction on this thread, if nothing is in the way and it is likely to be short.
    /// `None`: it had no effect, and [`run`](Executor::run) should run it. `size`: items, or KiB of data.
    pub(super) fn try_run_inline<T>(
        &self,
        writes: bool,
        size: usize,
        work: impl FnOnce(&mut Database) -> Result<T>,
    ) -> Option<Result<T>> {
        let shared = &self.shared;
        // Calls that wait for the thread came first.
        if !shared.is_idle() || !shared.writes_are_fast() || size > MAX_INLINE_SIZE {
            return None;
        }
        shared.slot.try_use(|database| shared.try_run(database, writes, work)).flatten()
    }

    /// Runs `work` in a transaction on the thread. It does not begin after `until`. If it has begun by then and
    /// does not end, its outcome is unknown.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        writes: bool,
        until: Instant,
        work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self.send(writes, until, work).await {
            Ok(done) => done,
            Err(_) => Err(no_answer(writes)),
        }
    }

    /// The same. If `work` has begun and does not end, the error is where its result may still arrive.
    pub(super) async fn send<T: Send + 'static>(
        &self,
        writes: bool,
        until: Instant,
        mut work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, oneshot::Receiver<Result<T>>> {
        if !writes
            && self.shared.is_blocked.load(Ordering::Acquire)
            && let Some(done) = self.try_read(&mut work)
        {
            return Ok(done);
        }
        let (reply, mut answer) = oneshot::channel();
        let job = Job::new(writes, until, reply, work);
        let shared = &*self.shared;
        shared.pending.fetch_add(1, Ordering::AcqRel);
        shared.inbox.send(job.clone());
        let sent = Sent { job, shared, process: self.handle.process };
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            () = tokio::time::sleep_until(until.into()) => {
                if sent.take_back() {
                    return Ok(Err(Error::unavailable("the database is busy", false)));
                }
                // It has begun. Its outcome is worth waiting for, but not for ever.
                match tokio::time::timeout_at((until + GRACE).into(), &mut answer).await {
                    Ok(answered) => answered,
                    Err(_) => return Err(answer),
                }
            }
        };
        Ok(answered.unwrap_or_else(|_| Err(Error::closed())))
    }

    /// Reads on this thread, while the other one waits for a process that does not keep readers out.
    fn try_read<T>(&self, work: impl FnOnce(&mut Database) -> Result<T>) -> Option<Result<T>> {
        let shared = &self.shared;
        let now = |db: &mut Database| shared.try_run(db, false, work);
        shared.is_idle().then(|| shared.slot.try_use(now)).flatten().flatten()
    }

    /// Returns when the queue may have changed since `seen` was created.
    pub(super) async fn wait(&self, mut seen: watch::Receiver<u64>) {
        struct Waiting<'a>(&'a ChangeNotifier);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.waiting.fetch_sub(1, Ordering::AcqRel);
            }
        }
        let is_first = self.shared.notifier.waiting.fetch_add(1, Ordering::AcqRel) == 0;
        let _waiting = Waiting(&self.shared.notifier);
        if is_first {
            // The thread may be asleep. From now on it checks for writes of other processes.
            self.shared.inbox.check();
        }
        let _ = seen.changed().await;
    }
}
