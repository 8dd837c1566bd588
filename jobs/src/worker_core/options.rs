//! What a worker is told.

use std::collections::HashMap;
use std::time::Duration;

use leaseq::options::{MAX_BATCH, MAX_LEASE};
use leaseq::{Error, Result, Schedule, WorkerId};

use super::throttle::Throttle;
use crate::JobOptions;

/// The most queues that a worker leases from.
pub(super) const MAX_QUEUES: usize = 1_000;
/// The grace period unless another one is given.
const GRACE: Duration = Duration::from_secs(25);
/// The shortest lease of a worker's jobs.
const MIN_LEASE: Duration = Duration::from_millis(100);

/// A queue of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueOptions {
    /// Its name; or a pattern, in which `*` stands for any text and `?` for a character: all queues whose names match,
    /// also those that are made later, which are found within 10 s. At most 1,000 queues.
    pub name: String,
    /// How many of its jobs are started, in relation to the other queues: 1 to 1,000. Default: 1.
    pub weight: u32,
}

impl QueueOptions {
    /// A queue with weight 1.
    pub fn new(name: impl Into<String>) -> Self {
        QueueOptions { name: name.into(), weight: 1 }
    }

    /// Starts this many of its jobs, in relation to the other queues: 1 to 1,000.
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Whether the name is a pattern.
    pub(super) fn is_pattern(&self) -> bool {
        self.name.contains(['*', '?'])
    }
}

/// From which of several queues the next job comes, if more than one has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Order {
    /// By their weights, counted in started jobs.
    #[default]
    Weighted,
    /// From the first one in the order in which they were named that has any.
    Strict,
}

/// The schedules that a program declares. When its worker starts, they become those that are stored under its name:
/// see [`WorkQueue::sync_schedules`](leaseq::WorkQueue::sync_schedules).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Deployment {
    /// The name of the program, 1 to 128 bytes. Its schedules in the queues of the worker that it does not declare any
    /// more are removed; those of others stay.
    pub owner: String,
    /// The number of the deployment, or its time, up to 2^53: an older one changes nothing.
    pub revision: u64,
    /// Each with the name of its queue.
    pub schedules: Vec<(String, Schedule)>,
}

impl Deployment {
    /// A deployment without schedules.
    pub fn new(owner: impl Into<String>, revision: u64) -> Self {
        Deployment { owner: owner.into(), revision, schedules: Vec::new() }
    }
}

/// The options of a [`WorkerCore`](crate::WorkerCore).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkerOptions {
    /// 1 to 100 names or patterns.
    pub queues: Vec<QueueOptions>,
    /// Default: by weights.
    pub order: Order,
    /// The names of the jobs that this worker runs, and their options.
    pub jobs: HashMap<String, JobOptions>,
    /// How many jobs run at the same time: 1 to 1,000. Default: 90 % of the processors that this process may use, at
    /// least 10.
    pub slots: usize,
    /// How many jobs are leased in advance, while all slots have one, so that a slot does not wait for the server between
    /// two jobs. They wait in this worker, although another one may be idle: it gives them back when it ends, is quiet or
    /// throttled, and their leases are extended meanwhile. With the slots at most 1,000. Default: 0.
    pub prefetch: usize,
    /// How long a job is leased; the lease is extended while the handler runs. A job of a worker that was killed is
    /// delivered again after this time. 100 ms to 30 days. Default: 30 s.
    pub lease: Duration,
    /// How long after its timeout a handler that still runs is [killed](crate::Task::killed). Default: 10 s.
    pub kill_after: Duration,
    /// How long handlers may go on when the worker ends by itself because others hang. Default: 25 s.
    pub grace: Duration,
    /// The worker drains if this many handlers run although they were killed, or one has for 10 minutes. Default:
    /// half of the slots.
    pub max_hung: Option<usize>,
    /// The worker ends when its queues have nothing more to lease and no handler runs. Default: no.
    pub burst: bool,
    /// The worker drains after it has started this many jobs. Default: never.
    pub max_jobs: Option<u64>,
    /// How long a slot stays empty after a handler has ended, at most 30 days. Default: not at all.
    pub cooldown: Duration,
    /// The least time between the starts of two jobs, at most 30 days. Default: none.
    pub stagger: Duration,
    /// When the worker leases nothing because memory is short. Default: [as the environment says](Throttle::from_env).
    pub throttle: Option<Throttle>,
    /// The name under which the worker is [listed](leaseq::Client::workers), the same after a restart: workers of a name
    /// are quiet together. 1 to 128 bytes without control characters. Default: the program and the host.
    pub name: Option<String>,
    /// The language of its handlers, which is listed. Default: `rust`.
    pub language: String,
    /// Whether it is listed and can be commanded. Default: yes.
    pub listed: bool,
    /// Whose schedules the worker stores before it leases. Default: none.
    pub deployment: Option<Deployment>,
    /// The process ends when the worker has: the last handlers, which cannot be stopped, are taken to be over
    /// then, and their jobs are released or failed. Otherwise these jobs stay leased until their handlers
    /// return. Default: no.
    pub owns_process: bool,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        WorkerOptions {
            queues: Vec::new(),
            order: Order::default(),
            jobs: HashMap::new(),
            slots: default_slots(),
            prefetch: 0,
            lease: Duration::from_secs(30),
            kill_after: Duration::from_secs(10),
            grace: GRACE,
            max_hung: None,
            burst: false,
            max_jobs: None,
            cooldown: Duration::ZERO,
            stagger: Duration::ZERO,
            throttle: None,
            name: None,
            language: "rust".into(),
            listed: true,
            deployment: None,
            owns_process: false,
        }
    }
}

fn default_slots() -> usize {
    slots_for(std::thread::available_parallelism().map_or(1, usize::from))
}

fn slots_for(processors: usize) -> usize {
    (processors * 9 / 10).clamp(10, MAX_BATCH)
}

impl WorkerOptions {
    /// The defaults, without a queue or a job.
    pub fn new() -> Self {
        WorkerOptions::default()
    }

    pub(super) fn validate(&self) -> Result<()> {
        let between = |what: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(Error::invalid(format_args!("{what} {value} is not between {least} and {most}")))
        };
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        between("number of queues", self.queues.len() as u64, 1, 100)?;
        between("number of slots", self.slots as u64, 1, MAX_BATCH as u64)?;
        between("prefetch", self.prefetch as u64, 0, (MAX_BATCH - self.slots) as u64)?;
        between("lease in ms", millis(self.lease), millis(MIN_LEASE), millis(MAX_LEASE))?;
        between("kill_after in ms", millis(self.kill_after), 0, millis(MAX_LEASE))?;
        between("cooldown in ms", millis(self.cooldown), 0, millis(MAX_LEASE))?;
        between("stagger in ms", millis(self.stagger), 0, millis(MAX_LEASE))?;
        between("max_jobs", self.max_jobs.unwrap_or(1), 1, u64::MAX)?;
        between("max_hung", self.max_hung.unwrap_or(1) as u64, 1, u64::MAX)?;
        for (i, queue) in self.queues.iter().enumerate() {
            between("weight", queue.weight.into(), 1, 1000)?;
            if self.queues[..i].iter().any(|other| other.name == queue.name) {
                return Err(Error::invalid(format_args!("queue {} is named twice", queue.name)));
            }
        }
        if self.jobs.is_empty() {
            return Err(Error::invalid("a worker without a handler"));
        }
        if let Some(name) = &self.name {
            WorkerId::new(name).validate()?;
        }
        let has_owner = |deployment: &Deployment| !deployment.owner.is_empty();
        if !self.deployment.as_ref().is_none_or(has_owner) {
            return Err(Error::invalid("schedules without a deployment"));
        }
        for (name, options) in &self.jobs {
            let timeout = millis(options.timeout);
            between(&format!("job {name}: timeout in ms"), timeout, 1, millis(MAX_LEASE))?;
            options
                .retry
                .validate()
                .map_err(|error| Error::invalid(format_args!("job {name}: {error}")))?;
        }
        Ok(())
    }

    pub(super) fn hung_limit(&self) -> usize {
        self.max_hung.unwrap_or(self.slots.div_ceil(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(change: impl FnOnce(&mut WorkerOptions), why: &str) {
        let mut options = WorkerOptions::new();
        options.queues = vec![QueueOptions::new("a")];
        options.jobs = HashMap::from([("job".to_owned(), JobOptions::new())]);
        options.validate().unwrap();
        change(&mut options);
        assert_eq!(options.validate().unwrap_err().to_string(), why);
    }

    #[test]
    fn the_defaults_are_an_hour_and_nine_tenths_of_the_processors() {
        assert_eq!(JobOptions::new().timeout, Duration::from_secs(3_600));
        for (processors, slots) in [(1, 10), (11, 10), (12, 10), (20, 18), (64, 57), (5_000, 1_000)]
        {
            assert_eq!(slots_for(processors), slots, "{processors} processors");
        }
        let processors = std::thread::available_parallelism().unwrap().get();
        assert_eq!(WorkerOptions::new().slots, slots_for(processors));
    }

    #[test]
    fn options_have_limits() {
        refuses(|options| options.queues.clear(), "number of queues 0 is not between 1 and 100");
        refuses(|options| options.slots = 0, "number of slots 0 is not between 1 and 1000");
        refuses(
            |options| (options.slots, options.prefetch) = (900, 101),
            "prefetch 101 is not between 0 and 100",
        );
        refuses(
            |options| options.lease = Duration::from_millis(99),
            "lease in ms 99 is not between 100 and 2592000000",
        );
        refuses(|options| options.queues[0].weight = 0, "weight 0 is not between 1 and 1000");
        refuses(|options| options.queues.push(QueueOptions::new("a")), "queue a is named twice");
        refuses(|options| options.jobs.clear(), "a worker without a handler");
        refuses(
            |options| options.max_jobs = Some(0),
            "max_jobs 0 is not between 1 and 18446744073709551615",
        );
        refuses(
            |options| options.name = Some(String::new()),
            "the name of a worker \"\" has 0 bytes, not between 1 and 128",
        );
        refuses(
            |options| options.name = Some("a\nb".into()),
            "the name of a worker \"a\\nb\" has a control character",
        );
        refuses(
            |options| options.jobs.get_mut("job").unwrap().retry.attempts = 0,
            "job job: 0 attempts are not between 1 and 65535",
        );
    }
}
