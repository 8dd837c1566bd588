//! The slots and their tasks, and the phase of the worker.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use leaseq::{Error, Measured, Result, WorkQueue};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::exit::{Exit, ExitReason};
use super::measurements::Measurements;
use super::options::WorkerOptions;
use super::reason::Reason;
use super::refusals::Refusals;
use super::running::Running;
use super::settlement::{Settled, Settlement};

/// Where the worker is in its life. It only goes on to later phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// It leases.
    Leasing,
    /// It leases nothing more; handlers run.
    Draining,
    /// It has ended. Handlers that do not return still hold their leases, unless the process ends.
    Stopped,
    /// Nothing is reported any more.
    Aborted,
}

/// A task that has ended, and what the queue is to do with its job.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) running: Arc<Running>,
    pub(super) settlement: Settlement,
    pub(super) reply: Option<oneshot::Sender<Settled>>,
}

/// What a call of `next` finds.
pub(super) enum Popped {
    Start(Arc<Running>),
    /// One can be started at this time.
    At(Instant),
    End,
}

/// What a worker shares with its background tasks.
pub(super) struct Shared {
    pub(super) options: WorkerOptions,
    /// Faces may call from threads outside of it.
    pub(super) runtime: Handle,
    state: Mutex<State>,
    /// There may be something for the fetcher to do.
    pub(super) fetch: Notify,
    /// A task can be started, or the worker has ended.
    pub(super) starts: Notify,
    /// A timer is due earlier than the timers know.
    pub(super) timer: Notify,
    /// The worker is not listed any more.
    pub(super) left: CancellationToken,
    /// A task has ended, or the phase or the end of the grace period has changed.
    pub(super) changed: Notify,
    /// Who wants to know which tasks are to stop.
    pub(super) stops: OnceLock<UnboundedSender<(u64, Reason)>>,
}

pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) reason: ExitReason,
    pub(super) error: Option<Error>,
    /// Every task: it waits to be started, runs, or is being settled.
    pub(super) tasks: HashMap<u64, Arc<Running>>,
    /// How many of them occupy a slot: they were started, and the queue has not confirmed their end.
    pub(super) in_slots: usize,
    /// Those that wait to be started: for a face that asks, or, if they were prefetched, for a slot.
    pub(super) ready: VecDeque<Arc<Running>>,
    /// A caller of `next` is told that a task can be started, and has not looked since: it tells the next one.
    pub(super) caller_woken: bool,
    /// Those that the fetcher is to settle.
    pub(super) finished: Vec<Finished>,
    /// Each queue has a request under way: those that finish go with the next one.
    pub(super) all_asked: bool,
    /// When something is to be done about a task.
    pub(super) timers: BTreeSet<(Instant, u64)>,
    /// When the timers wake by themselves.
    pub(super) timers_wake: Option<Instant>,
    pub(super) started: u64,
    /// How many tasks have ended.
    pub(super) ended: u64,
    pub(super) hung: usize,
    /// How many tasks in slots have succeeded, and wait for the request that completes them or for its answer.
    pub(super) succeeded: usize,
    /// How many tasks have left their slots, or their places among those that wait, before they were settled.
    pub(super) detached: usize,
    /// How many handlers ran when the worker was aborted.
    pub(super) aborted: usize,
    /// When slots that cool down may be used again.
    pub(super) cooling: VecDeque<Instant>,
    /// When the next job may start, if starts are staggered.
    pub(super) next_start: Option<Instant>,
    /// The machine has too little left of something.
    pub(super) throttled: bool,
    /// Workers of its name are told to lease nothing.
    pub(super) quiet: bool,
    /// The names of its queues.
    pub(super) queues: Vec<String>,
    pub(super) measurements: Measurements,
    /// How often it was throttled.
    pub(super) throttles: u64,
    /// The jobs of handlers that still run were settled.
    pub(super) gave_up: bool,
    /// How many slots can be used now.
    pub(super) capacity: usize,
    /// The end of the grace period, once it has begun.
    pub(super) cancel_at: Option<Instant>,
    /// How many callers wait in `next`, and when one last looked for a task or left.
    pub(super) callers: usize,
    pub(super) called_at: Instant,
    /// Jobs have waited in vain for a caller: nothing is leased until one comes.
    pub(super) unattended: bool,
    pub(super) refusals: Refusals,
    next_id: u64,
}

/// A caller waits for a task, until this is dropped.
pub(super) struct Caller<'a>(&'a Shared);

impl Caller<'_> {
    pub(super) fn new(shared: &Shared) -> Caller<'_> {
        shared.lock().callers += 1;
        Caller(shared)
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.callers -= 1;
        state.called_at = Instant::now();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("queues", &self.options.queues).finish_non_exhaustive()
    }
}

impl State {
    /// Whether nothing more happens.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Aborted || (self.phase == Phase::Stopped && self.tasks.is_empty())
    }

    /// Whether the worker has started as many jobs as it may.
    fn is_spent(&self, options: &WorkerOptions) -> bool {
        options.max_jobs.is_some_and(|most| self.started >= most)
    }

    /// The worker ends if it leases nothing more and nothing runs. True if it has ended by that.
    pub(super) fn end_if_idle(&mut self, options: &WorkerOptions) -> bool {
        let spent = self.phase == Phase::Leasing && self.is_spent(options);
        let over = self.tasks.is_empty() && (self.phase == Phase::Draining || spent);
        if over {
            self.phase = Phase::Stopped;
            if spent {
                self.reason = ExitReason::MaxJobs;
            }
        }
        over
    }

    /// The first of so many numbers.
    pub(super) fn new_ids(&mut self, count: u64) -> u64 {
        let first = self.next_id;
        self.next_id += count;
        first
    }
}

impl Shared {
    pub(super) fn new(options: WorkerOptions, capacity: usize) -> Result<Arc<Shared>> {
        options.validate()?;
        let runtime = Handle::try_current()
            .map_err(|_| Error::invalid("a worker must be started inside a tokio runtime"))?;
        Ok(Arc::new(Shared {
            state: Mutex::new(State {
                phase: Phase::Leasing,
                reason: ExitReason::Drained,
                error: None,
                tasks: HashMap::new(),
                in_slots: 0,
                ready: VecDeque::new(),
                caller_woken: false,
                finished: Vec::new(),
                all_asked: false,
                timers: BTreeSet::new(),
                timers_wake: None,
                started: 0,
                ended: 0,
                hung: 0,
                succeeded: 0,
                detached: 0,
                aborted: 0,
                cooling: VecDeque::new(),
                next_start: None,
                throttled: false,
                throttles: 0,
                quiet: false,
                queues: Vec::new(),
                measurements: Measurements::default(),
                gave_up: false,
                capacity,
                cancel_at: None,
                callers: 0,
                called_at: Instant::now(),
                unattended: false,
                refusals: Refusals::default(),
                next_id: 1,
            }),
            options,
            runtime,
            fetch: Notify::new(),
            starts: Notify::new(),
            timer: Notify::new(),
            left: CancellationToken::new(),
            changed: Notify::new(),
            stops: OnceLock::new(),
        }))
    }

    /// The worker leases from this queue, too.
    pub(super) fn add_queue(&self, index: usize, queue: &WorkQueue) {
        let mut state = self.lock();
        state.queues.push(queue.name().to_owned());
        // Nobody reports for workers that are not listed.
        if self.options.listed {
            let measured = (queue.clone(), Measured::default());
            state.measurements.by_queue.insert(index, measured);
        }
    }

    /// Nobody panics while holding it, and nobody waits.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// Returns when the worker has come to this phase.
    pub(super) async fn until_phase(&self, phase: Phase) {
        loop {
            let changed = self.changed.notified();
            if self.phase() >= phase {
                return;
            }
            changed.await;
        }
    }

    pub(super) fn set_timer(&self, state: &mut State, at: Instant, id: u64) {
        state.timers.insert((at, id));
        if state.timers_wake.is_none_or(|wake| at < wake) {
            self.timer.notify_one();
        }
    }

    /// A task may be started. One caller at a time is told: it starts as many as it can.
    pub(super) fn wake_caller(&self, state: &mut State) {
        if !state.ready.is_empty() && !std::mem::replace(&mut state.caller_woken, true) {
            self.starts.notify_one();
        }
    }

    pub(super) fn wake_all(&self) {
        self.fetch.notify_one();
        self.timer.notify_one();
        self.starts.notify_waiters();
        self.changed.notify_waiters();
    }

    /// Returns how many tasks hang, with this one if it occupies a slot.
    pub(super) fn count_hung(&self, running: &Running) -> usize {
        let mut state = self.lock();
        if state.tasks.contains_key(&running.id) {
            running.set_hung();
            state.hung += 1;
        }
        state.hung
    }

    /// The tasks that occupy slots.
    pub(super) fn tasks(&self) -> Vec<Arc<Running>> {
        self.lock().tasks.values().cloned().collect()
    }

    pub(super) fn exit(&self) -> Exit {
        let state = self.lock();
        Exit {
            reason: state.reason,
            started: state.started,
            running: state.in_slots + state.aborted,
            gave_up: state.gave_up,
            error: state.error.clone(),
        }
    }
}
