//! Who runs an operation: its caller, if the database is free and the operation is short; else a
//! thread, for which those that wait at the same time share a transaction, and so a commit. While
//! somebody waits for an item, the thread also looks whether another process has written: when the
//! kernel says that something was, and for a while after that.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::database::Database;
use super::job::Job;
use super::log::Log;
use super::log_watch::Watch;
use super::news::News;
use super::opening::Opening;
use super::park;
use super::process::FILES;
use super::seat::Seat;
use super::turn::Turns;

use crate::{Error, Result};

/// Operations that share a transaction at most.
const MAX_SHARED: usize = 64;
/// An operation runs on its caller's thread if writes take less than this of late, in ns: for that
/// long a thread of a runtime may be held up. Where the disk is slower, the way to the thread does
/// not count beside it.
const SHORT: u64 = 1_000_000;
/// And if it is of no more items than this, and as many KiB of data.
const FEW: usize = 256;
/// How often to look for writes of other processes, while anybody waits: where the kernel has no news
/// of them, and after a write, which is there for others only later.
const LOOK_EVERY: Duration = Duration::from_millis(8);
/// And where the kernel tells.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);

enum Message {
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

struct Shared {
    seat: Arc<Seat>,
    news: News,
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
    fn done(&self, job: Job, outcome: Option<Result<()>>) {
        // Before its caller comes with the next one.
        self.sent.fetch_sub(1, Ordering::AcqRel);
        if let Some(outcome) = outcome {
            job.call.reply(outcome);
        }
    }

    fn took(&self, time: Duration) {
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
            let log = path.as_deref().map(Log::new);
            let mut thread = Thread {
                shared: worker,
                queue,
                to_itself,
                turns: Turns::new(path),
                log,
                watch: OnceCell::new(),
                watched: false,
                look_in: LOOK_EVERY,
                ending: false,
            };
            // First of all: a parent may have the turn and wait for this child.
            let done = FILES
                .check(std::process::id(), file)
                .and_then(|()| thread.turns.with(&thread.shared.seat, |_| ()));
            let well = done.is_ok();
            let _ = opened.send(done);
            if well {
                thread.run();
            }
            thread.shared.seat.end();
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

struct Thread {
    shared: Arc<Shared>,
    queue: Receiver<Message>,
    to_itself: Sender<Message>,
    turns: Turns,
    /// `None` in memory, where there are no others.
    log: Option<Log>,
    /// Made when somebody waits for the first time. `None` in it: the kernel has no news.
    watch: OnceCell<Option<Watch>>,
    /// The kernel was asked for news of the log, and none has come.
    watched: bool,
    look_in: Duration,
    ending: bool,
}

impl Thread {
    fn run(&mut self) {
        while !self.ending {
            let first = if self.looks() {
                self.queue.recv_timeout(self.look_in)
            } else {
                self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            // It may be the kernel's news, or that may have come with it.
            self.watched &= first.is_err();
            match first {
                Ok(Message::Job(job)) if job.writes => self.write(job),
                Ok(Message::Job(job)) => self.read(job),
                Ok(Message::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.looks() {
                self.look_for_others();
            }
        }
    }

    fn looks(&self) -> bool {
        self.log.is_some() && self.shared.news.waiting.load(Ordering::Acquire) > 0
    }

    fn look_for_others(&mut self) {
        let Some(log) = &mut self.log else { return };
        self.look_in = LOOK_EVERY;
        if log.may_have_changed() {
            self.watched = false;
            if let Ok(true) = self.shared.seat.use_it(Database::others_wrote) {
                self.shared.news.all_changed();
            }
        } else if self.watched {
            self.look_in = LOOK_AT_LEAST_EVERY;
        } else {
            // What was written until now is found by one more look.
            let told = self.to_itself.clone();
            let tell = move || {
                let _ = told.send(Message::Look);
            };
            let watch = self.watch.get_or_init(|| Watch::start(log.path(), tell));
            self.watched = watch.as_ref().is_some_and(Watch::ask);
        }
    }

    fn read(&self, mut job: Job) {
        let outcome = job.claim().then(|| {
            let run = |database: &mut Database| database.read(job.until, |db| job.call.run(db));
            self.shared.seat.use_it(run).flatten()
        });
        self.shared.done(job, outcome);
    }

    /// Runs this job, and with it every other one that has come by the time it may write.
    fn write(&mut self, first: Job) {
        if first.claimed.load(Ordering::Acquire) {
            return self.shared.done(first, None);
        }
        let (queue, shared) = (&self.queue, &self.shared);
        let (mut waiting, mut reads, mut ending) = (Some(first), Vec::new(), false);
        let written = self.turns.with(&shared.seat, |database| {
            let Some(first) = waiting.take() else { return Vec::new() };
            // As long as this takes, callers may still give up.
            if let Err(error) = database.begin_write(first.until) {
                let outcome = first.claim().then_some(Err(error));
                return vec![(first, outcome)];
            }
            let begun = Instant::now();
            let (mut jobs, mut gone) = (Vec::new(), Vec::new());
            let mut sort = |job: Job| {
                if job.claim() { jobs.push(job) } else { gone.push((job, None)) }
            };
            sort(first);
            for _ in 1..MAX_SHARED {
                match queue.try_recv() {
                    Ok(Message::Job(job)) if job.writes => sort(job),
                    Ok(Message::Job(job)) => reads.push(job),
                    Ok(Message::Look) => {}
                    Ok(Message::End) => ending = true,
                    Err(_) => break,
                }
            }
            gone.extend(run_together(database, jobs));
            shared.took(begun.elapsed());
            gone
        });
        self.ending |= ending;
        match written {
            // When they come again, the database is free.
            Ok(written) => written.into_iter().for_each(|(job, outcome)| shared.done(job, outcome)),
            Err(error) => {
                if let Some(first) = waiting {
                    let outcome = first.claim().then_some(Err(error));
                    shared.done(first, outcome);
                }
            }
        }
        for job in reads {
            self.read(job);
        }
    }
}

/// In the transaction that has been begun.
fn run_together(database: &mut Database, mut jobs: Vec<Job>) -> Vec<(Job, Option<Result<()>>)> {
    let done = jobs.iter_mut().try_for_each(|job| job.call.run(database));
    let outcome = database.end_write(done);
    // Nothing happened. One of them may be at fault: each by itself.
    let again = matches!(&outcome, Err(error) if !error.outcome_unknown()
        && (database.make_room() || jobs.len() > 1));
    let each = jobs.into_iter().map(|mut job| {
        let outcome = if again {
            database.begin_write(job.until).and_then(|()| {
                let done = job.call.run(database);
                database.end_write(done)
            })
        } else {
            outcome.clone()
        };
        (job, Some(outcome))
    });
    each.collect()
}
