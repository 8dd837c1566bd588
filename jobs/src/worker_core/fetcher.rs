//! Leases jobs for free slots, and completes jobs in the same requests.
//!
//! Each queue has at most one request under way, independent of those to others. It takes along what has succeeded
//! since the last one, and asks for the queue's share of the free slots. What a queue does not have goes to others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use leaseq::{Client, ErrorKind, KeepAlive, Lease, LeaseOptions, Result, Wanted, WorkQueue};
use tokio::sync::mpsc;

use super::admission::admit;
use super::ask_order::AskOrder;
use super::discovery::{self, Found};
use super::exit::ExitReason;
use super::log;
use super::requests::{Answer, Completions, News, Request, look, wait};
use super::sources::Sources;
use super::state::{Phase, Shared};

/// When schedules that are due could not be processed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) struct Fetcher {
    shared: Arc<Shared>,
    queues: Vec<WorkQueue>,
    /// Queues that match patterns.
    found: Option<mpsc::Receiver<Vec<Found>>>,
    order: AskOrder,
    sources: Sources,
    /// By queue: what goes with its next request.
    completions: Vec<Completions>,
    requests: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// Calls that wait, and others on which nothing depends.
    background: FuturesUnordered<BoxFuture<'static, News>>,
}

/// What the fetcher finds to do.
struct Work {
    /// How many jobs the worker may have more, if everything that is being completed frees its slot.
    free: usize,
    /// How many without that: only for so many may calls wait. Otherwise a job for which one has waited could find all
    /// slots taken.
    idle: usize,
    /// Handlers have succeeded.
    completes: bool,
    /// How many tasks have ended.
    ended: u64,
    /// The worker has no tasks.
    is_empty: bool,
    /// The worker still leases, perhaps later.
    leases: bool,
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
            completions: Vec::new(),
            requests: FuturesUnordered::new(),
            background: FuturesUnordered::new(),
        };
        fetcher.add(discovery::named(client, &shared.options)?);
        fetcher.found = discovery::start(client, shared);
        Ok(fetcher)
    }

    fn add(&mut self, found: Vec<Found>) {
        for Found { queue, place, weight } in found {
            self.shared.add_queue(self.queues.len(), &queue);
            self.queues.push(queue);
            self.completions.push(Completions::new(&self.shared));
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
            let now = Instant::now();
            let Some(work) = self.ask(0, now) else { return };
            self.watch(&work, now);
            if shared.options.burst && (work.is_quiet || self.has_nothing(&work)) {
                shared.end_burst(work.ended);
            }
            let next_change = self.sources.next_change(now, work.leases);
            let wake_at = [next_change, work.wake_at].into_iter().flatten().min();
            tokio::select! {
                found = next_found(&mut self.found) => self.add(found),
                // Handlers that are about to end go with the same request.
                () = changed => tokio::task::yield_now().await,
                Some(answer) = self.requests.next() => self.take(answer).await,
                Some(news) = self.background.next() => self.hear(news),
                () = sleep_until(wake_at) => {}
            }
        }
    }

    /// Sends requests for what is free, and with what has succeeded. So many jobs have arrived, and have no places yet.
    /// `None`: the worker has ended.
    fn ask(&mut self, arrived: usize, now: Instant) -> Option<Work> {
        let work = self.take_work(arrived)?;
        self.divide(&work, now);
        self.send(&work, now);
        Some(work)
    }

    fn take_work(&mut self, arrived: usize) -> Option<Work> {
        let mut state = self.shared.lock();
        if state.is_over() {
            return None;
        }
        let finished = std::mem::take(&mut state.finished);
        state.all_asked = false;
        let wake_at = state.end_cooldowns();
        let options = &self.shared.options;
        let work = Work {
            free: state.wanted(options, state.succeeded).saturating_sub(arrived),
            idle: state.wanted(options, 0).saturating_sub(arrived),
            completes: !finished.is_empty(),
            ended: state.ended,
            is_empty: state.tasks.is_empty(),
            leases: state.phase == Phase::Leasing,
            is_quiet: state.quiet,
            wake_at,
        };
        drop(state);
        for finished in finished {
            self.completions[finished.running.queue_index].push(finished);
        }
        Some(work)
    }

    /// Divides the free slots among the queues that may have jobs.
    fn divide(&mut self, work: &Work, now: Instant) {
        self.sources.end_pauses(now);
        self.sources.disown(now, false);
        if work.completes {
            // Who waits on them may hear of jobs later than other queues are asked.
            self.order.first().for_each(|queue| self.sources.forget_empty(queue));
        }
        if self.shared.options.burst && work.is_empty && self.requests.is_empty() {
            self.sources.forget_before(work.ended);
        }
        if work.free < self.sources.reserved(now) {
            self.sources.disown(now, true);
        }
        let free = work.free.saturating_sub(self.sources.reserved(now));
        if free == 0 {
            return;
        }
        let candidates = self.sources.worth_asking(now);
        if let [last] = candidates[..]
            && self.may_wait(last, work)
        {
            // One call asks and waits.
            return self.wait_on(last, work);
        }
        for (queue, count) in self.order.divide(free, &candidates) {
            self.sources.owe(queue, count);
        }
    }

    /// Whether a call may wait on a queue that was not asked. Beside others it would get only a part of the free slots.
    fn may_wait(&self, queue: usize, work: &Work) -> bool {
        let is_free = work.idle > 0 && self.requests.is_empty();
        let is_only = self.completions[queue].is_empty() && !self.sources.any_waits();
        is_free && is_only && !self.shared.options.burst
    }

    /// Sends to each queue what there is for it, unless a request to it is under way.
    fn send(&mut self, work: &Work, now: Instant) {
        for (queue_index, queue) in self.queues.iter().enumerate() {
            let Some(count) = self.sources.can_ask(queue_index) else {
                // A worker that ends does not wait for an answer that may not come: they are settled one by one.
                if !work.leases {
                    drop(self.completions[queue_index].take());
                }
                continue;
            };
            if count == 0 && self.completions[queue_index].is_empty() {
                continue;
            }
            self.sources.ask(queue_index, now);
            let completions = self.completions[queue_index].take();
            let (queue, ended, options) = (queue.clone(), work.ended, self.lease_options());
            let burst = self.shared.options.burst;
            let request = Request { queue, queue_index, completions, count, ended, options, burst };
            self.requests.push(Box::pin(request.send()));
        }
        if self.sources.all_asked() {
            self.shared.lock().all_asked = true;
        }
    }

    /// Leaves a call on each queue that has nothing, and looks after the schedules of others that are not asked.
    fn watch(&mut self, work: &Work, now: Instant) {
        if !work.leases {
            self.background.clear();
            return;
        }
        for queue in self.sources.unwatched() {
            self.wait_on(queue, work);
        }
        // A burst must not end while a call that waits obtains something.
        let idle = if self.shared.options.burst { 0 } else { work.idle };
        self.sources.want(idle.saturating_sub(self.sources.reserved(now)));
        for queue in self.sources.begin_looks(now) {
            self.background.push(Box::pin(look(self.queues[queue].clone(), queue)));
        }
    }

    fn wait_on(&mut self, queue: usize, work: &Work) {
        let wanted = Wanted::default();
        self.sources.waits(queue, work.ended, wanted.clone());
        let call = wait(self.queues[queue].clone(), queue, wanted, self.lease_options());
        self.background.push(Box::pin(call));
    }

    /// Whether all queues were empty after the last task had ended, and nothing is under way.
    fn has_nothing(&self, work: &Work) -> bool {
        let asks =
            !self.requests.is_empty() || self.completions.iter().any(|some| !some.is_empty());
        work.free > 0 && !asks && self.sources.all_empty(work.ended)
    }

    /// Gives the jobs of an answer their places. Before, the next request is sent, for which the queue works meanwhile.
    async fn take(&mut self, answer: Answer) {
        let mut next = Some(answer);
        while let Some(answer) = next {
            let queue = answer.queue_index;
            let leases = self.answered(answer);
            if leases.is_empty() {
                return;
            }
            self.ask(leases.len(), Instant::now());
            next = self.requests.next().now_or_never().flatten();
            // To the task that writes to the connection.
            tokio::task::yield_now().await;
            admit(&self.shared, queue, &self.queues[queue], leases);
        }
    }

    fn answered(&mut self, answer: Answer) -> Vec<Lease> {
        let Answer { queue_index: queue, count, ended, leases } = answer;
        self.sources.ask_ended(queue, leases.as_ref().is_some_and(Result::is_ok));
        let Some(leases) = leases else { return Vec::new() };
        let is_empty = leases.as_ref().is_ok_and(|leases| leases.len() < count);
        self.receive(queue, is_empty.then_some(ended), leases)
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Waited { queue_index, leases } => {
                self.sources.wait_ended(queue_index);
                // It says nothing about what else there is.
                let leases = self.receive(queue_index, None, leases);
                admit(&self.shared, queue_index, &self.queues[queue_index], leases);
            }
            News::Looked { queue_index, next } => {
                if let Err(error) = &next {
                    log::not_ticked(&self.queues[queue_index], error);
                }
                self.sources.looked(queue_index, next.unwrap_or(Some(LOOK_AGAIN)));
            }
        }
    }

    /// Returns what a queue has given. It was empty when so many tasks had ended, or may have more.
    fn receive(
        &mut self,
        queue: usize,
        empty: Option<u64>,
        leases: Result<Vec<Lease>>,
    ) -> Vec<Lease> {
        match leases {
            Ok(leases) => {
                self.sources.answered(queue, empty);
                leases
            }
            Err(error) => {
                let is_first = self.sources.failed(queue);
                let hopeless = self.shared.options.burst && !error.kind().is_retryable();
                if error.kind() == ErrorKind::Closed || hopeless {
                    self.shared.abort(ExitReason::Failed, Some(error));
                } else if is_first {
                    log::not_leased(&self.queues[queue], &error);
                }
                Vec::new()
            }
        }
    }

    fn lease_options(&self) -> LeaseOptions {
        LeaseOptions::new(self.shared.options.lease).keep_alive(KeepAlive::new())
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
