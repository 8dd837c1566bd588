//! Who runs an operation: its caller, if the database is free and the operation is short; else the
//! [`thread`](super::thread) of the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::change_notifier::ChangeNotifier;
use super::connection_slot::ConnectionSlot;
use super::database::Database;
use super::inbox::Inbox;
use super::job::{Call, Job, caught};
use super::opening::Opening;
use super::process::FILES;
use super::thread::Thread;
use super::{quiesce, waits};
use crate::{Error, Result};

/// An operation runs on its caller's thread if writes take less than this of late, in ns: for that
/// long a thread of a runtime may be held up. Where the disk is slower, the way to the thread does
/// not count beside it.
const SHORT: u64 = 1_000_000;
/// And if it is of no more items than this, and as many KiB of data.
const FEW: usize = 256;

/// How much longer than its time-out a call waits for an operation that has begun, as when the disk hangs.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// The way to the thread, which ends with it.
struct Sending {
    shared: Arc<Shared>,
    /// In a forked child there is no thread, and a lock may be held for ever.
    process: u32,
}

impl Drop for Sending {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.shared.inbox.end();
            waits::leave(&self.shared);
        }
    }
}

/// Sends work to the thread. The thread ends when the last one of these is dropped.
#[derive(Clone)]
pub(super) struct Worker {
    sending: Arc<Sending>,
    shared: Arc<Shared>,
    ended: CancellationToken,
}

/// For what has begun and does not end.
pub(super) fn no_answer(writes: bool) -> Error {
    Error::unavailable("the database does not answer", writes)
}

fn in_the_way(error: &Error) -> bool {
    error.kind().is_retryable() && !error.outcome_unknown()
}

/// What the thread and those who send to it know of each other.
pub(super) struct Shared {
    pub(super) slot: Arc<ConnectionSlot>,
    pub(super) notifier: ChangeNotifier,
    pub(super) inbox: Inbox,
    /// Operations sent to the thread that are not done, nor given up.
    sent: AtomicUsize,
    /// The thread waits for another process.
    pub(super) held_up: AtomicBool,
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
            let done = database.read(begun, |db| caught(|| work(db)));
            return Some(done).filter(|done| !matches!(done, Err(error) if in_the_way(error)));
        }
        if !database.try_turn() {
            return None;
        }
        let done = match database.begin_write(begun) {
            Ok(()) => {
                let mut done = caught(|| work(database));
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

    /// The call is done.
    pub(super) fn done(&self, call: Box<dyn Call>, outcome: Result<()>) {
        // Before its caller comes with the next one.
        self.sent.fetch_sub(1, Ordering::AcqRel);
        call.reply(outcome);
    }

    pub(super) fn took(&self, time: Duration) {
        let before = self.typical.load(Ordering::Relaxed);
        let now = (time.as_nanos() as u64).min(u64::MAX / 16);
        self.typical.store((before * 7 + now) / 8, Ordering::Relaxed);
    }
}

/// A call that was sent. Nothing is left of it when its caller is gone, unless it has begun.
struct Waiting<'a> {
    job: Arc<Job>,
    shared: &'a Shared,
    process: u32,
}

impl Waiting<'_> {
    /// False if it has begun.
    fn give_up(&self) -> bool {
        let given_up = self.job.claim().is_some();
        if given_up {
            self.shared.sent.fetch_sub(1, Ordering::AcqRel);
            self.shared.inbox.given_up();
        }
        given_up
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // In a forked child there is no thread, and a lock may be held for ever.
        if self.process == std::process::id() {
            self.give_up();
        }
    }
}

impl Worker {
    /// Starts the thread, which opens the database; the answer says whether that went well.
    pub(super) fn start(opening: Opening) -> (Worker, oneshot::Receiver<Result<()>>) {
        let until = Instant::now() + opening.timeout;
        let (opened, answer) = oneshot::channel();
        let ended = CancellationToken::new();
        let path = opening.location.path.clone();
        let file = path.is_some();
        let shared = Arc::new(Shared {
            slot: ConnectionSlot::new(opening),
            notifier: ChangeNotifier::default(),
            inbox: Inbox::default(),
            sent: AtomicUsize::new(0),
            held_up: AtomicBool::new(false),
            typical: AtomicU64::new(0),
        });
        let (worker, guard) = (shared.clone(), ended.clone().drop_guard());
        let named = thread::Builder::new().name("leaseq-sqlite".into());
        let started = named.spawn(move || {
            let _guard = guard;
            quiesce::register(&worker.slot);
            let mut thread = Thread::new(worker, path);
            // First of all: a parent may have the turn and wait for this child.
            let allowed = FILES.check(std::process::id(), file);
            let done = allowed.and_then(|()| thread.open(until, || opened.is_closed()));
            let well = done.is_ok();
            let _ = opened.send(done);
            if well {
                thread.run();
            }
            thread.close();
        });
        // Without a thread, `opened` is dropped, which says the same.
        drop(started);
        let sending = Arc::new(Sending { shared: shared.clone(), process: std::process::id() });
        (Worker { sending, shared, ended }, answer)
    }

    /// Ends the thread when nobody else uses it, and waits until the file is closed, but no longer
    /// than this: it may be waiting for a lock.
    pub(super) async fn close(self, within: Duration) {
        let (ended, shared) = (self.ended.clone(), self.shared.clone());
        drop(self);
        if shared.held_up.load(Ordering::Acquire) {
            // Nothing is begun; the thread may end only when the other process goes on.
            shared.slot.try_end();
            return;
        }
        let _ = tokio::time::timeout(within, ended.cancelled()).await;
    }

    pub(super) fn notifier(&self) -> &ChangeNotifier {
        &self.shared.notifier
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
        shared.slot.try_use(|database| shared.run_now(database, writes, work)).flatten()
    }

    /// Runs `work` in a transaction before `until`; afterwards it is not begun any more. If it has begun
    /// and does not end, its outcome is unknown.
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

    /// The same. An error is where the answer comes, if it does, to what has begun and has not ended.
    pub(super) async fn send<T: Send + 'static>(
        &self,
        writes: bool,
        until: Instant,
        mut work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, oneshot::Receiver<Result<T>>> {
        if !writes && self.shared.held_up.load(Ordering::Acquire) {
            // Whoever only reads need not wait for the other process.
            let free = self.shared.sent.load(Ordering::Acquire) == 0;
            let now = |db: &mut Database| self.shared.run_now(db, false, &mut work);
            if let Some(done) = free.then(|| self.shared.slot.try_use(now)).flatten().flatten() {
                return Ok(done);
            }
        }
        let (reply, mut answer) = oneshot::channel();
        let job = Job::new(writes, until, reply, work);
        let shared = &self.shared;
        shared.sent.fetch_add(1, Ordering::AcqRel);
        shared.inbox.send(job.clone());
        let waiting = Waiting { job, shared, process: self.sending.process };
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            () = tokio::time::sleep_until(until.into()) => {
                if waiting.give_up() {
                    return Ok(Err(Error::unavailable("the database is busy", false)));
                }
                // It has begun: its outcome is worth waiting for, but not for ever.
                match tokio::time::timeout_at((until + GRACE).into(), &mut answer).await {
                    Ok(answered) => answered,
                    Err(_) => return Err(answer),
                }
            }
        };
        Ok(answered.unwrap_or_else(|_| Err(Error::closed())))
    }

    /// Returns when the queue may have changed since `seen` was made.
    pub(super) async fn wait(&self, mut seen: watch::Receiver<u64>) {
        struct Watching<'a>(&'a ChangeNotifier);
        impl Drop for Watching<'_> {
            fn drop(&mut self) {
                self.0.waiting.fetch_sub(1, Ordering::AcqRel);
            }
        }
        let first = self.shared.notifier.waiting.fetch_add(1, Ordering::AcqRel) == 0;
        let _watching = Watching(&self.shared.notifier);
        if first {
            // The thread may be asleep: from now on it looks for writes of others.
            self.shared.inbox.look();
        }
        let _ = seen.changed().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::super::clock;
    use super::super::location::Location;
    use super::*;
    use crate::ErrorKind;

    const TIMEOUT: Duration = Duration::from_millis(100);

    async fn in_memory() -> Worker {
        let location = Location { path: None, full: true };
        let opening = Opening::new(location, Arc::new(clock::machine), TIMEOUT);
        let (worker, opened) = Worker::start(opening);
        opened.await.unwrap().unwrap();
        worker
    }

    /// In a transaction that another call's work is in as well, or not.
    #[tokio::test]
    async fn a_panic_ends_its_call_and_no_other() {
        let worker = in_memory().await;
        let until = || Instant::now() + Duration::from_secs(20);
        for writes in [true, false] {
            // A panic takes long: what comes next would be left to the thread.
            let soon = || worker.shared.typical.store(0, Ordering::Relaxed);
            soon();
            let here = worker.run_here::<()>(writes, 1, |_| panic!("a defect"));
            let there = worker.run::<()>(writes, until(), |_| panic!("a defect")).await;
            for done in [here.unwrap(), there] {
                let error = done.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Internal);
                assert!(error.to_string().contains("a panic in leaseq"), "{error}");
                assert!(!error.outcome_unknown(), "{error}");
            }
            for writes in [true, false] {
                soon();
                worker.run_here(writes, 1, |_| Ok(())).unwrap().unwrap();
                worker.run(writes, until(), |_| Ok(())).await.unwrap();
            }
        }
    }

    /// As when the disk hangs.
    #[tokio::test]
    async fn an_operation_that_has_begun_and_does_not_end_is_not_waited_for() {
        for writes in [true, false] {
            let worker = in_memory().await;
            let (end, ended) = mpsc::channel::<()>();
            let (begin, begun) = mpsc::channel();
            let hanging = worker.run(writes, Instant::now() + TIMEOUT, move |_| {
                let _ = begin.send(());
                let _ = ended.recv();
                Ok(())
            });
            let error = hanging.await.unwrap_err();
            begun.try_recv().unwrap();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert_eq!(error.outcome_unknown(), writes, "{error}");
            // What comes behind it is not begun, and its outcome is known.
            let next = worker.run(true, Instant::now() + TIMEOUT, |_| Ok(()));
            let error = next.await.unwrap_err();
            assert!(!error.outcome_unknown(), "{error}");
            drop(end);
            let until = Instant::now() + Duration::from_secs(20);
            worker.run(true, until, |_| Ok(())).await.unwrap();
            assert_eq!(worker.shared.sent.load(Ordering::Acquire), 0);
        }
    }
}
