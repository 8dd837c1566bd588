//! Configuring a worker.

use std::sync::Arc;
use std::time::Duration;

use leaseq::{Error, Schedule, ScheduleRule};
use serde::Serialize;

use super::Worker;
use super::context::Context;
use super::event::Event;
use super::handler::Registered;
use super::middleware::Middleware;
use crate::{
    Children, Deployment, Job, JobError, JobOptions, NewJob, Order, QueueOptions, Throttle,
};

impl Worker {
    /// Leases from this queue; or from all queues whose names match a pattern, also from new ones: `*` stands for any
    /// text, `?` for a character. Of several, jobs are started by their weights, 1 to 1,000. Default: the queues of the
    /// jobs that have handlers, with weight 1.
    pub fn queue(mut self, name: impl Into<String>, weight: u32) -> Self {
        self.options.queues.push(QueueOptions::new(name).weight(weight));
        self
    }

    /// Leases from a queue only if those named before it have nothing.
    pub fn strict_order(mut self) -> Self {
        self.options.order = Order::Strict;
        self
    }

    /// Runs this many handlers at the same time: 1 to 1,000. Default: 90 % of the processors, at least 10.
    pub fn slots(mut self, slots: usize) -> Self {
        self.options.slots = slots;
        self
    }

    /// Leases this many jobs in advance, while all slots have one, so that a slot does not wait for the server between two
    /// jobs: for many short jobs, above all in [children](Worker::children). They wait in this worker although another
    /// one may be idle; it gives them back when it ends, is quiet or throttled. With the slots at most 1,000. Default: 0.
    pub fn prefetch(mut self, jobs: usize) -> Self {
        self.options.prefetch = jobs;
        self
    }

    /// Leases jobs for this time, and extends the leases while handlers run. A job of a worker that was killed is
    /// delivered again after this time: 100 ms to 30 days. Default: 30 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease;
        self
    }

    /// Kills a handler that still runs this long after its timeout. Default: 10 s.
    pub fn kill_after(mut self, time: Duration) -> Self {
        self.options.kill_after = time;
        self
    }

    /// How long handlers may go on when the worker is to end. Default: 25 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = grace;
        self
    }

    /// Leaves a slot empty for this time after each job.
    pub fn cooldown(mut self, time: Duration) -> Self {
        self.options.cooldown = time;
        self
    }

    /// Starts no job sooner than this after the one before, whatever slots are free.
    pub fn stagger(mut self, time: Duration) -> Self {
        self.options.stagger = time;
        self
    }

    /// Is [listed](leaseq::Client::workers) under this name, which stays the same when the worker is started again.
    /// Workers of one name are quiet together. Default: the program and the host.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = Some(name.into());
        self
    }

    /// Serves metrics for Prometheus at `/metrics` of this address, which should not be a public one: the run time of
    /// handlers and what became of their jobs, by queue and job; slots, and throttling.
    #[cfg(feature = "metrics")]
    pub fn metrics(mut self, address: std::net::SocketAddr) -> Self {
        self.metrics = Some(address);
        self
    }

    /// Leases nothing while memory is short. Default: [as the environment says](Throttle::from_env).
    pub fn throttle(mut self, throttle: Throttle) -> Self {
        self.options.throttle = Some(throttle);
        self
    }

    /// Ends after this many jobs.
    pub fn max_jobs(mut self, jobs: u64) -> Self {
        self.options.max_jobs = Some(jobs);
        self
    }

    /// Ends when the queues have nothing more to lease and no handler runs. The exit status is 3 if there was nothing
    /// to do.
    pub fn burst(mut self) -> Self {
        self.options.burst = true;
        self
    }

    /// Declares the schedules of this program under its name. The revision is the number of its deployment, or its time:
    /// an older deployment that starts again changes nothing. When the worker starts, the program's schedules become those
    /// that it declares here: new ones are stored, and those that are gone are removed.
    pub fn deployment(mut self, program: impl Into<String>, revision: u64) -> Self {
        let mut deployment = Deployment::new(program, revision);
        if let Some(before) = self.options.deployment.take() {
            deployment.schedules = before.schedules;
        }
        self.options.deployment = Some(deployment);
        self
    }

    /// Adds this job at the times of a rule, once for each time however many workers there are. Needs a
    /// [`deployment`](Worker::deployment). The name is the schedule's own in the job's queue. A time is left out while
    /// the job of the one before has not ended, and one job is added for all times that were missed.
    pub fn schedule(
        self,
        name: impl Into<String>,
        rule: ScheduleRule,
        job: impl Into<NewJob>,
    ) -> Self {
        self.schedule_with(name, rule, job, |schedule| schedule)
    }

    /// [`schedule`](Worker::schedule) with options: `|schedule| schedule.overlap().missed(Missed::Skip)`.
    pub fn schedule_with(
        mut self,
        name: impl Into<String>,
        rule: ScheduleRule,
        job: impl Into<NewJob>,
        options: impl FnOnce(Schedule) -> Schedule,
    ) -> Self {
        match job.into().into_item() {
            Ok((queue, item)) => {
                let schedule = options(Schedule::new(name, rule, item));
                let deployment = &mut self.options.deployment;
                let deployment = deployment.get_or_insert_with(|| Deployment::new("", 0));
                deployment.schedules.push((queue, schedule));
            }
            Err(error) => _ = self.mistake.get_or_insert(error),
        }
        self
    }

    /// Shares a value with all handlers: see [`Context::state`].
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.face.share(value);
        self
    }

    /// Does this around every handler. The first middleware is the outermost.
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.face.middleware.push(Arc::new(middleware));
        self
    }

    /// Calls this function for everything that happens to a job. It must not block.
    pub fn on_event(mut self, hook: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.face.hooks.push(Arc::new(hook));
        self
    }

    /// Runs jobs of this type with an async function. It is cancelled by [`Context::cancelled`], and dropped at its next
    /// `await` if it still runs after its hard timeout, or when the worker ends. Code that blocks belongs into
    /// [`handle_blocking`](Worker::handle_blocking).
    pub fn handle<J, F, Fut, T>(self, handler: F) -> Self
    where
        J: Job,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, JobError>> + Send + 'static,
        T: Serialize + 'static,
    {
        self.register(J::NAME, J::QUEUE, J::options(), Registered::future(handler))
    }

    /// Runs jobs of this type with a function that blocks, on a thread of its own. It should look at
    /// [`Context::is_cancelled`] now and then, because nothing can stop it: after its timeout it keeps its slot and its
    /// lease until it returns. A tokio runtime has 512 such threads unless configured otherwise.
    pub fn handle_blocking<J, F, T>(self, handler: F) -> Self
    where
        J: Job,
        F: Fn(J, Context) -> Result<T, JobError> + Send + Sync + 'static,
        T: Serialize + 'static,
    {
        self.register(J::NAME, J::QUEUE, J::options(), Registered::blocking(handler))
    }

    /// Runs jobs in child processes instead of handlers of this process: one child for each slot. The children tell what
    /// jobs they have handlers for, and from which queues. See `docs/isolation.md`.
    pub fn children(mut self, children: Children) -> Self {
        self.face.children = Some(children);
        self
    }

    fn register(
        mut self,
        name: &'static str,
        queue: &'static str,
        options: JobOptions,
        handler: Registered,
    ) -> Self {
        if self.options.jobs.insert(name.to_owned(), options).is_some() {
            let twice = Error::invalid(format_args!("job {name} has two handlers"));
            self.mistake.get_or_insert(twice);
        }
        self.face.handlers.insert(name, Arc::new(handler));
        if !self.face.queues.contains(&queue) {
            self.face.queues.push(queue);
        }
        self
    }
}
