//! Starts children, and waits after failures.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use leaseq::{Error, Result};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};
use tracing::{error, warn};

use super::child::{Broken, Child, Jobs};
use super::options::Children;

/// The wait after the first failure; it doubles with each, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The source of a worker's children.
pub(crate) struct Pool {
    pub(crate) options: Children,
    /// How many may start at the same time.
    starts: Semaphore,
    failures: Mutex<Failures>,
    /// The names of the jobs that the first child has handlers for.
    jobs: BTreeSet<String>,
}

#[derive(Default)]
struct Failures {
    in_a_row: u32,
    /// No child is started before.
    wait_until: Option<Instant>,
}

impl Pool {
    /// Starts the first child, which tells what jobs there are.
    ///
    /// # Errors
    /// `Invalid` if it cannot be started: the reason is more likely a mistake than chance.
    pub(crate) async fn start_first(options: Children) -> Result<(Pool, Child, Jobs)> {
        options.validate()?;
        let started = Child::start(&options).await;
        let (child, jobs) = started.map_err(|reason| {
            Error::invalid(format_args!("child {:?}: {reason}", options.program()))
        })?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let starts = Semaphore::new(processors);
        let names = jobs.keys().cloned().collect();
        Ok((Pool { options, starts, failures: Mutex::default(), jobs: names }, child, jobs))
    }

    /// Starts a child, and tries again until it succeeds.
    pub(crate) async fn start(&self) -> Child {
        loop {
            // Nobody closes the semaphore.
            let _turn = self.starts.acquire().await;
            let wait_until = self.failures().wait_until;
            if let Some(at) = wait_until {
                sleep_until(at).await;
            }
            match Child::start(&self.options).await {
                Ok((child, jobs)) if jobs.keys().eq(&self.jobs) => return child,
                // The core knows the timeouts and retries of the first one's.
                Ok(_) => self.failed("it has other jobs than the first one: start the worker anew"),
                Err(reason) => self.failed(&reason),
            }
        }
    }

    /// A child that had no job is of no more use.
    pub(crate) async fn lost(&self, child: Child, broken: Broken) {
        let jobs = child.jobs;
        let reason = child.bury_broken(broken).await;
        match jobs {
            // That it has started means little.
            0 => self.failed(&reason),
            _ => warn!(program = self.options.program(), reason, "a child has ended"),
        }
    }

    /// A child has run a job: children can be started.
    pub(crate) fn succeeded(&self) {
        *self.failures() = Failures::default();
    }

    /// A child was started in vain.
    pub(crate) fn failed(&self, reason: &str) {
        let mut failures = self.failures();
        let wait = FIRST_WAIT.saturating_mul(1 << failures.in_a_row.min(16)).min(LONGEST_WAIT);
        failures.in_a_row = failures.in_a_row.saturating_add(1);
        failures.wait_until = Some(Instant::now() + wait);
        let (in_a_row, wait_ms) = (failures.in_a_row, wait.as_millis() as u64);
        drop(failures);
        let program = self.options.program();
        error!(program, reason, in_a_row, wait_ms, "a child could not be started");
    }

    fn failures(&self) -> std::sync::MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
