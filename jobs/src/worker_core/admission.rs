//! From a lease to a task that starts. A job that this worker cannot run is settled without being started.

use std::sync::Arc;

use leaseq::{Lease, WorkQueue};

use super::log;
use super::running::Running;
use super::settlement::{Settlement, unhandled};
use super::settler;
use super::state::{Finished, Phase, Popped, Shared};
use crate::envelope::Envelope;

/// Gives each lease a slot. They were leased from the queue with this index.
pub(super) fn admit(
    shared: &Arc<Shared>,
    queue_index: usize,
    queue: &WorkQueue,
    leases: Vec<Lease>,
) {
    let tasks = leases.into_iter().map(|lease| {
        let id = shared.lock().new_id();
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

/// Puts the tasks into slots: to be started, or to be settled. It does so at once: the worker could otherwise end with
/// the first of them, while the others have no slots yet.
fn place_all(shared: &Arc<Shared>, tasks: Vec<(Arc<Running>, Option<Settlement>)>) {
    let mut state = shared.lock();
    for (running, refused) in tasks {
        // Calls that have waited on several queues may obtain more than there are slots for.
        if state.phase >= Phase::Stopped || !state.has_room(&shared.options) {
            running.queue.give_back([&running.lease]);
            continue;
        }
        state.tasks.insert(running.id, running.clone());
        // The worker may have begun to drain while the request was under way.
        let leasing = state.phase == Phase::Leasing;
        match refused.or_else(|| (!leasing).then_some(Settlement::GiveBack)) {
            Some(settlement) => {
                running.claim();
                settler::spawn(shared, Finished { running, settlement, reply: None });
            }
            None => {
                state.count_start(&shared.options);
                state.ready.push_back(running);
                shared.starts.notify_one();
            }
        }
    }
}

impl Shared {
    /// The next task to start, or the end; `None`: neither.
    pub(super) fn pop(self: &Arc<Self>) -> Option<Popped> {
        let mut state = self.lock();
        while let Some(running) = state.ready.pop_front() {
            // Another caller may have seen nothing before.
            if !state.ready.is_empty() {
                self.starts.notify_one();
            }
            if running.lease.is_lost() {
                // Another worker may have it.
                running.claim();
                state.started -= 1;
                let settlement = Settlement::Abandon;
                settler::spawn(self, Finished { running, settlement, reply: None });
                continue;
            }
            let due = running.start(&self.options);
            self.set_timer(&mut state, due, running.id);
            drop(state);
            log::started(&running);
            return Some(Popped::Start(running));
        }
        (state.phase >= Phase::Stopped).then_some(Popped::End)
    }
}
