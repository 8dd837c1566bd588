//! Options of jobs and workers.

use std::time::Duration;

use leaseq_jobs::{
    Children, Deployment, JobOptions, Order, QueueOptions, Retry, Throttle, WorkerOptions,
};
use pyo3::prelude::*;

use crate::convert;

/// The attributes of `leaseq.jobs.Retry`.
pub(super) fn retry(value: &Bound<'_, PyAny>) -> PyResult<Retry> {
    let attribute = |name| value.getattr(name);
    let most = leaseq::options::MAX_ATTEMPTS;
    let attempts = convert::number("attempts", &attribute("attempts")?, 1, most)?;
    Ok(Retry::new(attempts)
        .base(convert::duration("base", &attribute("base")?)?)
        .cap(convert::duration("cap", &attribute("cap")?)?)
        .on(attribute("on")?.extract::<Vec<String>>()?)
        .never(attribute("never")?.extract::<Vec<String>>()?))
}

pub(super) fn timeout(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    convert::duration("a timeout", value)
}

/// The options of a job by its name: its timeout and its retry rules, if they are given.
type NamedJob<'py> = (String, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// What `start_worker` gets, as a dict with every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct WorkerArgs<'py> {
    queues: Vec<(String, Bound<'py, PyAny>)>,
    strict: bool,
    jobs: Vec<NamedJob<'py>>,
    slots: Option<Bound<'py, PyAny>>,
    prefetch: Option<Bound<'py, PyAny>>,
    lease: Option<Bound<'py, PyAny>>,
    kill_after: Option<Bound<'py, PyAny>>,
    max_jobs: Option<u64>,
    burst: bool,
    owns_process: bool,
    cooldown: Option<Bound<'py, PyAny>>,
    stagger: Option<Bound<'py, PyAny>>,
    name: Option<String>,
    throttle: Option<ThrottleArgs>,
    children: Option<ChildrenArgs<'py>>,
    deployment: Option<DeploymentArgs<'py>>,
    /// Whether the program is told what happens to jobs.
    pub(super) events: bool,
}

/// The name of the program, its revision, and its schedules, each with its queue.
type DeploymentArgs<'py> = (String, Bound<'py, PyAny>, Vec<(String, Bound<'py, PyAny>)>);

/// High and low mark, in percent.
type Marks = Option<(u8, u8)>;

/// The attributes of `leaseq.jobs.Throttle`.
#[derive(FromPyObject)]
struct ThrottleArgs {
    memory: Marks,
    swap: Marks,
    gpu: Marks,
    gpu_command: Vec<String>,
}

/// How children are started, as a dict with every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ChildrenArgs<'py> {
    command: Vec<String>,
    max_jobs: Option<u64>,
    max_memory: Option<u64>,
    memory_limit: Option<u64>,
    start_timeout: Option<Bound<'py, PyAny>>,
}

impl ThrottleArgs {
    fn read(self) -> Throttle {
        let mut throttle = Throttle::new();
        if let Some((high, low)) = self.memory {
            throttle = throttle.memory(high, low);
        }
        if let Some((high, low)) = self.swap {
            throttle = throttle.swap(high, low);
        }
        if let Some((high, low)) = self.gpu {
            throttle = throttle.gpu(high, low);
        }
        throttle.gpu_command(self.gpu_command)
    }
}

impl WorkerArgs<'_> {
    pub(super) fn children(&self) -> PyResult<Option<Children>> {
        let Some(args) = &self.children else { return Ok(None) };
        let Some((program, rest)) = args.command.split_first() else { return Ok(None) };
        let mut children = Children::new(program).args(rest);
        if let Some(jobs) = args.max_jobs {
            children = children.max_jobs(jobs);
        }
        if let Some(bytes) = args.max_memory {
            children = children.max_memory(bytes);
        }
        if let Some(bytes) = args.memory_limit {
            children = children.memory_limit(bytes);
        }
        if let Some(time) = &args.start_timeout {
            children = children.start_timeout(convert::duration("start_timeout", time)?);
        }
        Ok(Some(children))
    }

    pub(super) fn read(self) -> PyResult<WorkerOptions> {
        let mut options = WorkerOptions::new();
        options.language = "python".into();
        for (name, weight) in self.queues {
            let weight = convert::number(format_args!("the weight of {name}"), &weight, 1, 1000)?;
            options.queues.push(QueueOptions::new(name).weight(weight));
        }
        if self.strict {
            options.order = Order::Strict;
        }
        for (name, its_timeout, its_retry) in self.jobs {
            let mut job = JobOptions::new();
            if let Some(value) = its_timeout {
                job.timeout = timeout(&value)?;
            }
            if let Some(value) = its_retry {
                job.retry = retry(&value)?;
            }
            options.jobs.insert(name, job);
        }
        if let Some(slots) = self.slots {
            options.slots = convert::number("number of slots", &slots, 1, 1000)? as usize;
        }
        if let Some(prefetch) = self.prefetch {
            options.prefetch = convert::number("prefetch", &prefetch, 0, 999)? as usize;
        }
        if let Some(lease) = self.lease {
            options.lease = convert::duration("a lease", &lease)?;
        }
        if let Some(time) = self.kill_after {
            options.kill_after = convert::duration("kill_after", &time)?;
        }
        if let Some(time) = self.cooldown {
            options.cooldown = convert::duration("cooldown", &time)?;
        }
        if let Some(time) = self.stagger {
            options.stagger = convert::duration("stagger", &time)?;
        }
        options.name = self.name;
        if let Some((owner, revision, schedules)) = self.deployment {
            let mut deployment = Deployment::new(owner, convert::revision(&revision)?);
            for (queue, schedule) in schedules {
                deployment.schedules.push((queue, crate::schedules::schedule(&schedule)?));
            }
            options.deployment = Some(deployment);
        }
        options.throttle = self.throttle.map(ThrottleArgs::read);
        options.max_jobs = self.max_jobs;
        options.burst = self.burst;
        options.owns_process = self.owns_process;
        Ok(options)
    }
}
