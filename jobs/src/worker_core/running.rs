//! A job that waits for its start or runs, as the worker sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use leaseq::{Lease, WorkQueue};
use tokio::sync::Notify;

use super::options::WorkerOptions;
use super::reason::Reason;
use super::settlement::{Facts, UNHANDLED};
use crate::Retry;

/// What is to be done next about a task that runs, unless it ends before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// To watch for its cancellation and for the loss of its lease. Most jobs end before.
    Watch,
    /// To see whether it waits in vain for its start. Returned before that only.
    Wait,
    /// Its soft timeout.
    Cancel,
    /// Its hard timeout.
    Kill,
    /// To count it as hung if it still runs.
    CountHung,
    /// To end the worker.
    GiveUp,
    /// To watch for the loss of its lease while its end is reported. Most queues answer before.
    Report,
    Nothing,
}

#[derive(Debug)]
struct Times {
    has_started: bool,
    /// When its handler has started; before that, when it was leased.
    started: Instant,
    /// How long it has waited here for its start.
    waited: Duration,
    soft: Instant,
    stage: Stage,
    /// The entry in the timers.
    timer: Option<Instant>,
}

/// Who settles the job: its face, when the handler ends; or the worker, when it ends before.
const OPEN: u8 = 0;
const FINISHED: u8 = 1;
const TAKEN_OVER: u8 = 2;

/// Who has been first to settle a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    Own,
    Finished,
    TakenOver,
}

/// A job of this worker: its lease, and what is known about its handler.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) id: u64,
    pub(super) queue_index: usize,
    pub(super) queue: WorkQueue,
    pub(super) lease: Lease,
    pub(super) name: String,
    pub(super) args: Bytes,
    pub(super) meta: BTreeMap<String, String>,
    pub(super) timeout: Duration,
    pub(super) retry: Retry,
    /// On the server's clock.
    leased_at: SystemTime,
    owner: AtomicU8,
    /// A [`Reason`], or 0.
    reason: AtomicU8,
    killed: AtomicBool,
    hung: AtomicBool,
    ended: AtomicBool,
    succeeded: AtomicBool,
    detached: AtomicBool,
    /// One of the above has changed.
    changed: Notify,
    times: Mutex<Times>,
}

/// `queue mail, job mail.send, item "…"`.
impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = String::from_utf8_lossy(self.lease.id());
        write!(f, "queue {}, job {}, item {id:?}", self.lease.queue(), self.name)
    }
}

impl Running {
    pub(super) fn new(
        id: u64,
        queue_index: usize,
        queue: WorkQueue,
        lease: Lease,
        duration: Duration,
    ) -> Running {
        let now = Instant::now();
        // Nobody has extended the lease before.
        let leased_at = lease.deadline().checked_sub(duration).unwrap_or(SystemTime::UNIX_EPOCH);
        Running {
            id,
            queue_index,
            queue,
            lease,
            name: String::new(),
            args: Bytes::new(),
            meta: BTreeMap::new(),
            timeout: Duration::ZERO,
            retry: Retry::default(),
            leased_at,
            owner: AtomicU8::new(OPEN),
            reason: AtomicU8::new(0),
            killed: AtomicBool::new(false),
            hung: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            succeeded: AtomicBool::new(false),
            detached: AtomicBool::new(false),
            changed: Notify::new(),
            times: Mutex::new(Times {
                has_started: false,
                started: now,
                waited: Duration::ZERO,
                soft: now,
                stage: Stage::Watch,
                timer: None,
            }),
        }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It waits to be started. Returns when to watch it.
    pub(super) fn watch(&self, options: &WorkerOptions) -> Instant {
        let at = Instant::now() + watch_after(options.lease);
        self.times().timer = Some(at);
        at
    }

    /// Its handler starts now. Returns its entry in the timers up to now, and the new one; `None`: it stays.
    pub(super) fn start(&self) -> Option<(Option<Instant>, Instant)> {
        let mut times = self.times();
        let waited = times.started.elapsed();
        times.waited = waited;
        times.started += waited;
        times.has_started = true;
        times.soft = times.started + self.timeout;
        let (old, soft) = (times.timer, times.soft);
        if old.is_some_and(|at| at <= soft) {
            return None;
        }
        times.timer = Some(soft);
        Some((old, soft))
    }

    /// What is to be done at this time, and when to look again.
    pub(super) fn due(
        &self,
        now: Instant,
        options: &WorkerOptions,
    ) -> (Option<Stage>, Option<Instant>) {
        let mut times = self.times();
        let planned = times.timer.take();
        if !self.is_open() {
            return (Some(Stage::Report), None);
        }
        // Its timeout begins with its start.
        if !times.has_started {
            let stage = match times.stage {
                Stage::Watch => Stage::Watch,
                _ => Stage::Wait,
            };
            times.stage = Stage::Cancel;
            times.timer = Some(now + unattended_after(options.lease) / 2);
            return (Some(stage), times.timer);
        }
        let kill = times.soft + options.kill_after;
        let at = |stage: Stage| match stage {
            Stage::Watch | Stage::Wait => Some(times.started + watch_after(options.lease)),
            Stage::Cancel => Some(times.soft),
            Stage::Kill => Some(kill),
            Stage::CountHung => Some(kill + HUNG_AFTER),
            Stage::GiveUp => Some(kill + GIVE_UP_AFTER),
            Stage::Report | Stage::Nothing => None,
        };
        let mut stage = times.stage;
        let mut due = None;
        // A process that was stopped for a while gives its handlers the time between two stages all the same.
        let pause = |stage| match stage {
            Stage::Kill => options.kill_after,
            Stage::CountHung | Stage::GiveUp => HUNG_AFTER,
            _ => Duration::ZERO,
        };
        let was_stopped = planned.is_some_and(|at| now.duration_since(at) > STOPPED);
        if was_stopped && pause(stage) > Duration::ZERO {
            times.timer = Some(now + pause(stage));
            return (None, times.timer);
        }
        if at(stage).is_some_and(|at| at <= now) {
            due = Some(stage);
            stage = stage.next();
        }
        // A timeout that is shorter comes first; watching has no use then.
        if stage == Stage::Watch && times.soft <= now {
            (due, stage) = (Some(Stage::Cancel), Stage::Kill);
        }
        let again = match stage {
            Stage::Watch => at(Stage::Watch).map(|watch| watch.min(times.soft)),
            stage => at(stage),
        };
        let again = again.map(|at| if due.is_some() { at.max(now + pause(stage)) } else { at });
        times.stage = stage;
        times.timer = again;
        (due, again)
    }

    /// Its entry in the timers, which is not needed any more.
    pub(super) fn stop_timer(&self) -> Option<Instant> {
        self.times().timer.take()
    }

    /// Whether its handler has started.
    pub(super) fn has_started(&self) -> bool {
        self.times().has_started
    }

    pub(super) fn soft_deadline(&self) -> Instant {
        self.times().soft
    }

    /// Moves its soft timeout. Returns its entry in the timers up to now and the new one; `None`: it is too late.
    pub(super) fn set_soft_deadline(&self, soft: Instant) -> Option<(Option<Instant>, Instant)> {
        if !self.is_open() || self.reason().is_some() {
            return None;
        }
        let mut times = self.times();
        times.soft = soft;
        let old = times.timer;
        let new = match (times.stage, old) {
            (Stage::Watch, Some(old)) => old.min(soft),
            _ => soft,
        };
        times.timer = Some(new);
        Some((old, new))
    }

    /// Whether nobody has settled the job.
    pub(super) fn is_open(&self) -> bool {
        self.owner.load(Ordering::Acquire) == OPEN
    }

    /// The caller settles the job, if nobody else does.
    pub(super) fn claim(&self) -> Claim {
        self.claim_as(FINISHED)
    }

    /// The worker settles the job although the handler may still run.
    pub(super) fn take_over(&self) -> Claim {
        self.claim_as(TAKEN_OVER)
    }

    fn claim_as(&self, owner: u8) -> Claim {
        match self.owner.compare_exchange(OPEN, owner, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Claim::Own,
            Err(TAKEN_OVER) => Claim::TakenOver,
            Err(_) => Claim::Finished,
        }
    }

    /// Asks the handler to stop. The first reason stays, except that a lost lease overrules the others.
    pub(super) fn cancel(&self, reason: Reason) {
        match reason {
            Reason::Lost => self.reason.store(Reason::Lost as u8, Ordering::Release),
            _ => {
                let new = reason as u8;
                _ = self.reason.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire);
            }
        }
        self.changed.notify_waiters();
    }

    pub(super) fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(super) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    /// Whether it is counted among those that have succeeded and are in slots. It changes under the lock of the state.
    pub(super) fn has_succeeded(&self) -> bool {
        self.succeeded.load(Ordering::Acquire)
    }

    pub(super) fn set_succeeded(&self, succeeded: bool) {
        self.succeeded.store(succeeded, Ordering::Release);
    }

    /// Whether it has left its slot before it was settled. It changes under the lock of the state.
    pub(super) fn is_detached(&self) -> bool {
        self.detached.load(Ordering::Acquire)
    }

    pub(super) fn set_detached(&self) {
        self.detached.store(true, Ordering::Release);
    }

    pub(super) fn set_hung(&self) {
        self.hung.store(true, Ordering::Release);
    }

    pub(super) fn was_hung(&self) -> bool {
        self.hung.load(Ordering::Acquire)
    }

    /// Its job was settled.
    pub(super) fn set_ended(&self) {
        self.ended.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(super) fn reason(&self) -> Option<Reason> {
        Reason::from_number(self.reason.load(Ordering::Acquire))
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.times().started.elapsed()
    }

    /// For how long it was ready before its handler started.
    pub(super) fn waited(&self) -> Duration {
        self.lease.waited() + self.times().waited
    }

    /// Whether its hard timeout has passed.
    pub(super) fn is_overdue(&self) -> bool {
        self.times().stage > Stage::Kill
    }

    /// The limit of its attempts: its own, or else that of the retry rules.
    pub(super) fn max_attempts(&self) -> u32 {
        self.lease.max_attempts().unwrap_or(self.retry.attempts)
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        let unhandled = self.lease.releases().filter(|releases| releases.reason == UNHANDLED);
        Facts {
            attempt: self.lease.attempt(),
            max_attempts: self.max_attempts(),
            retry: &self.retry,
            reason: self.reason(),
            timeout: self.timeout,
            unhandled: unhandled.map(|releases| (releases.count, releases.first_at)),
            leased_at: self.leased_at,
        }
    }

    pub(super) async fn until(&self, holds: impl Fn(&Running) -> bool) {
        loop {
            let changed = self.changed.notified();
            if holds(self) {
                return;
            }
            changed.await;
        }
    }

    /// Returns when its job was settled.
    pub(super) async fn ended(&self) {
        self.until(|running| running.ended.load(Ordering::Acquire)).await;
    }
}

impl Stage {
    fn next(self) -> Stage {
        match self {
            Stage::Watch | Stage::Wait => Stage::Cancel,
            Stage::Cancel => Stage::Kill,
            Stage::Kill => Stage::CountHung,
            Stage::CountHung => Stage::GiveUp,
            Stage::GiveUp | Stage::Report | Stage::Nothing => Stage::Nothing,
        }
    }
}

/// A killed handler that still runs after this is hung.
pub(super) const HUNG_AFTER: Duration = Duration::from_secs(1);
/// The worker ends if a killed handler still runs after this.
const GIVE_UP_AFTER: Duration = Duration::from_secs(600);

/// Whoever acts on a timer so late was stopped, and its handlers as well.
const STOPPED: Duration = Duration::from_millis(500);

/// How long a job that could start waits for a face, at least.
const UNATTENDED: Duration = Duration::from_secs(2);

pub(super) fn unattended_after(lease: Duration) -> Duration {
    lease.max(UNATTENDED)
}

/// Watching costs requests, which jobs that take less than a second do not need.
fn watch_after(lease: Duration) -> Duration {
    Duration::from_secs(1).min(lease / 4)
}
