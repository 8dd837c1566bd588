//! Who runs an operation: its caller, if the database is free and the operation is short; else the
//! [`thread`](super::thread) of the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::database::Database;
use super::job::Job;
use super::news::News;
use super::opening::Opening;
use super::park;
use super::process::FILES;
use super::seat::Seat;
use super::thread::Thread;
use crate::{Error, Result};

/// An operation runs on its caller's thread if writes take less than this of late, in ns: for that
/// long a thread of a runtime may be held up. Where the disk is slower, the way to the thread does
/// not count beside it.
const SHORT: u64 = 1_000_000;
/// And if it is of no more items than this, and as many KiB of data.
const FEW: usize = 256;

pub(super) enum Message {
    Job(Job),
    /// Somebody waits for an item, or something was written to the log.
    Look,
    /// Nobody will send anything any more.
    End,
}

struct Messages(Sender<Message>);

impl Drop for Messages {
    fn drop(&mut self) {
        let _ = self.0.send(Message::End);
    }
}

/// Sends work to the thread. The thread ends when the last one of these is dropped.
#[derive(Clone)]
pub(super) struct Worker {
    messages: Arc<Messages>,
    shared: Arc<Shared>,
    ended: CancellationToken,
}

fn in_the_way(error: &Error) -> bool {
    error.kind().is_retryable() && !error.outcome_unknown()
}

/// What the thread and those who send to it know of each other.
pub(super) struct Shared {
    pub(super) seat: Arc<Seat>,
    pub(super) news: News,
    /// Operations sent to the thread that are not done.
    sent: AtomicUsize,
    /// How long a write takes of late, in ns.
    typical: AtomicU64,
}

impl Shared {
    /// Nothing is waited for but the disk. `None`: somebody else is in the way, or there is no room.
    fn run_now<T>(
        &self,
        database: &mut Database,
        writes: bool,
        work: impl FnOnce(&mut Database) -> Result<T>,
    ) -> Option<Result<T>> {
        let begun = Instant::now();
        if !writes {
            let done = database.read(begun, work);
            return Some(done).filter(|done| !matches!(done, Err(error) if in_the_way(error)));
        }
        if !database.try_turn() {
            return None;
        }
        let done = match database.begin_write(begun) {
            Ok(()) => {
                let mut done = work(database);
                let outcome = match &mut done {
                    Ok(_) => database.end_write(Ok(())),
                    Err(error) => database.end_write(Err(error.clone())),
                };
                Some(outcome.and(done))
            }
            // The thread has the patience.
            Err(error) if in_the_way(&error) => None,
            Err(error) => Some(Err(error)),
        };
        database.pass_turn();
        self.took(begun.elapsed());
        match done {
            Some(Err(error)) if !error.outcome_unknown() && database.make_room() => None,
            done => done,
        }
    }

    /// The job is done, or was not begun since its caller has given up.
    pub(super) fn done(&self, job: Job, outcome: Option<Result<()>>) {
        // Before its caller comes with the next one.
        self.sent.fetch_sub(1, Ordering::AcqRel);
        if let Some(outcome) = outcome {
            job.call.reply(outcome);
        }
    }

    pub(super) fn took(&self, time: Duration) {
        let before = self.typical.load(Ordering::Relaxed);
        let now = (time.as_nanos() as u64).min(u64::MAX / 16);
        self.typical.store((before * 7 + now) / 8, Ordering::Relaxed);
    }
}

impl Worker {
    /// Starts the thread, which opens the database; the answer says whether that went well.
    pub(super) fn start(opening: Opening) -> (Worker, oneshot::Receiver<Result<()>>) {
        let (messages, queue) = channel();
        let (opened, answer) = oneshot::channel();
        let ended = CancellationToken::new();
        let path = opening.location.path.clone();
        let file = path.is_some();
        let shared = Arc::new(Shared {
            seat: Seat::new(opening),
            news: News::default(),
            sent: AtomicUsize::new(0),
            typical: AtomicU64::new(0),
        });
        let (worker, guard) = (shared.clone(), ended.clone().drop_guard());
        let to_itself = messages.clone();
        let named = thread::Builder::new().name("leaseq-sqlite".into());
        let started = named.spawn(move || {
            let _guard = guard;
            park::register(&worker.seat);
            let mut thread = Thread::new(worker, queue, to_itself, path);
            // First of all: a parent may have the turn and wait for this child.
            let done = FILES.check(std::process::id(), file).and_then(|()| thread.open());
            let well = done.is_ok();
            let _ = opened.send(done);
            if well {
                thread.run();
            }
            thread.close();
        });
        // Without a thread, `opened` is dropped, which says the same.
        drop(started);
        (Worker { messages: Arc::new(Messages(messages)), shared, ended }, answer)
    }

    /// Ends the thread when nobody else uses it, and waits until the file is closed, but no longer
    /// than this: it may be waiting for a lock.
    pub(super) async fn close(self, within: Duration) {
        let ended = self.ended.clone();
        drop(self);
        let _ = tokio::time::timeout(within, ended.cancelled()).await;
    }

    pub(super) fn news(&self) -> &News {
        &self.shared.news
    }

    /// Runs `work` in a transaction on the caller's thread, if nobody is in the way and it is likely
    /// to be short. `None`: it was not run, and is for [`run`](Worker::run).
    pub(super) fn run_here<T>(
        &self,
        writes: bool,
        size: usize,
        work: impl FnOnce(&mut Database) -> Result<T>,
    ) -> Option<Result<T>> {
        let shared = &self.shared;
        // Who has waited for the thread has come first.
        let free = shared.sent.load(Ordering::Acquire) == 0;
        let short = shared.typical.load(Ordering::Relaxed) < SHORT;
        if !free || !short || size > FEW {
            return None;
        }
        shared.seat.try_use(|database| shared.run_now(database, writes, work)).flatten()
    }

    /// Runs `work` in a transaction before `until`; afterwards it is not begun any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        writes: bool,
        until: Instant,
        work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let claimed = Arc::new(AtomicBool::new(false));
        let (reply, mut answer) = oneshot::channel();
        let job = Job::new(writes, until, &claimed, reply, work);
        self.shared.sent.fetch_add(1, Ordering::AcqRel);
        self.messages.0.send(Message::Job(job)).map_err(|_| Error::closed())?;
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            () = tokio::time::sleep_until(until.into()) => {
                if !claimed.swap(true, Ordering::AcqRel) {
                    return Err(Error::unavailable("the database is busy", false));
                }
                // It has begun, and ends soon: its outcome is worth waiting for.
                answer.await
            }
        };
        answered.map_err(|_| Error::closed())?
    }

    /// Returns when the queue may have changed since `seen` was made.
    pub(super) async fn wait(&self, mut seen: watch::Receiver<u64>) {
        struct Waiting<'a>(&'a News);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.waiting.fetch_sub(1, Ordering::AcqRel);
            }
        }
        let first = self.shared.news.waiting.fetch_add(1, Ordering::AcqRel) == 0;
        let _waiting = Waiting(&self.shared.news);
        if first {
            // The thread may be asleep: from now on it looks for writes of others.
            let _ = self.messages.0.send(Message::Look);
        }
        let _ = seen.changed().await;
    }
}
