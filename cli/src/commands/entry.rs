//! The entry of `leaseq work` among the workers, and what it is told there.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use leaseq::options::{BEAT_INTERVAL, MAX_BEAT_ENTRIES, MAX_WORKER_COMMANDS};
use leaseq::{
    Beat, BeatReply, Client, Lease, Measured, RunningItem, WorkQueue, WorkerAction, WorkerId,
};
use sysinfo::System;
use tokio::sync::watch;

use crate::output::Output;
use crate::stop::Stop;

/// Entries of a beat, so that it stays within its limit however long the ids are.
const MAX_RUNNING: usize = MAX_BEAT_ENTRIES / 4;
/// How long the end of a worker waits until it is listed no longer.
const LEAVING: Duration = Duration::from_millis(300);
/// How often what was measured goes into the history of the queue.
const MINUTE: Duration = Duration::from_secs(60);

/// What runs, and what was measured.
#[derive(Default)]
struct Running {
    leases: HashMap<u64, (Arc<Lease>, Instant)>,
    next: u64,
    /// Since the start.
    all: Measured,
    /// Since the last record in the history.
    new: Measured,
}

pub(super) struct Entry {
    client: Client,
    queue: WorkQueue,
    worker: WorkerId,
    host: String,
    slots: u16,
    stop: Stop,
    output: Output,
    running: Mutex<Running>,
    quiet: watch::Sender<bool>,
    executed: Mutex<VecDeque<u64>>,
    is_failing: AtomicBool,
}

impl Entry {
    /// `name`: else `leaseq-work@HOST`.
    pub(super) fn new(
        client: &Client,
        queue: &WorkQueue,
        name: Option<&str>,
        slots: u16,
        stop: &Stop,
        output: Output,
    ) -> Entry {
        let host: String = System::host_name().unwrap_or_default().chars().take(64).collect();
        let name = name.map_or_else(|| format!("leaseq-work@{host}"), str::to_owned);
        Entry {
            client: client.clone(),
            queue: queue.clone(),
            worker: WorkerId::new(name),
            host,
            slots,
            stop: stop.clone(),
            output,
            running: Mutex::default(),
            quiet: watch::Sender::new(false),
            executed: Mutex::default(),
            is_failing: AtomicBool::new(false),
        }
    }

    /// Beats until it is dropped.
    pub(super) async fn keep(self: Arc<Self>) {
        let mut recorded = Instant::now();
        loop {
            tokio::time::sleep(BEAT_INTERVAL).await;
            self.beat().await;
            if recorded.elapsed() >= MINUTE {
                recorded = Instant::now();
                self.record().await;
            }
        }
    }

    pub(super) async fn leave(&self) {
        let end = async {
            self.record().await;
            let _ = self.client.leave(&self.worker).await;
        };
        let _ = tokio::time::timeout(LEAVING, end).await;
    }

    /// An item has been started. Returns its place for [`ended`](Entry::ended).
    pub(super) fn started(&self, lease: &Arc<Lease>) -> u64 {
        let mut running = self.lock();
        running.next += 1;
        let place = running.next;
        running.leases.insert(place, (lease.clone(), Instant::now()));
        place
    }

    /// It has ended; its lease had this much time left.
    pub(super) fn ended(&self, place: u64, left: Duration, whole: Duration) {
        let mut running = self.lock();
        let Some((_, begun)) = running.leases.remove(&place) else { return };
        let ran = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let used = 1.0 - left.as_secs_f64() / whole.as_secs_f64().max(0.001);
        let used = (used.clamp(0.0, 1.0) * 1_000.0) as u64;
        let Running { all, new, .. } = &mut *running;
        for measured in [all, new] {
            measured.run.record(ran);
            measured.lease_use.record(used);
        }
    }

    /// Whether it is to lease nothing, and its changes.
    pub(super) fn quiet(&self) -> watch::Receiver<bool> {
        self.quiet.subscribe()
    }

    /// Says what runs, and obeys. Who cannot be listed works nevertheless.
    pub(super) async fn beat(&self) {
        match self.client.beat(&self.compose()).await {
            Ok(reply) => {
                self.is_failing.store(false, Ordering::Relaxed);
                self.obey(reply);
            }
            Err(error) => {
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    self.output.note(&format!("leaseq: not listed among the workers: {error}"));
                }
            }
        }
    }

    fn compose(&self) -> Beat {
        let mut beat = Beat::new(self.worker.clone());
        beat.host.clone_from(&self.host);
        beat.language = "leaseq work".into();
        beat.queues = vec![self.queue.name().to_owned()];
        beat.slots = self.slots.into();
        let executed = self.executed.lock().unwrap_or_else(PoisonError::into_inner);
        beat.acknowledged = executed.iter().copied().collect();
        drop(executed);
        let running = self.lock();
        beat.run = running.all.run.clone();
        beat.lease_use = running.all.lease_use.clone();
        let entry = |(lease, begun): &(Arc<Lease>, Instant)| RunningItem {
            queue: lease.queue().to_owned(),
            id: Bytes::copy_from_slice(lease.id()),
            elapsed: begun.elapsed(),
            deadline: lease.deadline(),
        };
        beat.running = running.leases.values().take(MAX_RUNNING).map(entry).collect();
        beat
    }

    fn obey(&self, reply: BeatReply) {
        if self.quiet.send_replace(reply.quiet) != reply.quiet {
            let what = if reply.quiet { "told to lease nothing" } else { "told to lease again" };
            self.output.note(&format!("leaseq: {what}"));
        }
        for command in reply.commands {
            let mut executed = self.executed.lock().unwrap_or_else(PoisonError::into_inner);
            if executed.contains(&command.number) {
                continue;
            }
            if executed.len() == MAX_WORKER_COMMANDS {
                executed.pop_front();
            }
            executed.push_back(command.number);
            drop(executed);
            match command.action {
                WorkerAction::Stop => {
                    self.output.note("leaseq: told to stop");
                    self.stop.request();
                }
                WorkerAction::Cancel { queue, id } if queue == self.queue.name() => {
                    let queue = self.queue.clone();
                    // The lease hears of it.
                    tokio::spawn(async move { queue.cancel(id).await });
                }
                _ => {}
            }
        }
    }

    /// What was measured is lost if it cannot be recorded: it might count twice.
    async fn record(&self) {
        let measured = std::mem::take(&mut self.lock().new);
        if !measured.is_empty() {
            let _ = self.queue.record_history(&measured).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
