//! The tasks, and what is done for each.

use std::time::Duration;

use leaseq_jobs::{Context, Job, JobError, JobOptions, NewJob, Retry};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Computes a checksum: work for a thread, with a result that is kept for an hour.
#[derive(Serialize, Deserialize)]
pub struct Checksum {
    /// Of this.
    pub text: String,
}

impl Job for Checksum {
    const NAME: &'static str = "checksum";

    fn options() -> JobOptions {
        JobOptions::new().timeout(Duration::from_secs(30)).retain(Duration::from_secs(3600))
    }
}

pub(crate) fn checksum(task: Checksum, _: Context) -> Result<String, JobError> {
    Ok(format!("{:x}", Sha256::digest(task.text)))
}

/// Charges a customer: never two at a time for the same one, and each order once.
#[derive(Serialize, Deserialize)]
pub struct Charge {
    /// Who pays.
    pub customer: String,
    /// For what.
    pub order: u64,
    /// How often the bank does not answer.
    pub failures: u32,
}

impl Job for Charge {
    const NAME: &'static str = "charge";
    const QUEUE: &'static str = "critical";

    fn options() -> JobOptions {
        let retry = Retry::new(5).base(Duration::from_millis(50)).never(["CardRefused"]);
        JobOptions::new().retry(retry)
    }

    fn defaults(&self, job: NewJob) -> NewJob {
        job.key(&self.customer).unique(format!("order-{}", self.order))
    }
}

pub(crate) fn charge(task: Charge, job: Context) -> Result<(), JobError> {
    if task.customer == "nobody" {
        return Err(JobError::new("CardRefused", "nobody pays"));
    }
    if job.attempt() <= task.failures {
        return Err(JobError::new("BankSilent", format!("attempt {}", job.attempt())));
    }
    Ok(())
}

/// Writes a report: added by the schedule, in the queue that has time.
#[derive(Serialize, Deserialize)]
pub struct Report {
    /// Its name.
    pub name: String,
}

impl Job for Report {
    const NAME: &'static str = "report";
    const QUEUE: &'static str = "low";
}

pub(crate) fn report(task: Report, job: Context) -> Result<(), JobError> {
    println!("report {}, attempt {}", task.name, job.attempt());
    Ok(())
}
