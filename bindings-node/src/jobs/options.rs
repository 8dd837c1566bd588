//! Options of jobs and workers.

use leaseq::options::MAX_ATTEMPTS;
use leaseq_jobs::{Children, JobOptions, Order, QueueOptions, Retry, WorkerOptions};
use napi_derive::napi;

use crate::failure::Failure;
use crate::input::{duration, whole};

const AT_LEAST_ONE: &str = "a whole number, 1 or more";

/// As `Retry` of the crate of jobs.
#[napi(object, object_to_js = false)]
pub struct NativeRetry {
    pub attempts: f64,
    pub base_ms: f64,
    pub cap_ms: f64,
    pub on: Vec<String>,
    pub never: Vec<String>,
}

#[napi(object, object_to_js = false)]
pub struct NativeJobOptions {
    pub name: String,
    pub timeout_ms: Option<f64>,
    pub retry: Option<NativeRetry>,
}

#[napi(object, object_to_js = false)]
pub struct NativeQueueOptions {
    pub name: String,
    pub weight: f64,
}

#[napi(object, object_to_js = false)]
pub struct NativeWorkerOptions {
    pub queues: Vec<NativeQueueOptions>,
    pub jobs: Vec<NativeJobOptions>,
    pub strict: bool,
    pub slots: f64,
    pub prefetch: Option<f64>,
    pub burst: bool,
    pub owns_process: bool,
    pub name: Option<String>,
    pub lease_ms: Option<f64>,
    pub kill_after_ms: Option<f64>,
    pub grace_ms: Option<f64>,
    pub cooldown_ms: Option<f64>,
    pub stagger_ms: Option<f64>,
    pub max_jobs: Option<f64>,
    pub children: Option<NativeChildren>,
}

/// How children are started.
#[napi(object, object_to_js = false)]
pub struct NativeChildren {
    /// The program and its arguments.
    pub command: Vec<String>,
    pub max_jobs: Option<f64>,
    pub max_memory: Option<f64>,
    pub memory_limit: Option<f64>,
    pub start_timeout_ms: Option<f64>,
    /// Whether somebody asks for events.
    pub events: bool,
}

impl NativeChildren {
    pub(super) fn read(&self) -> Result<Children, Failure> {
        let (program, args) = self
            .command
            .split_first()
            .ok_or_else(|| Failure::invalid("children without a program"))?;
        let mut children = Children::new(program).args(args);
        if let Some(jobs) = self.max_jobs {
            children = children.max_jobs(whole("maxJobsPerChild", jobs, AT_LEAST_ONE)?);
        }
        if let Some(bytes) = self.max_memory {
            children = children.max_memory(whole("maxMemoryPerChild", bytes, AT_LEAST_ONE)?);
        }
        if let Some(bytes) = self.memory_limit {
            children = children.memory_limit(whole("memoryLimit", bytes, AT_LEAST_ONE)?);
        }
        if let Some(ms) = self.start_timeout_ms {
            children = children.start_timeout(duration("startTimeoutMs", ms)?);
        }
        Ok(children)
    }
}

/// The rules of this job.
pub(super) fn retry(job: &str, given: NativeRetry) -> Result<Retry, Failure> {
    let limits = format!("a whole number between 1 and {MAX_ATTEMPTS}");
    let attempts = whole(format_args!("job {job}: attempts"), given.attempts, &limits)?;
    Ok(Retry::new(attempts)
        .base(duration(format_args!("job {job}: base"), given.base_ms)?)
        .cap(duration(format_args!("job {job}: cap"), given.cap_ms)?)
        .on(given.on)
        .never(given.never))
}

impl NativeWorkerOptions {
    pub(super) fn read(self) -> Result<WorkerOptions, Failure> {
        let mut options = WorkerOptions::new();
        options.language = "node".into();
        for NativeQueueOptions { name, weight } in self.queues {
            let what = format_args!("queue {name}: the weight").to_string();
            let weight = whole(what, weight, "a whole number between 1 and 1000")?;
            options.queues.push(QueueOptions::new(name).weight(weight));
        }
        for NativeJobOptions { name, timeout_ms, retry: rules } in self.jobs {
            let mut job = JobOptions::new();
            if let Some(timeout) = timeout_ms {
                job.timeout = duration(format_args!("job {name}: a timeout"), timeout)?;
            }
            if let Some(rules) = rules {
                job.retry = retry(&name, rules)?;
            }
            options.jobs.insert(name, job);
        }
        if self.strict {
            options.order = Order::Strict;
        }
        options.slots = whole("concurrency", self.slots, "a whole number between 1 and 1000")?;
        if let Some(prefetch) = self.prefetch {
            options.prefetch = whole("prefetch", prefetch, "a whole number between 0 and 999")?;
        }
        (options.burst, options.owns_process) = (self.burst, self.owns_process);
        options.name = self.name;
        for (what, given, option) in [
            ("a lease", self.lease_ms, &mut options.lease),
            ("killAfterMs", self.kill_after_ms, &mut options.kill_after),
            ("a grace period", self.grace_ms, &mut options.grace),
            ("a cooldown", self.cooldown_ms, &mut options.cooldown),
            ("a stagger", self.stagger_ms, &mut options.stagger),
        ] {
            if let Some(ms) = given {
                *option = duration(what, ms)?;
            }
        }
        let most = self.max_jobs.map(|most| whole("maxJobs", most, AT_LEAST_ONE));
        options.max_jobs = most.transpose()?;
        Ok(options)
    }
}
