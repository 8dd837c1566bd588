//! From a lease to a task that starts, at once or when a slot is free. A job that this worker cannot run is settled
//! without being started.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::{Lease, WorkQueue};

use super::capacity::Waiting;
use super::log;
use super::reason::Reason;
use super::running::{Running, unattended_after};
use super::settlement::{Settlement, unhandled};
use super::settler;
use super::state::{Finished, Phase, Popped, Shared, State};
use crate::envelope::Envelope;

/// Gives each lease a place. They were leased from the queue with this index.
pub(super) fn admit(
    shared: &Arc<Shared>,
    queue_index: usize,
    queue: &WorkQueue,
    leases: Vec<Lease>,
) {
    let first_id = shared.lock().new_ids(leases.len() as u64);
    let tasks = (first_id..).zip(leases).map(|(id, lease)| {
        let mut running = Running::new(id, queue_index, queue.clone(), lease, shared.options.lease);
        let refused = read(&mut running, shared).err();
        (Arc::new(running), refused)
    });
    place_all(shared, tasks.collect());
}

/// Reads the job. Fails with what is to be done if it is not to run.
fn read(running: &mut Running, shared: &Shared) -> Result<(), Settlement> {
    let envelope = match Envelope::read(running.lease.data()) {
        Ok(envelope) => envelope,
        Err(error) => return Err(unhandled(error.to_string(), &running.facts())),
    };
    running.name = envelope.job;
    running.args = envelope.args;
    running.meta = envelope.meta;
    let Some(options) = shared.options.jobs.get(&running.name) else {
        let error = format!("no_handler: no worker has a handler for {}", running.name);
        return Err(unhandled(error, &running.facts()));
    };
    running.timeout = envelope.timeout.unwrap_or(options.timeout);
    running.retry = match envelope.retry {
        Some(rules) => rules.over(&options.retry),
        None => options.retry.clone(),
    };
    // A job that kills its worker each time is never failed by a handler.
    let (attempt, most) = (running.lease.attempt(), running.max_attempts());
    if attempt > most {
        let error = match running.lease.last_error() {
            "" => format!("attempts_exhausted: {most} attempts, the last one did not end"),
            last => format!("attempts_exhausted: {most} attempts; {last}"),
        };
        return Err(Settlement::Bury { error });
    }
    Ok(())
}

/// Gives the tasks their places, to be started or settled. All at once: the worker could otherwise end with the first of
/// them, while the others have no places yet.
fn place_all(shared: &Arc<Shared>, tasks: Vec<(Arc<Running>, Option<Settlement>)>) {
    let (mut excess, mut late) = (Vec::new(), Vec::new());
    let mut state = shared.lock();
    for (running, refused) in tasks {
        // Calls that have waited on several queues may obtain more than there are places for.
        if state.phase >= Phase::Stopped || state.room(&shared.options, state.succeeded) == 0 {
            excess.push(running);
            continue;
        }
        state.tasks.insert(running.id, running.clone());
        // From now on, because it may wait: for its start, or until the queue takes it back.
        shared.set_timer(&mut state, running.watch(&shared.options), running.id);
        if let Some(settlement) = refused {
            shared.settle_unstarted(running, settlement);
        } else if state.phase == Phase::Leasing {
            state.ready.push_back(running);
        } else {
            // The worker has begun to drain while the request was under way.
            late.push(running);
        }
    }
    settler::give_back(shared, late);
    shared.wake_caller(&mut state);
    drop(state);
    settler::leave(excess);
}

impl Shared {
    /// The next task to start, or when there is one, or the end; `None`: nothing that is known.
    pub(super) fn pop(self: &Arc<Self>) -> Option<Popped> {
        let mut state = self.lock();
        state.caller_woken = false;
        state.called_at = Instant::now();
        if std::mem::take(&mut state.unattended) {
            self.fetch.notify_one();
        }
        let next = state.end_cooldowns();
        while state.can_start(&self.options)
            && let Some(running) = state.ready.pop_front()
        {
            if running.lease.is_lost() {
                running.cancel(Reason::Lost);
            }
            if running.reason().is_some() {
                self.withdraw(running);
                continue;
            }
            if let Some((old, due)) = running.start() {
                if let Some(old) = old {
                    state.timers.remove(&(old, running.id));
                }
                self.set_timer(&mut state, due, running.id);
            }
            state.started += 1;
            state.in_slots += 1;
            state.measurements.note_start(&running);
            if !self.options.stagger.is_zero() {
                state.next_start = Some(Instant::now() + self.options.stagger);
                self.fetch.notify_one();
            }
            // Another caller may have seen nothing before, or wait for the time of this start.
            self.wake_caller(&mut state);
            drop(state);
            log::started(&running);
            return Some(Popped::Start(running));
        }
        if state.phase >= Phase::Stopped {
            return Some(Popped::End);
        }
        next.filter(|_| !state.ready.is_empty()).map(Popped::At)
    }

    /// A task that is to stop is not started, if it still waits.
    pub(super) fn withdraw_waiting(self: &Arc<Self>, running: &Running) {
        let mut state = self.lock();
        let place = state.ready.iter().position(|waiting| waiting.id == running.id);
        if let Some(running) = place.and_then(|place| state.ready.remove(place)) {
            self.withdraw(running);
        }
    }

    /// A task could start, and has waited for a caller for a long time: faces that hang or are too few do not keep jobs from
    /// other workers. Nothing is leased until there is a caller again.
    pub(super) fn give_back_unattended(self: &Arc<Self>) {
        let mut state = self.lock();
        let long = state.called_at.elapsed() >= unattended_after(self.options.lease);
        if state.callers == 0 && long && state.can_start(&self.options) {
            state.unattended = true;
            log::unattended(state.ready.len());
            self.give_back_waiting(&mut state, Waiting::All);
        }
    }

    /// It was to stop before it was started.
    fn withdraw(self: &Arc<Self>, running: Arc<Running>) {
        let settlement = match running.reason() {
            Some(Reason::Lost) => Settlement::Abandon,
            // The queue ends a cancelled job with its lease.
            _ => Settlement::Release { delay: Duration::ZERO, reason: "" },
        };
        self.settle_unstarted(running, settlement);
    }

    /// Gives the tasks that wait to be started back to their queues: all, or those for which there is no place.
    pub(super) fn give_back_waiting(self: &Arc<Self>, state: &mut State, which: Waiting) {
        settler::give_back(self, state.take_waiting(which, &self.options));
    }

    fn settle_unstarted(self: &Arc<Self>, running: Arc<Running>, settlement: Settlement) {
        running.claim();
        settler::spawn(self, Finished { running, settlement, reply: None });
    }
}
