//! What may be in the way of a queue, and what to do about it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use leaseq::{
    Counts, GetOptions, ItemInfo, ListOptions, ScheduleInfo, State, WorkQueue, WorkerInfo,
    WorkersOptions,
};
use leaseq_report::pause_note;
use serde::Serialize;

use crate::failure::Failure;
use crate::global::Shared;
use crate::text;

/// Items of a state that are looked at.
const SAMPLE: usize = 200;
/// Whoever works takes items back, and makes due ones ready, within this time.
const LATE: Duration = Duration::from_secs(10);
/// Whatever takes longer may hang.
const LONG: Duration = Duration::from_secs(600);
/// Longest part of an error, in characters.
const MAX_ERROR: usize = 80;

/// One of them.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// It stops the work; otherwise it is worth a look.
    pub(super) problem: bool,
    pub(super) found: String,
    pub(super) change: String,
}

pub(super) async fn of_queue(shared: &Shared, name: &str) -> Result<Vec<Finding>, Failure> {
    let queue = shared.existing(name).await?;
    let counts = queue.counts().await?;
    let mut findings = Findings { name, all: Vec::new() };
    findings.pace(&queue, &counts).await?;
    findings.schedules(&queue.schedules_with(GetOptions::new().without_data()).await?);
    // Who may look at a queue need not be allowed to list workers.
    let options = WorkersOptions::new().queue(name);
    if let Ok(workers) = super::workers::all(shared, options).await {
        findings.workers(&counts, &workers);
    }
    findings.late(&queue, &counts).await?;
    findings.failing(&queue, &counts).await?;
    Ok(findings.all)
}

struct Findings<'a> {
    name: &'a str,
    all: Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, problem: bool, found: String, change: String) {
        self.all.push(Finding { problem, found, change });
    }

    /// What the queue itself holds back.
    async fn pace(&mut self, queue: &WorkQueue, counts: &Counts) -> Result<(), Failure> {
        let name = self.name;
        if counts.paused {
            let settings = queue.settings().await?;
            let time = |word: &str, at: Option<SystemTime>| {
                at.map_or(String::new(), |at| format!(" {word} {}", text::local_time(at)))
            };
            let found = format!(
                "leasing is paused{}{}{}",
                time("since", settings.paused_at),
                time("until", settings.paused_until),
                pause_note(&settings.paused_by, &settings.pause_reason)
            );
            self.add(true, found, format!("leaseq resume {name}"));
        }
        if counts.rate_limited {
            let change = format!("wait, or raise it: leaseq settings {name} rate=…");
            self.add(false, "the rate of the queue is used up".into(), change);
        }
        if counts.held > 0 && counts.ready == 0 {
            let found = format!("{} items wait until others of their key have ended", counts.held);
            self.add(false, found, format!("look at who has them: leaseq leases {name}"));
        }
        Ok(())
    }

    /// What is not added, because its schedule is paused.
    fn schedules(&mut self, schedules: &[ScheduleInfo]) {
        let paused = schedules.iter().filter(|schedule| schedule.paused);
        let count = paused.clone().count();
        let Some(first) = paused.min_by_key(|schedule| schedule.paused_at) else { return };
        let since =
            first.paused_at.map_or(String::new(), |at| format!(" since {}", text::local_time(at)));
        let found = format!(
            "{count} of {} schedules are paused, {}{since}{}",
            schedules.len(),
            first.name,
            pause_note(&first.paused_by, &first.pause_reason)
        );
        self.add(false, found, format!("see which and why: leaseq schedules {}", self.name));
    }

    /// Who works, or does not.
    fn workers(&mut self, counts: &Counts, workers: &[WorkerInfo]) {
        let name = self.name;
        let oldest = counts.oldest_ready.unwrap_or_default();
        if workers.is_empty() && counts.leased == 0 && oldest > LATE {
            let found = format!(
                "{} items are ready, the oldest for {}, and no worker has been seen in the last 30s",
                counts.ready,
                text::rough(oldest)
            );
            self.add(true, found, "start workers of this queue".into());
        }
        let quiet = workers.iter().filter(|worker| worker.quiet).count();
        if quiet > 0 {
            let worker = workers.iter().find(|worker| worker.quiet);
            let worker = worker.map_or("NAME", |worker| worker.beat.worker.name());
            let found = format!("{quiet} of {} workers are told to lease nothing", workers.len());
            self.add(quiet == workers.len(), found, format!("leaseq worker resume {worker}"));
        }
        for worker in workers.iter().filter(|worker| worker.beat.throttled) {
            let found = format!("worker {} leases nothing at present", worker.beat.worker.name());
            let host = &worker.beat.host;
            self.add(false, found, format!("look at the memory of its machine, {host}"));
        }
        self.long_running(workers);
        // Free slots of workers that lease nothing are of no use.
        let may_lease =
            |worker: &&WorkerInfo| !worker.quiet && !worker.beat.throttled && !worker.beat.draining;
        let leasing: Vec<_> = workers.iter().filter(may_lease).collect();
        let slots: usize = leasing.iter().map(|worker| worker.beat.slots as usize).sum();
        let running = leasing.iter().flat_map(|worker| &worker.beat.running);
        let longest = running.clone().max_by_key(|item| item.elapsed);
        if let Some(longest) = longest.filter(|_| running.count() >= slots && counts.ready > 0) {
            let (id, time) = (text::id(&longest.id), text::rough(longest.elapsed));
            let found = format!(
                "all {slots} slots of the workers that may lease are busy, the longest with {id} for {time}"
            );
            let change =
                format!("start more, or see what they do: leaseq workers {name} --running");
            self.add(false, found, change);
        }
    }

    /// Commands and handlers that may hang: their workers extend the leases for as long as they run.
    fn long_running(&mut self, workers: &[WorkerInfo]) {
        let running = workers
            .iter()
            .flat_map(|worker| worker.beat.running.iter().map(move |item| (&worker.beat, item)));
        let long: Vec<_> =
            running.filter(|(_, item)| item.queue == self.name && item.elapsed > LONG).collect();
        let Some((beat, item)) = long.iter().max_by_key(|(_, item)| item.elapsed) else { return };
        let found = format!(
            "{} items have run for more than 10 minutes, the longest, {}, for {} on worker {}",
            long.len(),
            text::id(&item.id),
            text::rough(item.elapsed),
            beat.worker.name()
        );
        let change = format!(
            "if it hangs, end process {} on {}: its items are given back, at the latest when their leases expire",
            beat.process, beat.host
        );
        self.add(false, found, change);
    }

    /// What nobody has taken back, or made ready.
    async fn late(&mut self, queue: &WorkQueue, counts: &Counts) -> Result<(), Failure> {
        let change = "workers and leaseq-cleaner do that: start one";
        for (state, count, what) in [
            (
                State::Leased,
                counts.leased,
                "leases have expired, and nobody has taken the items back",
            ),
            (
                State::Delayed,
                counts.delayed,
                "delayed items are due, and nobody has made them ready",
            ),
        ] {
            if count == 0 {
                continue;
            }
            let late = |item: &&ItemInfo| item.at.is_some_and(|at| at + LATE < SystemTime::now());
            let items = sample(queue, state, false).await?;
            match items.iter().filter(late).count() {
                0 => {}
                SAMPLE => self.add(true, format!("{SAMPLE} or more {what}"), change.into()),
                late => self.add(true, format!("{late} {what}"), change.into()),
            }
        }
        Ok(())
    }

    /// What fails.
    async fn failing(&mut self, queue: &WorkQueue, counts: &Counts) -> Result<(), Failure> {
        let name = self.name;
        if counts.dead > 0 {
            let error = most_often(&sample(queue, State::Dead, true).await?);
            let found = format!("{} items are dead, most of the latest with: {error}", counts.dead);
            let change = format!(
                "leaseq dead {name} --group; once the cause is gone: leaseq requeue {name} --state dead"
            );
            self.add(false, found, change);
        }
        if counts.delayed > 0 {
            let mut items = sample(queue, State::Delayed, false).await?;
            items.retain(|item| item.failures > 0);
            if !items.is_empty() {
                let found = format!(
                    "{} delayed items have failed and will be tried again, most with: {}",
                    items.len(),
                    most_often(&items)
                );
                self.add(false, found, format!("leaseq items {name} --state delayed"));
            }
        }
        Ok(())
    }
}

async fn sample(queue: &WorkQueue, state: State, reverse: bool) -> Result<Vec<ItemInfo>, Failure> {
    let mut options = ListOptions::new().without_data().limit(SAMPLE);
    options.reverse = reverse;
    Ok(queue.list_with(state, None, &options).await?.items)
}

/// The error that most of them have.
fn most_often(items: &[ItemInfo]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for item in items {
        *counts.entry(leaseq_report::error_kind(&item.last_error)).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or(String::new(), |(error, _)| error.chars().take(MAX_ERROR).collect())
}
