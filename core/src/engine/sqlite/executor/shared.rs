//! What the executor's thread shares with the callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::inbox::Inbox;
use super::job::{Call, caught};
use crate::engine::sqlite::change_notifier::ChangeNotifier;
use crate::engine::sqlite::connection_slot::ConnectionSlot;
use crate::engine::sqlite::database::Database;
use crate::engine::sqlite::opening::Opening;
use crate::{Error, Result};

/// Operations run on the caller's thread while writes take less than this on average, in ns: it holds up a
/// thread of the runtime for that long. On a slower disk, the way to the executor's thread hardly matters.
const MAX_INLINE_WRITE: u64 = 1_000_000;

pub(crate) struct Shared {
    pub(crate) slot: Arc<ConnectionSlot>,
    pub(crate) notifier: Arc<ChangeNotifier>,
    /// Notified when the end of an item was reported, or another process has written.
    pub(crate) endings: Arc<watch::Sender<u64>>,
    pub(crate) inbox: Inbox,
    /// Jobs that were sent to the thread, and are neither done nor taken back.
    pub(super) pending: AtomicUsize,
    /// The thread waits for another process.
    pub(super) is_blocked: AtomicBool,
    /// Moving average of the duration of a write, in ns.
    pub(super) average_write: AtomicU64,
}

impl Shared {
    pub(super) fn new(opening: Opening) -> Arc<Shared> {
        Arc::new(Shared {
            endings: opening.endings.clone(),
            notifier: opening.notifier.clone(),
            slot: ConnectionSlot::new(opening),
            inbox: Inbox::default(),
            pending: AtomicUsize::new(0),
            is_blocked: AtomicBool::new(false),
            average_write: AtomicU64::new(0),
        })
    }

    /// Whether no job waits for the thread or is run by it.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 0
    }

    pub(super) fn writes_are_fast(&self) -> bool {
        self.average_write.load(Ordering::Relaxed) < MAX_INLINE_WRITE
    }

    /// After the end of its transaction.
    pub(super) fn record_write(&self, time: Duration) {
        self.notifier.wrote();
        let before = self.average_write.load(Ordering::Relaxed);
        let now = (time.as_nanos() as u64).min(u64::MAX / 16);
        self.average_write.store((before * 7 + now) / 8, Ordering::Relaxed);
    }

    /// Runs `work` in a transaction, and waits for nothing but the disk. `None`: another process is in the
    /// way, or the disk was full and now has room; the thread should try.
    pub(super) fn try_run<T>(
        &self,
        database: &mut Database,
        writes: bool,
        work: impl FnOnce(&mut Database) -> Result<T>,
    ) -> Option<Result<T>> {
        let begun = Instant::now();
        if !writes {
            let done = database.read(begun, |db| caught(|| work(db)));
            return Some(done).filter(|done| !matches!(done, Err(error) if is_busy(error)));
        }
        if !database.try_lock() {
            return None;
        }
        let done = match database.begin_write(begun) {
            Ok(()) => {
                let done = caught(|| work(database));
                let outcome = database.end_write(done.as_ref().map(|_| ()).map_err(Error::clone));
                Some(outcome.and(done))
            }
            Err(error) if is_busy(&error) => None,
            Err(error) => Some(Err(error)),
        };
        database.unlock();
        self.record_write(begun.elapsed());
        match done {
            Some(Err(error)) if !error.outcome_unknown() && database.make_room() => None,
            done => done,
        }
    }

    /// Answers a call of the thread.
    pub(super) fn finish(&self, call: Box<dyn Call>, outcome: Result<()>) {
        // First, so that the caller's next operation finds the thread idle.
        self.pending.fetch_sub(1, Ordering::AcqRel);
        call.reply(outcome);
    }
}

fn is_busy(error: &Error) -> bool {
    error.kind().is_retryable() && !error.outcome_unknown()
}
