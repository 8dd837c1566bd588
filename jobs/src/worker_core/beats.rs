//! The entry of the worker in the registry, and the commands that come with it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use leaseq::options::{
    BEAT_INTERVAL, MAX_BEAT, MAX_BEAT_ENTRIES, MAX_WORKER_COMMANDS, MAX_WORKER_TEXT,
};
use leaseq::{
    Beat, BeatReply, Client, ErrorKind, Measured, RunningItem, WorkerAction, WorkerId, fit_text,
};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::task::JoinSet;

use super::capacity::Waiting;
use super::exit::ExitReason;
use super::history;
use super::log;
use super::options::WorkerOptions;
use super::reason::Reason;
use super::shutdown;
use super::state::{Phase, Shared};

/// What a running item takes in a beat besides its queue and its id, at most.
const ENTRY: usize = 128;
/// For how long the end of a worker waits until its last measurements are recorded, and until it is listed no longer.
const LEAVING: Duration = Duration::from_millis(300);

pub(super) struct Beats {
    shared: Arc<Shared>,
    client: Client,
    worker: WorkerId,
    host: String,
    /// The numbers of the last commands that were executed.
    executed: VecDeque<u64>,
    is_failing: bool,
}

impl Beats {
    pub(super) fn new(client: &Client, shared: &Arc<Shared>) -> Beats {
        let host: String = System::host_name().unwrap_or_default().chars().take(64).collect();
        let worker = WorkerId::new(name(&shared.options, &host));
        let (shared, client) = (shared.clone(), client.clone());
        Beats { shared, client, worker, host, executed: VecDeque::new(), is_failing: false }
    }

    /// Ends with the worker.
    pub(super) async fn run(mut self) {
        // It may take its time, for which neither beats nor other queues wait.
        let mut recording = JoinSet::new();
        let mut under_way = HashSet::new();
        let mut recorded: Option<Instant> = None;
        let mut idle = VecDeque::new(); // queues that were not recorded in this round
        loop {
            let next = tokio::time::sleep(BEAT_INTERVAL);
            tokio::select! {
                () = next => {}
                () = self.shared.until_phase(Phase::Stopped) => break,
            }
            self.beat().await;
            while let Some(recorded) = recording.try_join_next() {
                recorded.iter().for_each(|index| _ = under_way.remove(index));
            }
            let mut queues = Vec::new();
            if recorded.is_none_or(|begun| begun.elapsed() >= history::INTERVAL) {
                recorded = Some(Instant::now());
                let others;
                (queues, others) = self.shared.measured_queues();
                if idle.is_empty() {
                    idle = others;
                }
            }
            queues.extend(idle.drain(..idle.len().min(history::IDLE_AT_ONCE)));
            for index in queues {
                if under_way.insert(index) {
                    recording.spawn(record(self.shared.clone(), index));
                }
            }
        }
        // Without it, the worker is listed for 30 s. The last jobs were measured too.
        for index in self.shared.measured_queues().0 {
            recording.spawn(record(self.shared.clone(), index));
        }
        let leave = async { tokio::join!(self.client.leave(&self.worker), recording.join_all()) };
        _ = tokio::time::timeout(LEAVING, leave).await;
        self.shared.lock().measurements.by_queue.clear();
        self.shared.left.cancel();
    }

    /// Says what the worker does, and obeys. A worker that cannot be listed works nevertheless.
    pub(super) async fn beat(&mut self) {
        let beat = self.compose().await;
        match self.client.beat(&beat).await {
            Ok(reply) => {
                self.is_failing = false;
                self.obey(reply);
            }
            Err(error) if error.kind() == ErrorKind::Closed => {}
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    log::not_listed(&error);
                }
            }
        }
    }

    async fn compose(&self) -> Beat {
        let mut beat = Beat::new(self.worker.clone());
        beat.host.clone_from(&self.host);
        beat.language.clone_from(&self.shared.options.language);
        beat.slots = self.shared.options.slots as u32;
        beat.memory = tokio::task::spawn_blocking(memory).await.ok().flatten();
        beat.acknowledged = self.executed.iter().copied().collect();
        let state = self.shared.lock();
        beat.queues.clone_from(&state.queues);
        beat.throttled = state.throttled;
        beat.draining = state.phase >= Phase::Draining;
        let Measured { waiting, run, lease_use } = state.measurements.total.clone();
        (beat.waiting, beat.run, beat.lease_use) = (waiting, run, lease_use);
        let mut room = MAX_BEAT / 2;
        let started =
            state.tasks.values().filter(|running| running.has_started() && !running.is_detached());
        for running in started.take(MAX_BEAT_ENTRIES) {
            let lease = &running.lease;
            let size = ENTRY + lease.queue().len() + 2 * lease.id().len();
            let Some(rest) = room.checked_sub(size) else { break };
            room = rest;
            beat.running.push(RunningItem {
                queue: lease.queue().to_owned(),
                id: Bytes::copy_from_slice(lease.id()),
                elapsed: running.elapsed(),
                deadline: lease.deadline(),
            });
        }
        beat
    }

    fn obey(&mut self, reply: BeatReply) {
        if self.shared.set_quiet(reply.quiet) {
            log::quiet(reply.quiet);
        }
        for command in reply.commands {
            if self.executed.contains(&command.number) {
                continue;
            }
            if self.executed.len() == MAX_WORKER_COMMANDS {
                self.executed.pop_front();
            }
            self.executed.push_back(command.number);
            match command.action {
                WorkerAction::Stop => {
                    log::told_to_stop();
                    shutdown::drain(&self.shared, self.shared.options.grace, ExitReason::Drained);
                }
                WorkerAction::Cancel { queue, id } => self.cancel(&queue, &id),
                // Of a newer version.
                _ => {}
            }
        }
    }

    /// Also marks the item, so that its end with the task is final.
    fn cancel(&self, queue: &str, id: &[u8]) {
        let is_meant = |lease: &leaseq::Lease| lease.queue() == queue && lease.id() == id;
        let running = self.shared.tasks().into_iter().find(|running| is_meant(&running.lease));
        if let Some(running) = running {
            let shared = self.shared.clone();
            tokio::spawn(async move {
                match running.queue.cancel(running.lease.id()).await {
                    Ok(_) => {
                        shared.cancel(&running, Reason::User);
                        shared.withdraw_waiting(&running);
                    }
                    Err(error) => log::not_cancelled(&running, &error),
                }
            });
        }
    }
}

async fn record(shared: Arc<Shared>, index: usize) -> usize {
    shared.record_history(index).await;
    index
}

/// The name that stays the same when the worker is started again.
fn name(options: &WorkerOptions, host: &str) -> String {
    if let Some(name) = &options.name {
        return name.clone();
    }
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(|path| path.file_name()).unwrap_or_default();
    fit_text(&format!("{}@{host}", program.to_string_lossy()), MAX_WORKER_TEXT)
}

/// What this process uses, in bytes.
fn memory() -> Option<u64> {
    let process = sysinfo::get_current_pid().ok()?;
    let mut system = System::new();
    let memory = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[process]), false, memory);
    Some(system.process(process)?.memory())
}

impl Shared {
    /// Leases nothing while it is quiet. False: nothing has changed.
    fn set_quiet(self: &Arc<Self>, quiet: bool) -> bool {
        let mut state = self.lock();
        let changed = std::mem::replace(&mut state.quiet, quiet) != quiet;
        if quiet {
            self.give_back_waiting(&mut state, Waiting::All);
        }
        drop(state);
        self.wake_all();
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use leaseq::WorkersOptions;

    use super::*;
    use crate::{JobOptions, QueueOptions};

    #[tokio::test]
    async fn beats_say_whether_the_worker_is_throttled() {
        let client = Client::connect("memory:").await.unwrap();
        let mut options = WorkerOptions::new();
        options.queues = vec![QueueOptions::new("q")];
        options.jobs = HashMap::from([("job".to_owned(), JobOptions::new())]);
        let shared = Shared::new(options, 1).unwrap();
        let mut beats = Beats::new(&client, &shared);
        for throttled in [false, true, false] {
            shared.set_throttled(throttled);
            beats.beat().await;
            let listed = client.workers(WorkersOptions::new()).await.unwrap().workers;
            let said: Vec<_> = listed.iter().map(|worker| worker.beat.throttled).collect();
            assert_eq!(said, [throttled]);
        }
    }
}
