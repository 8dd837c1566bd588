//! `work`: runs a command for each item.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use leaseq::{FailOptions, KeepAlive, Lease, LeaseOptions, ReleaseOptions, WorkQueue};
use leaseq_report::duration;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::entry::Entry;
use super::job::{Job, JobEnd};
use crate::failure::{Ended, Failure, NO, PARTLY};
use crate::global::Shared;
use crate::guard::Guard;
use crate::output::Output;
use crate::stop::Stop;
use crate::text;

/// How long to wait before an item is asked for again from a server that cannot be reached.
const REST: Duration = Duration::from_secs(1);
/// How many items at the same time at most.
const MAX_SLOTS: u16 = 1_000;

#[derive(Debug, Clone, Args)]
pub(crate) struct WorkArgs {
    pub(crate) queue: String,
    /// How many items to work on at the same time
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_SLOTS)))]
    jobs: u16,
    /// How long a lease lasts; it is extended while the command runs
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration::read)]
    lease: Duration,
    /// Kill the command after this time, and fail the item
    #[arg(long, value_name = "DURATION", value_parser = duration::read)]
    timeout: Option<Duration>,
    /// When a failed item is tried again
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration::read)]
    retry_delay: Duration,
    /// Items are dead after so many attempts, whatever their own limit [default: their own limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// End after so many items
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_jobs: Option<u64>,
    /// End when nothing is ready
    #[arg(long)]
    burst: bool,
    /// Under which name `leaseq workers` lists it [default: leaseq-work@HOST]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// What the slots share.
struct Worker {
    args: WorkArgs,
    queue: WorkQueue,
    guard: Guard,
    stop: Stop,
    output: Output,
    entry: Arc<Entry>,
    /// How many items may still be leased.
    left: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
}

pub(crate) async fn work(shared: &Shared, args: WorkArgs) -> Ended {
    let queue = shared.queue(&args.queue).await?;
    let slots = args.jobs;
    let stop = Stop::listen()?;
    let client = shared.client().await?;
    let entry = Entry::new(client, &queue, args.name.as_deref(), slots, &stop, shared.output);
    let entry = Arc::new(entry);
    // It may be told to be quiet.
    entry.beat().await;
    let worker = Arc::new(Worker {
        left: args.max_jobs.unwrap_or(u64::MAX).into(),
        args,
        queue,
        guard: Guard::start()?,
        stop,
        output: shared.output,
        entry: entry.clone(),
        done: AtomicU64::default(),
        failed: AtomicU64::default(),
    });
    let mut running = JoinSet::new();
    for _ in 0..slots {
        running.spawn(slot(worker.clone()));
    }
    let beats = tokio::spawn(entry.clone().keep());
    let mut first = None;
    while let Some(ended) = running.join_next().await {
        let ended = ended.unwrap_or_else(|_| Err(Failure::usage("a defect has ended a slot")));
        if let Err(failure) = ended {
            // The others end after what they run.
            worker.left.store(0, Ordering::Relaxed);
            first.get_or_insert(failure);
        }
    }
    beats.abort();
    entry.leave().await;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    match (first, count(&worker.done), count(&worker.failed)) {
        (Some(failure), 0, 0) => Err(failure),
        (Some(failure), ..) => Err(failure.partly()),
        (None, _, failed @ 1..) if worker.args.burst || worker.args.max_jobs.is_some() => {
            worker.output.note(&format!("leaseq: {failed} attempts failed"));
            Ok(PARTLY)
        }
        (None, 0, 0) if worker.args.burst => Ok(NO),
        _ => Ok(0),
    }
}

/// Works on one item after the other.
async fn slot(worker: Arc<Worker>) -> Result<(), Failure> {
    let mut options = LeaseOptions::new(worker.args.lease).keep_alive(KeepAlive::new());
    if worker.args.burst {
        options = options.wait(Duration::ZERO);
    }
    let mut is_away = false;
    let mut quiet = worker.entry.quiet();
    while !worker.stop.within(Duration::ZERO).await {
        let one_less = |left: u64| left.checked_sub(1);
        let order = Ordering::Relaxed;
        if worker.left.fetch_update(order, order, one_less).is_err() {
            break;
        }
        let leased = tokio::select! {
            biased;
            () = worker.stop.stopped() => break,
            () = is_quiet(&mut quiet) => {
                worker.left.fetch_add(1, order);
                tokio::select! {
                    () = worker.stop.stopped() => break,
                    _ = quiet.wait_for(|quiet| !quiet) => continue,
                }
            }
            leased = worker.queue.lease(options.clone()) => leased,
        };
        match leased {
            Ok(Some(lease)) => {
                is_away = false;
                worker.work(&Arc::new(lease)).await?;
            }
            Ok(None) => break,
            Err(error) if error.kind().is_retryable() && !worker.args.burst => {
                worker.left.fetch_add(1, order);
                if !is_away {
                    worker.output.note(&format!("leaseq: {error}; trying again"));
                }
                is_away = true;
                worker.stop.within(REST).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Ends when, and while, it is to lease nothing.
async fn is_quiet(quiet: &mut watch::Receiver<bool>) {
    if quiet.wait_for(|quiet| *quiet).await.is_err() {
        std::future::pending().await
    }
}

impl Worker {
    /// Runs the command for one item, and settles it. An error ends the worker.
    async fn work(&self, lease: &Arc<Lease>) -> Result<(), Failure> {
        let begun = Instant::now();
        let job = Job::start(&self.args.command, lease, &self.guard);
        let job = match job {
            Ok(job) => job,
            Err(error) => return Err(self.not_started(lease, &error.to_string()).await),
        };
        let place = self.entry.started(lease);
        let end = job.run(lease, self.args.timeout, &self.stop).await;
        self.entry.ended(place, lease.remaining(), self.args.lease);
        let settled = match &end {
            JobEnd::NotStarted(error) => return Err(self.not_started(lease, error).await),
            JobEnd::Done => self.queue.complete(lease).await.map(|first| match first {
                true => "completed",
                false => "completed before by another worker",
            }),
            JobEnd::Failed(error) => self.fail(lease, error).await,
            JobEnd::Cancelled => self
                .queue
                .fail_with(lease, "cancelled", FailOptions::new())
                .await
                .map(|_| "cancelled"),
            JobEnd::Stopped => {
                let reason = ReleaseOptions::new().reason("leaseq work was stopped");
                self.queue.release_with(lease, reason).await.map(|()| "released")
            }
            JobEnd::Lost => Ok("lost: the lease has ended"),
        };
        let counter = if matches!(end, JobEnd::Done) { &self.done } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
        let outcome = settled.map_or_else(|error| error.to_string(), str::to_owned);
        self.report(lease, &end, &outcome, begun.elapsed())
    }

    /// It is not the item's fault.
    async fn not_started(&self, lease: &Lease, error: &str) -> Failure {
        let reason = ReleaseOptions::new().reason("the command cannot be started");
        let _ = self.queue.release_with(lease, reason).await;
        let command = self.args.command[0].to_string_lossy();
        Failure::usage(format_args!("{command}: {error}"))
    }

    async fn fail(&self, lease: &Lease, error: &str) -> leaseq::Result<&'static str> {
        let options = match self.args.max_attempts {
            Some(most) if lease.attempt() >= most => FailOptions::new().dead(),
            _ => FailOptions::new().delay(self.args.retry_delay),
        };
        self.queue.fail_with(lease, error, options).await.map(|_| "failed")
    }

    /// With --json a line for each item; else only what went wrong.
    fn report(
        &self,
        lease: &Lease,
        end: &JobEnd,
        outcome: &str,
        time: Duration,
    ) -> Result<(), Failure> {
        let error = if let JobEnd::Failed(error) = end { error } else { "" };
        if !self.output.json {
            if !matches!(end, JobEnd::Done) || outcome != "completed" {
                let id = text::id(lease.id());
                self.output.note(&format!("leaseq: item {id}: {outcome}: {error}"));
            }
            return Ok(());
        }
        let mut object = Map::new();
        text::put_bytes(&mut object, "id", lease.id());
        object.insert("attempt".into(), lease.attempt().into());
        object.insert("outcome".into(), outcome.into());
        object.insert("error".into(), error.into());
        object.insert("run_ms".into(), text::whole_ms(time).into());
        Ok(self.output.object(&Value::Object(object))?)
    }
}
