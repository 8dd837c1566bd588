//! Starts children, and waits after failures.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use leaseq::{Error, Result};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};
use tracing::{error, warn};

use super::child::{Child, Jobs};
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
        Ok((Pool { options, starts, failures: Mutex::default() }, child, jobs))
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
                Ok((child, _)) => return child,
                Err(reason) => self.failed(&reason),
            }
        }
    }

    /// A child has ended that was not asked to. One that has run no job was no success.
    pub(crate) fn lost(&self, child: &Child, reason: &str) {
        match child.jobs {
            0 => self.failed(reason),
            _ => warn!(program = self.options.program(), reason, "a child has ended"),
        }
    }

    /// A child has run a job: children can be started.
    pub(crate) fn succeeded(&self) {
        *self.failures() = Failures::default();
    }

    fn failed(&self, reason: &str) {
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
