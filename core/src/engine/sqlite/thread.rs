//! The thread of a database: it runs what its callers did not. Writes that wait at the same time share
//! a transaction, and so a commit. While somebody waits for an item, it also looks whether another
//! process has written: when the kernel says that something was, and for a while after that.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::database::Database;
use super::inbox::Message;
use super::job::{Call, Job};
use super::location::check_place;
use super::wal_probe::WalProbe;
use super::wal_watcher::WalWatcher;
use super::worker::Shared;
use super::writer_lock::ThreadWriterLock;
use crate::backoff::Backoff;
use crate::{Error, Result};

/// Operations that share a transaction at most.
const MAX_SHARED: usize = 64;
/// How often to look for writes of other processes, while anybody waits: where the kernel has no news
/// of them, and after a write, which is there for others only later.
const LOOK_EVERY: Duration = Duration::from_millis(8);
/// Longest pause between two tries to open a new file while another process keeps the turn.
const MAX_PAUSE: Duration = Duration::from_millis(50);
/// And where the kernel tells.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Thread {
    shared: Arc<Shared>,
    writer_lock: ThreadWriterLock,
    /// `None` in memory, where there are no others.
    wal: Option<WalProbe>,
    /// Made when somebody waits for the first time. `None` in it: the kernel has no news.
    watcher: OnceCell<Option<WalWatcher>>,
    /// The kernel was asked for news of the log, and none has come.
    watched: bool,
    look_in: Duration,
}

impl Thread {
    /// `path`: of the database, `None` in memory.
    pub(super) fn new(shared: Arc<Shared>, path: Option<PathBuf>) -> Thread {
        let wal = path.as_deref().map(WalProbe::new);
        Thread {
            shared,
            writer_lock: ThreadWriterLock::new(path),
            wal,
            watcher: OnceCell::new(),
            watched: false,
            look_in: LOOK_EVERY,
        }
    }

    /// Opens the database. Who makes the tables needs the turn; where they are, it is opened without, if
    /// another process keeps the turn. It gives up at this time, or when nobody waits for it any more.
    pub(super) fn open(&mut self, until: Instant, is_over: impl Fn() -> bool) -> Result<()> {
        if let Some(path) = self.writer_lock.path() {
            check_place(path)?;
        }
        let slot = self.shared.slot.clone();
        let mut backoff = Backoff::up_to(MAX_PAUSE);
        loop {
            if let Some(done) = self.writer_lock.try_with(&slot, |_| ())? {
                return Ok(done);
            }
            if slot.open_made()? {
                return Ok(());
            }
            if is_over() || Instant::now() >= until {
                return Err(Error::unavailable("another process keeps the database", false));
            }
            std::thread::sleep(backoff.pause());
        }
    }

    pub(super) fn close(&self) {
        self.shared.slot.end();
    }

    /// Until nobody sends anything any more.
    pub(super) fn run(&mut self) {
        loop {
            let most = self.looks().then_some(self.look_in);
            let first = self.shared.inbox.next(most);
            // It may be the kernel's news, or that may have come with it.
            self.watched &= matches!(first, Message::Nothing);
            match first {
                Message::Job(job) if job.writes => self.write(&job),
                Message::Job(job) => self.read(&job),
                Message::Look | Message::Nothing => {}
                Message::End => return,
            }
            if self.looks() {
                self.look_for_others();
            }
        }
    }

    fn looks(&self) -> bool {
        self.wal.is_some() && self.shared.notifier.waiting.load(Ordering::Acquire) > 0
    }

    fn look_for_others(&mut self) {
        let Some(wal) = &mut self.wal else { return };
        self.look_in = LOOK_EVERY;
        if wal.may_have_changed() {
            self.watched = false;
            if let Ok(true) = self.shared.slot.use_it(Database::others_wrote) {
                self.shared.notifier.all_changed();
            }
        } else if self.watched {
            self.look_in = LOOK_AT_LEAST_EVERY;
        } else {
            // What was written until now is found by one more look.
            let told = Arc::downgrade(&self.shared);
            let tell = move || {
                if let Some(shared) = told.upgrade() {
                    shared.inbox.look();
                }
            };
            let watcher = self.watcher.get_or_init(|| {
                let (path, every) = (wal.path(), LOOK_EVERY);
                let refused = |error: &std::io::Error| {
                    tracing::debug!(?path, %error, ?every, "no news of writes: looking for them");
                };
                WalWatcher::start(path, tell).inspect_err(refused).ok()
            });
            self.watched = watcher.as_ref().is_some_and(WalWatcher::ask);
        }
    }

    fn read(&self, job: &Job) {
        let Some(mut call) = job.claim() else { return };
        let run = |database: &mut Database| database.read(job.until, |db| call.run(db));
        let outcome = self.shared.slot.use_it(run).flatten();
        self.shared.done(call, outcome);
    }

    /// Runs this job, and with it the others that write and have come by the time it may write.
    fn write(&mut self, first: &Job) {
        if first.is_over() {
            return;
        }
        let shared = &self.shared;
        let written = self.writer_lock.with(shared, |database| {
            // As long as this takes, callers may still give up.
            if let Err(error) = database.begin_write(first.until) {
                return Vec::from_iter(first.claim().map(|call| (call, Err(error))));
            }
            let begun = Instant::now();
            let claimed = |job: &Job| job.claim().map(|call| Begun { call, until: job.until });
            let mut jobs = Vec::from_iter(claimed(first));
            while jobs.len() < MAX_SHARED
                && let Some(job) = shared.inbox.next_write()
            {
                jobs.extend(claimed(&job));
            }
            let done = run_together(database, jobs);
            shared.took(begun.elapsed());
            done
        });
        match written {
            // When they come again, the database is free.
            Ok(written) => {
                written.into_iter().for_each(|(call, outcome)| shared.done(call, outcome));
            }
            Err(error) => {
                if let Some(call) = first.claim() {
                    shared.done(call, Err(error));
                }
            }
        }
    }
}

/// A call that its caller cannot take back any more.
struct Begun {
    call: Box<dyn Call>,
    until: Instant,
}

/// In the transaction that has been begun.
fn run_together(database: &mut Database, mut jobs: Vec<Begun>) -> Vec<(Box<dyn Call>, Result<()>)> {
    let done = jobs.iter_mut().try_for_each(|job| job.call.run(database));
    let outcome = database.end_write(done);
    // Nothing happened. One of them may be at fault: each by itself.
    let again = matches!(&outcome, Err(error) if !error.outcome_unknown()
        && (database.make_room() || jobs.len() > 1));
    let each = jobs.into_iter().map(|Begun { mut call, until }| {
        let outcome = if again {
            database.begin_write(until).and_then(|()| {
                let done = call.run(database);
                database.end_write(done)
            })
        } else {
            outcome.clone()
        };
        (call, outcome)
    });
    each.collect()
}
