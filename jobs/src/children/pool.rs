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
use super::system;

/// The wait after the first failure; it doubles with each, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// After so many failures in a row, a worker that is to end by itself gives up.
const MOST_FAILURES: u32 = 6;

/// How often the first child is started again after a signal has killed it: want of memory, or somebody who cleans up.
const MOST_KILLS: u32 = 3;

/// The source of a worker's children.
pub(crate) struct Pool {
    pub(crate) options: Children,
    /// Whether starts that fail are given up after a while.
    gives_up: bool,
    /// How many may start at the same time.
    starts: Semaphore,
    failures: Mutex<Failures>,
    /// The names of the jobs that the first child has handlers for.
    jobs: BTreeSet<String>,
}

#[derive(Default)]
struct Failures {
    in_a_row: u32,
    last: String,
    /// No child is started before.
    wait_until: Option<Instant>,
}

impl Pool {
    /// Starts the first child, which tells what jobs there are.
    ///
    /// # Errors
    /// `Invalid` if it cannot be started: the reason is more likely a mistake than chance, unless a signal has killed it less
    /// often than [`MOST_KILLS`].
    pub(crate) async fn start_first(
        options: Children,
        gives_up: bool,
    ) -> Result<(Pool, Child, Jobs)> {
        options.validate()?;
        system::heed_children().map_err(|error| {
            Error::invalid(format_args!("the ends of children cannot be noticed: {error}"))
        })?;
        let mut kills = 0;
        let (child, jobs) = loop {
            match Child::start(&options).await {
                Ok(started) => break started,
                Err(failure) if failure.was_killed && kills < MOST_KILLS => {
                    kills += 1;
                    let (program, reason) = (options.program(), failure.reason);
                    warn!(program, reason, "the first child was killed, and is started again");
                }
                Err(failure) => {
                    let (program, reason) = (options.program(), failure.reason);
                    return Err(Error::invalid(format_args!("child {program:?}: {reason}")));
                }
            }
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let starts = Semaphore::new(processors);
        let names = jobs.keys().cloned().collect();
        let failures = Mutex::default();
        Ok((Pool { options, gives_up, starts, failures, jobs: names }, child, jobs))
    }

    /// Starts a child, and tries again until it succeeds.
    ///
    /// # Errors
    /// `Invalid` with the last reason, if it is given up.
    pub(crate) async fn start(&self) -> Result<Child> {
        loop {
            // Nobody closes the semaphore.
            let _turn = self.starts.acquire().await;
            let wait_until = {
                let failures = self.failures();
                if self.gives_up && failures.in_a_row >= MOST_FAILURES {
                    let (program, last) = (self.options.program(), &failures.last);
                    return Err(Error::invalid(format_args!(
                        "child {program:?}: {MOST_FAILURES} starts have failed, the last one: {last}"
                    )));
                }
                failures.wait_until
            };
            if let Some(at) = wait_until {
                sleep_until(at).await;
            }
            match Child::start(&self.options).await {
                Ok((child, jobs)) if jobs.keys().eq(&self.jobs) => return Ok(child),
                // The core knows the timeouts and retries of the first one's.
                Ok(_) => self.failed("it has other jobs than the first one: start the worker anew"),
                Err(failure) => self.failed(&failure.reason),
            }
        }
    }

    /// A child that had no job is of no more use.
    pub(crate) async fn lost(&self, child: Child, broken: Broken) {
        let jobs = child.jobs;
        let reason = child.bury(broken).await;
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

    /// Whether several starts in a row were in vain.
    pub(crate) fn is_failing(&self) -> bool {
        self.failures().in_a_row > 1
    }

    /// A child was started in vain.
    pub(crate) fn failed(&self, reason: &str) {
        let mut failures = self.failures();
        let wait = FIRST_WAIT.saturating_mul(1 << failures.in_a_row.min(16)).min(LONGEST_WAIT);
        failures.in_a_row = failures.in_a_row.saturating_add(1);
        failures.wait_until = Some(Instant::now() + wait);
        reason.clone_into(&mut failures.last);
        let (in_a_row, wait_ms) = (failures.in_a_row, wait.as_millis() as u64);
        drop(failures);
        let program = self.options.program();
        error!(program, reason, in_a_row, wait_ms, "a child could not be started");
    }

    fn failures(&self) -> std::sync::MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_failures_wait_longer_up_to_a_limit_and_one_success_ends_that() {
        let pool = Pool {
            options: Children::new("sh").arg("-c").arg("exit 1"),
            gives_up: false,
            starts: Semaphore::new(1),
            failures: Mutex::default(),
            jobs: BTreeSet::new(),
        };
        let wait = || pool.failures().wait_until.map(|at| at - Instant::now());
        for number in 0..1_000 {
            pool.failed("no license");
            let expected = FIRST_WAIT.saturating_mul(1 << number.min(16)).min(LONGEST_WAIT);
            let waits = wait().unwrap();
            assert!(expected / 2 < waits && waits <= expected, "failure {number}: {waits:?}");
        }
        assert_eq!(pool.failures().in_a_row, 1_000);
        pool.succeeded();
        assert_eq!(wait(), None);
    }
}
