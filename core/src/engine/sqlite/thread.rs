//! The thread of a database: it runs what its callers did not. Writes that wait at the same time share
//! a transaction, and so a commit. While somebody waits for an item, it also looks whether another
//! process has written: when the kernel says that something was, and for a while after that.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::database::Database;
use super::job::Job;
use super::log::Log;
use super::log_watch::Watch;
use super::turn::Turns;
use super::worker::{Message, Shared};
use crate::Result;

/// Operations that share a transaction at most.
const MAX_SHARED: usize = 64;
/// How often to look for writes of other processes, while anybody waits: where the kernel has no news
/// of them, and after a write, which is there for others only later.
const LOOK_EVERY: Duration = Duration::from_millis(8);
/// And where the kernel tells.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Thread {
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
    /// `to_itself` sends to `queue`. `path`: of the database, `None` in memory.
    pub(super) fn new(
        shared: Arc<Shared>,
        queue: Receiver<Message>,
        to_itself: Sender<Message>,
        path: Option<PathBuf>,
    ) -> Thread {
        let log = path.as_deref().map(Log::new);
        Thread {
            shared,
            queue,
            to_itself,
            turns: Turns::new(path),
            log,
            watch: OnceCell::new(),
            watched: false,
            look_in: LOOK_EVERY,
            ending: false,
        }
    }

    /// Opens the database, in its turn.
    pub(super) fn open(&mut self) -> Result<()> {
        self.turns.with(&self.shared.seat, |_| ())
    }

    pub(super) fn close(&self) {
        self.shared.seat.end();
    }

    /// Until nobody sends anything any more.
    pub(super) fn run(&mut self) {
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
            let watch = self.watch.get_or_init(|| {
                let (path, every) = (log.path(), LOOK_EVERY);
                let refused = |error: &std::io::Error| {
                    tracing::debug!(?path, %error, ?every, "no news of writes: looking for them");
                };
                Watch::start(path, tell).inspect_err(refused).ok()
            });
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
