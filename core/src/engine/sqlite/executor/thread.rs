//! The thread of a database. It runs the jobs that callers did not run themselves; writes that wait at the
//! same time share a transaction, and so a commit. While a call waits for an item, the thread also checks
//! whether another process has written: when the kernel reports a change of the write-ahead log, and for a
//! while after that.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::inbox::Message;
use super::job::{Call, Job};
use super::shared::Shared;
use super::thread_lock::ThreadLock;
use crate::backoff::Backoff;
use crate::engine::sqlite::database::Database;
use crate::engine::sqlite::location::check_place;
use crate::engine::sqlite::wal_probe::WalProbe;
use crate::engine::sqlite::wal_watcher::WalWatcher;
use crate::{Error, Result};

/// Limit of the operations in one transaction.
const MAX_SHARED: usize = 64;
/// How often to check for writes of other processes while a call waits, if the kernel does not report them,
/// and for a while after a report: the write becomes visible only later.
const CHECK_EVERY: Duration = Duration::from_millis(8);
/// How often to check although the kernel reports changes.
const CHECK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);
/// Longest pause between attempts to open a new file whose lock another process holds.
const MAX_PAUSE: Duration = Duration::from_millis(50);

pub(super) struct Thread {
    shared: Arc<Shared>,
    writer_lock: ThreadLock,
    /// `None` in memory, where there are no other processes.
    wal: Option<WalProbe>,
    /// Created for the first call that waits. It holds `None` if the kernel reports no changes.
    watcher: OnceCell<Option<WalWatcher>>,
    /// The kernel was asked to report the next change, and has not done so yet.
    is_watching: bool,
    check_in: Duration,
}

impl Thread {
    /// `path`: of the database, `None` in memory.
    pub(super) fn new(shared: Arc<Shared>, path: Option<PathBuf>) -> Thread {
        let wal = path.as_deref().map(WalProbe::new);
        Thread {
            shared,
            writer_lock: ThreadLock::new(path),
            wal,
            watcher: OnceCell::new(),
            is_watching: false,
            check_in: CHECK_EVERY,
        }
    }

    /// Opens the database, with the writer lock if it has to create the tables. If they exist and another
    /// process holds the lock, it opens the database without. It gives up at this time, or when `is_over`.
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
            if slot.open_existing()? {
                return Ok(());
            }
            if is_over() || Instant::now() >= until {
                return Err(Error::unavailable("another process keeps the database", false));
            }
            std::thread::sleep(backoff.pause());
        }
    }

    pub(super) fn close(&self) {
        self.shared.slot.close();
    }

    /// Runs jobs until all handles are gone.
    pub(super) fn run(&mut self) {
        loop {
            let timeout = self.has_to_check().then_some(self.check_in);
            let message = self.shared.inbox.next(timeout);
            // Any message may be the kernel's report, or hide it.
            self.is_watching &= matches!(message, Message::Timeout);
            match message {
                Message::Job(job) if job.writes => self.write(&job),
                Message::Job(job) => self.read(&job),
                Message::Check | Message::Timeout => {}
                Message::End => return,
            }
            if self.has_to_check() {
                self.check_for_writes();
            }
        }
    }

    fn has_to_check(&self) -> bool {
        self.wal.is_some() && self.shared.notifier.waiting.load(Ordering::Acquire) > 0
    }

    /// Notifies the calls that wait if another process has written.
    fn check_for_writes(&mut self) {
        let Some(wal) = &mut self.wal else { return };
        self.check_in = CHECK_EVERY;
        if wal.may_have_changed() {
            self.is_watching = false;
            if let Ok(true) = self.shared.slot.use_it(Database::others_wrote) {
                self.shared.notifier.all_changed();
                self.shared.endings.send_modify(|count| *count += 1);
            }
        } else if self.is_watching {
            self.check_in = CHECK_AT_LEAST_EVERY;
        } else {
            // The next check finds what was written before the watch began.
            let shared = Arc::downgrade(&self.shared);
            let report = move || {
                if let Some(shared) = shared.upgrade() {
                    shared.inbox.check();
                }
            };
            let watcher = self.watcher.get_or_init(|| {
                let (path, every) = (wal.path(), CHECK_EVERY);
                let refused = |error: &std::io::Error| {
                    tracing::debug!(?path, %error, ?every, "cannot watch for writes: polling");
                };
                WalWatcher::start(path, report).inspect_err(refused).ok()
            });
            self.is_watching = watcher.as_ref().is_some_and(WalWatcher::watch_once);
        }
    }

    fn read(&self, job: &Job) {
        let Some(mut call) = job.claim() else { return };
        let run = |database: &mut Database| database.read(job.until, |db| call.run(db));
        let outcome = self.shared.slot.use_it(run).flatten();
        self.shared.finish(call, outcome);
    }

    /// Runs this job, together with the other writes that have arrived when it may write.
    fn write(&mut self, first: &Job) {
        if first.is_claimed() {
            return;
        }
        let shared = &self.shared;
        let written = self.writer_lock.with(shared, |database| {
            // Until this has succeeded, callers can give up.
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
            shared.record_write(begun.elapsed());
            done
        });
        match written {
            // Only now, so that the callers' next operations find the database idle.
            Ok(written) => {
                written.into_iter().for_each(|(call, outcome)| shared.finish(call, outcome));
            }
            Err(error) => {
                if let Some(call) = first.claim() {
                    shared.finish(call, Err(error));
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

/// Runs the jobs in the transaction that has begun, and ends it.
fn run_together(database: &mut Database, mut jobs: Vec<Begun>) -> Vec<(Box<dyn Call>, Result<()>)> {
    let done = jobs.iter_mut().try_for_each(|job| job.call.run(database));
    let outcome = database.end_write(done);
    // The transaction was rolled back. One call may be at fault: runs each by itself.
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
