//! What a job is.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{NewJob, Retry};

/// How long a handler may run unless configured otherwise: 1 hour.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3600);

/// A job: its arguments, under a name that every language knows. The fields of the type are the arguments; they are
/// written as a JSON object.
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The name, such as `mail.send`: 1 to 128 bytes. Do not derive it from a path in the code, which changes.
    const NAME: &'static str;

    /// The queue to which the job is added. Default: `default`.
    const QUEUE: &'static str = "default";

    /// The options of all jobs of this type.
    fn options() -> JobOptions {
        JobOptions::default()
    }

    /// What holds for every job of this type when it is added, unless the producer says otherwise. It may depend on the
    /// arguments: `job.unique(format!("order-{}", self.order)).key(&self.customer)`.
    fn defaults(&self, job: NewJob) -> NewJob {
        job
    }
}

impl<J: Job> From<J> for NewJob {
    fn from(job: J) -> Self {
        NewJob::new(job)
    }
}

impl NewJob {
    /// A job of a type of this program, with the [defaults](Job::defaults) of that type.
    pub fn new<J: Job>(job: J) -> Self {
        let new = NewJob::named(J::NAME, J::QUEUE, &job).retain(J::options().retain);
        job.defaults(new)
    }
}

/// The options of all jobs of a name. The worker that runs a job decides on the timeout and retries, unless the job
/// was added with its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobOptions {
    /// How long a handler may run before it is cancelled: 1 ms to 30 days. Default: [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
    /// When and how often a failed job is tried again.
    pub retry: Retry,
    /// How long a job is kept after its completion, with its result. Default: not at all.
    pub retain: Duration,
}

impl Default for JobOptions {
    fn default() -> Self {
        JobOptions { timeout: DEFAULT_TIMEOUT, retry: Retry::default(), retain: Duration::ZERO }
    }
}

impl JobOptions {
    /// The defaults.
    pub fn new() -> Self {
        JobOptions::default()
    }

    /// Cancels a handler that runs for longer than this: 1 ms to 30 days.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Retries by these rules.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Keeps a job for this time after its completion, with its result.
    pub fn retain(mut self, retain: Duration) -> Self {
        self.retain = retain;
        self
    }
}
