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

use super::database::Database;
use crate::name::QueueName;
use crate::{Error, Result};

/// Operations that share a transaction at most.
const MAX_SHARED: usize = 64;
/// How often to look for writes of other processes, while anybody waits. SQLite tells by a number
/// that needs no lock; a look costs some microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A piece of work. It may run twice: alone, if another one of its transaction failed.
type Work = Box<dyn FnMut(&mut Database) -> Result<()> + Send>;

struct Job {
    work: Work,
    writes: bool,
    /// Set by whoever comes first: the thread that begins, or the caller who gives up.
    claimed: Arc<AtomicBool>,
    reply: oneshot::Sender<Result<()>>,
}

/// Sends work to the thread. The thread ends when the last one of these is dropped.
#[derive(Clone)]
pub(super) struct Worker {
    jobs: Sender<Job>,
    news: Arc<News>,
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
        let (jobs, queue) = channel();
        let (opened, answer) = oneshot::channel();
        let news = Arc::<News>::default();
        let shared = news.clone();
        let named = thread::Builder::new().name("leaseq-sqlite".into());
        let started = named.spawn(move || match open() {
            Ok(database) => {
                let _ = opened.send(Ok(()));
                Thread { database, queue, news: shared, version: None }.run();
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        });
        // Without a thread, `opened` is dropped, which says the same.
        drop(started);
        (Worker { jobs, news }, answer)
    }

    pub(super) fn news(&self) -> &News {
        &self.news
    }

    /// Runs `work` in a transaction before `until`; afterwards it is not begun any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        writes: bool,
        until: Instant,
        mut work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (give, take) = channel();
        let claimed = Arc::new(AtomicBool::new(false));
        let (reply, mut answer) = oneshot::channel();
        let work: Work = Box::new(move |database| {
            let done = work(database)?;
            let _ = give.send(done);
            Ok(())
        });
        let job = Job { work, writes, claimed: claimed.clone(), reply };
        self.jobs.send(job).map_err(|_| Error::closed())?;
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
        answered.map_err(|_| Error::closed())??;
        // If the work ran twice, the second time counts.
        take.try_iter().last().ok_or_else(|| Error::internal("the work left no result"))
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
            let (reply, _) = oneshot::channel();
            let claimed = Arc::new(AtomicBool::new(true));
            let _ =
                self.jobs.send(Job { work: Box::new(|_| Ok(())), writes: false, claimed, reply });
        }
        let _ = seen.changed().await;
    }
}

struct Thread {
    database: Database,
    queue: Receiver<Job>,
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
                Ok(first) => self.serve(first),
                Err(RecvTimeoutError::Timeout) => {}
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

    fn serve(&mut self, first: Job) {
        let mut jobs = vec![first];
        while jobs.len() < MAX_SHARED
            && let Ok(job) = self.queue.try_recv()
        {
            jobs.push(job);
        }
        jobs.retain(|job| !job.claimed.swap(true, Ordering::AcqRel));
        // In the order in which they came, writers that follow each other together.
        let mut jobs = jobs.into_iter().peekable();
        while let Some(job) = jobs.next() {
            if job.writes {
                let mut shared = vec![job];
                while let Some(job) = jobs.next_if(|job| job.writes) {
                    shared.push(job);
                }
                self.write(shared);
            } else {
                let Job { mut work, reply, .. } = job;
                let _ = reply.send(self.database.read(&mut work));
            }
        }
    }

    fn write(&mut self, mut jobs: Vec<Job>) {
        let database = &mut self.database;
        let done = database.write(|db| jobs.iter_mut().try_for_each(|job| (job.work)(db)));
        match done {
            Ok(()) => {
                for job in jobs {
                    let _ = job.reply.send(Ok(()));
                }
            }
            Err(error) if jobs.len() == 1 || error.outcome_unknown() => {
                for job in jobs {
                    let _ = job.reply.send(Err(error.clone()));
                }
            }
            // Nothing happened. One of them may be at fault: each by itself.
            Err(_) => {
                for mut job in jobs {
                    let done = database.write(|db| (job.work)(db));
                    let _ = job.reply.send(done);
                }
            }
        }
    }
}
