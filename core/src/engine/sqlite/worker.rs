//! The thread that owns the database. Operations that wait for it at the same time share a
//! transaction, and so a commit. While somebody waits for an item, it also looks whether another
//! process has written.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::database::Database;
use crate::name::QueueName;
use crate::{Error, Result};

/// Operations that share a transaction at most.
const MAX_SHARED: usize = 64;
/// How often to look for writes of other processes, while anybody waits. SQLite tells by a number
/// that needs no lock; a look costs some microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A call: what to do, and whom to tell.
trait Call: Send {
    /// May run twice: alone, if another call of its transaction failed.
    fn run(&mut self, database: &mut Database) -> Result<()>;
    fn reply(self: Box<Self>, outcome: Result<()>);
}

struct TypedCall<T, F> {
    work: F,
    done: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: FnMut(&mut Database) -> Result<T> + Send> Call for TypedCall<T, F> {
    fn run(&mut self, database: &mut Database) -> Result<()> {
        self.done = Some((self.work)(database)?);
        Ok(())
    }

    fn reply(self: Box<Self>, outcome: Result<()>) {
        let TypedCall { done, reply, .. } = *self;
        let nothing = || Error::internal("the work left no result");
        let _ = reply.send(outcome.and_then(|()| done.ok_or_else(nothing)));
    }
}

struct Job {
    call: Box<dyn Call>,
    writes: bool,
    /// When the caller gives up, unless it was begun.
    until: Instant,
    /// Set by whoever comes first: the thread that begins, or the caller who gives up.
    claimed: Arc<AtomicBool>,
}

impl Job {
    /// True if the caller still waits: from now on it does so until the end.
    fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::AcqRel)
    }
}

enum Message {
    Job(Job),
    /// Somebody waits for an item.
    Look,
}

/// Sends work to the thread. The thread ends when the last one of these is dropped.
#[derive(Clone)]
pub(super) struct Worker {
    messages: Sender<Message>,
    news: Arc<News>,
    ended: CancellationToken,
}

/// How often each queue has changed, for those that wait.
#[derive(Default)]
pub(super) struct News {
    queues: Mutex<HashMap<QueueName, watch::Sender<u64>>>,
    waiting: AtomicUsize,
}

impl News {
    fn lock(&self) -> MutexGuard<'_, HashMap<QueueName, watch::Sender<u64>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process has changed the queue.
    pub(super) fn changed(&self, queue: &QueueName) {
        if let Some(sender) = self.lock().get(queue) {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Another process has changed something.
    fn all_changed(&self) {
        for sender in self.lock().values() {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// What the queue's count is before looking at it.
    pub(super) fn subscribe(&self, queue: &QueueName) -> watch::Receiver<u64> {
        let mut queues = self.lock();
        queues.entry(queue.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
}

impl Worker {
    /// Starts the thread with a database opened by `open`; the answer says whether that went well.
    pub(super) fn start(
        open: impl FnOnce() -> Result<Database> + Send + 'static,
    ) -> (Worker, oneshot::Receiver<Result<()>>) {
        let (messages, queue) = channel();
        let (opened, answer) = oneshot::channel();
        let news = Arc::<News>::default();
        let ended = CancellationToken::new();
        let (shared, guard) = (news.clone(), ended.clone().drop_guard());
        let named = thread::Builder::new().name("leaseq-sqlite".into());
        let started = named.spawn(move || {
            let _guard = guard;
            match open() {
                Ok(database) => {
                    let _ = opened.send(Ok(()));
                    Thread { database, queue, news: shared, version: None }.run();
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                }
            }
        });
        // Without a thread, `opened` is dropped, which says the same.
        drop(started);
        (Worker { messages, news, ended }, answer)
    }

    /// Ends the thread when nobody else uses it, and waits until the file is closed, but no longer
    /// than this: it may be waiting for a lock.
    pub(super) async fn close(self, within: Duration) {
        let ended = self.ended.clone();
        drop(self);
        let _ = tokio::time::timeout(within, ended.cancelled()).await;
    }

    pub(super) fn news(&self) -> &News {
        &self.news
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
        let call = Box::new(TypedCall { work, done: None, reply });
        let job = Job { call, writes, until, claimed: claimed.clone() };
        self.messages.send(Message::Job(job)).map_err(|_| Error::closed())?;
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
        let first = self.news.waiting.fetch_add(1, Ordering::AcqRel) == 0;
        let _waiting = Waiting(&self.news);
        if first {
            // The thread may be asleep: from now on it looks for writes of others.
            let _ = self.messages.send(Message::Look);
        }
        let _ = seen.changed().await;
    }
}

struct Thread {
    database: Database,
    queue: Receiver<Message>,
    news: Arc<News>,
    /// SQLite's number of the last state that others have written.
    version: Option<i64>,
}

impl Thread {
    fn run(mut self) {
        loop {
            let first = if self.news.waiting.load(Ordering::Acquire) == 0 {
                self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.queue.recv_timeout(LOOK_EVERY)
            };
            match first {
                Ok(Message::Job(job)) if job.writes => self.write(job),
                Ok(Message::Job(job)) => self.read(job),
                Ok(Message::Look) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.news.waiting.load(Ordering::Acquire) > 0 {
                self.look_for_others();
            }
        }
    }

    fn look_for_others(&mut self) {
        let version = self.database.foreign_version();
        if version != self.version {
            self.version = version;
            self.news.all_changed();
        }
    }

    fn read(&mut self, mut job: Job) {
        if job.claim() {
            let outcome = self.database.read(job.until, |db| job.call.run(db));
            job.call.reply(outcome);
        }
    }

    /// Runs this job, and with it every other one that has come by the time the lock is had.
    fn write(&mut self, first: Job) {
        if first.claimed.load(Ordering::Acquire) {
            return;
        }
        // As long as this takes, callers may still give up.
        if let Err(error) = self.database.begin_write(first.until) {
            if first.claim() {
                first.call.reply(Err(error));
            }
            return;
        }
        let (mut jobs, mut reads) = (vec![first], Vec::new());
        while jobs.len() < MAX_SHARED
            && let Ok(message) = self.queue.try_recv()
        {
            match message {
                Message::Job(job) if job.writes => jobs.push(job),
                Message::Job(job) => reads.push(job),
                Message::Look => {}
            }
        }
        jobs.retain(Job::claim);
        self.run_together(jobs);
        for job in reads {
            self.read(job);
        }
    }

    /// In the transaction that has been begun.
    fn run_together(&mut self, mut jobs: Vec<Job>) {
        let database = &mut self.database;
        let done = jobs.iter_mut().try_for_each(|job| job.call.run(database));
        match database.end_write(done) {
            // Nothing happened. One of them may be at fault: each by itself.
            Err(error) if !error.outcome_unknown() && (database.make_room() || jobs.len() > 1) => {
                for mut job in jobs {
                    let done = database.begin_write(job.until).and_then(|()| {
                        let done = job.call.run(database);
                        database.end_write(done)
                    });
                    job.call.reply(done);
                }
            }
            outcome => {
                for job in jobs {
                    job.call.reply(outcome.clone());
                }
            }
        }
    }
}
