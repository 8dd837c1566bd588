//! Leases jobs for free slots, and completes jobs in the same requests.
//!
//! It works in rounds, one at a time. A round completes what has succeeded since the last one, and asks the queues one
//! after the other for what is still free. What succeeds during a round goes with the next one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::{
    Client, CompleteOptions, ErrorKind, KeepAlive, Lease, LeaseOptions, Result, WorkQueue,
};
use tokio::sync::mpsc;

use super::admission::admit;
use super::ask_order::AskOrder;
use super::discovery::{self, Found};
use super::exit::ExitReason;
use super::log;
use super::settlement::{Settled, Settlement};
use super::settler::{self, completion};
use super::sources::Sources;
use super::state::{Finished, Phase, Shared};

pub(super) struct Fetcher {
    shared: Arc<Shared>,
    queues: Vec<WorkQueue>,
    /// Queues that match patterns.
    found: Option<mpsc::Receiver<Vec<Found>>>,
    order: AskOrder,
    sources: Sources,
    /// How many tasks had ended when the queues were asked.
    ended: u64,
}

/// What the fetcher finds to do.
struct Work {
    /// By queue.
    completions: Vec<Vec<Finished>>,
    /// How many jobs may be leased, if the completions free their slots.
    free: usize,
    /// Whether there is a place without that: only then may calls wait for jobs. Otherwise a job for which one has waited
    /// could find all slots taken.
    is_idle: bool,
    /// How many tasks have ended.
    ended: u64,
    /// Whether the worker is told to lease nothing.
    is_quiet: bool,
    /// When another slot may be used, or another job started.
    wake_at: Option<Instant>,
}

impl Fetcher {
    pub(super) fn new(client: &Client, shared: &Arc<Shared>) -> Result<Fetcher> {
        let mut fetcher = Fetcher {
            shared: shared.clone(),
            queues: Vec::new(),
            found: None,
            order: AskOrder::new(shared.options.order),
            sources: Sources::default(),
            ended: 0,
        };
        fetcher.add(discovery::named(client, &shared.options)?);
        fetcher.found = discovery::start(client, shared);
        Ok(fetcher)
    }

    fn add(&mut self, found: Vec<Found>) {
        for Found { queue, place, weight } in found {
            self.shared.lock().queues.push(queue.name().to_owned());
            self.queues.push(queue);
            self.order.add(place, weight);
            self.sources.add();
        }
    }

    /// Ends with the last task.
    pub(super) async fn run(mut self) {
        let shared = self.shared.clone();
        // A burst must not end before its queues are known.
        if self.found.is_some() {
            tokio::select! {
                found = next_found(&mut self.found) => self.add(found),
                () = shared.until_phase(Phase::Draining) => {}
            }
        }
        loop {
            let changed = shared.fetch.notified();
            let Some(work) = self.take_work() else { return };
            if !work.is_idle {
                self.sources.forget();
            }
            // A queue that was empty in the last round may have something now. In a burst only if a task has ended: it
            // may have added jobs, or be ready again.
            if !shared.options.burst || self.ended != work.ended {
                self.ended = work.ended;
                self.sources.forget_empty();
            }
            self.sources.end_pauses();
            let completes = work.completions.iter().any(|of_queue| !of_queue.is_empty());
            if completes || (work.free > 0 && !self.sources.worth_asking().is_empty()) {
                self.round(work.completions, work.free).await;
                continue;
            }
            let nothing_left = work.free > 0 && self.sources.all_empty();
            if shared.options.burst && (nothing_left || work.is_quiet) {
                shared.end_burst(work.ended);
            }
            let wake_at = [self.sources.next_retry(), work.wake_at].into_iter().flatten().min();
            tokio::select! {
                found = next_found(&mut self.found) => self.add(found),
                // Handlers that are about to end go with the same request.
                () = changed => tokio::task::yield_now().await,
                (queue, answer) = self.sources.next() => {
                    self.receive(queue, usize::MAX, answer);
                }
                () = sleep_until(wake_at) => {}
            }
        }
    }

    /// `None`: the worker has ended.
    fn take_work(&self) -> Option<Work> {
        let mut completions: Vec<_> = self.queues.iter().map(|_| Vec::new()).collect();
        let mut state = self.shared.lock();
        for finished in std::mem::take(&mut state.finished) {
            completions[finished.running.queue_index].push(finished);
        }
        let settling = completions.iter().map(Vec::len).sum();
        state.completing = settling;
        let wake_at = state.end_cooldowns();
        let free = state.wanted(&self.shared.options, settling);
        let is_idle = state.wanted(&self.shared.options, 0) > 0;
        let (ended, is_quiet) = (state.ended, state.quiet);
        (!state.is_over()).then_some(Work { completions, free, is_idle, ended, is_quiet, wake_at })
    }

    async fn round(&mut self, mut completions: Vec<Vec<Finished>>, mut free: usize) {
        let waits = !self.shared.options.burst;
        loop {
            let candidates = self.sources.worth_asking();
            // One call asks and waits.
            let is_last = matches!(candidates[..], [last] if completions[last].is_empty());
            if is_last && waits {
                break;
            }
            if !self.ask_each(&candidates, &mut completions, &mut free).await {
                break;
            }
        }
        for (queue, completions) in completions.into_iter().enumerate() {
            self.complete(queue, completions).await;
        }
        if free > 0 && waits {
            self.wait_for(free);
        }
    }

    /// Asks these queues for their shares of the free slots. False if there is nothing left to ask for.
    async fn ask_each(
        &mut self,
        candidates: &[usize],
        completions: &mut [Vec<Finished>],
        free: &mut usize,
    ) -> bool {
        let shares = self.order.divide(*free, candidates);
        for &(queue, count) in &shares {
            if self.shared.phase() != Phase::Leasing {
                *free = 0;
                return false;
            }
            let completions = std::mem::take(&mut completions[queue]);
            let got = self.ask(queue, completions, count).await;
            *free = free.saturating_sub(got);
        }
        !shares.is_empty() && *free > 0
    }

    /// Completes jobs of a queue, and leases up to so many others. Returns how many slots it has used.
    async fn ask(&mut self, queue: usize, completions: Vec<Finished>, count: usize) -> usize {
        let options = self.lease_options().wait(Duration::ZERO);
        let from = &self.queues[queue];
        let answer = if completions.is_empty() {
            from.lease_many(count, options).await
        } else {
            let leases = completions.iter().map(|finished| &finished.running.lease);
            let complete = complete_options(&completions);
            match from.complete_and_lease_with(leases, complete, count, options).await {
                Ok(both) => {
                    self.completed(completions, &both.completed);
                    Ok(both.leases)
                }
                Err(error) => {
                    // Those that stay unsettled keep their slots.
                    let kept = self.completion_failed(completions);
                    self.receive(queue, count, Err(error));
                    return kept;
                }
            }
        };
        self.receive(queue, count, answer)
    }

    /// Completes jobs without leasing others.
    async fn complete(&mut self, queue: usize, completions: Vec<Finished>) {
        if completions.is_empty() {
            return;
        }
        let leases = completions.iter().map(|finished| &finished.running.lease);
        let options = complete_options(&completions);
        match self.queues[queue].complete_many_with(leases, options).await {
            Ok(completed) => self.completed(completions, &completed),
            Err(_) => _ = self.completion_failed(completions),
        }
    }

    fn completed(&self, completions: Vec<Finished>, completed: &[bool]) {
        self.shared.lock().completing -= completions.len();
        for (finished, completed) in completions.into_iter().zip(completed) {
            let settled = completion(&finished.running, *completed, false);
            self.shared.end(&finished.running, finished.reply, settled);
        }
    }

    /// Repeats, one by one, what was not completed. Returns how many that are.
    fn completion_failed(&self, completions: Vec<Finished>) -> usize {
        self.shared.lock().completing -= completions.len();
        let mut repeated = 0;
        for finished in completions {
            if finished.running.lease.completed() == Some(true) {
                self.shared.end(&finished.running, finished.reply, Settled::Completed);
            } else {
                repeated += 1;
                settler::spawn(&self.shared, finished);
            }
        }
        repeated
    }

    /// Takes what a queue has answered to a call for up to so many jobs. Returns how many it got.
    fn receive(&mut self, queue: usize, asked: usize, answer: Result<Vec<Lease>>) -> usize {
        match answer {
            Ok(leases) => {
                let got = leases.len();
                // A call that has waited says nothing about what else there is.
                self.sources.answered(queue, got < asked && asked != usize::MAX);
                admit(&self.shared, queue, &self.queues[queue], leases);
                got
            }
            Err(error) => {
                let is_first = self.sources.failed(queue);
                let hopeless = self.shared.options.burst && !error.kind().is_retryable();
                if error.kind() == ErrorKind::Closed || hopeless {
                    self.shared.abort(ExitReason::Failed, Some(error));
                } else if is_first {
                    log::not_leased(&self.queues[queue], &error);
                }
                0
            }
        }
    }

    /// Leaves a call on each queue that has nothing.
    fn wait_for(&mut self, free: usize) {
        if self.shared.phase() != Phase::Leasing {
            return;
        }
        for (index, count) in self.sources.unwatched(free) {
            let (queue, options) = (self.queues[index].clone(), self.lease_options());
            let wait = Box::pin(async move { queue.lease_many(count, options).await });
            self.sources.watch(index, count, wait);
        }
    }

    fn lease_options(&self) -> LeaseOptions {
        LeaseOptions::new(self.shared.options.lease).keep_alive(KeepAlive::new())
    }
}

fn complete_options(completions: &[Finished]) -> CompleteOptions {
    let result = |finished: &Finished| match &finished.settlement {
        Settlement::Complete { result } => result.clone(),
        _ => None,
    };
    let results: Vec<_> = completions.iter().map(result).collect();
    match results.iter().any(Option::is_some) {
        true => CompleteOptions::new().results(results),
        false => CompleteOptions::new(),
    }
}

/// Never returns without patterns, or when nobody looks for queues any more.
async fn next_found(found: &mut Option<mpsc::Receiver<Vec<Found>>>) -> Vec<Found> {
    let next = match found {
        Some(found) => found.recv().await,
        None => None,
    };
    match next {
        Some(queues) => queues,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
