//! A share of the files are jobs, for the workers that have a handler: some of them fail once, and a schedule adds one more.

use std::time::Duration;

use leaseq::{Client, Counts, WorkQueue};
use leaseq_jobs::{Job, JobOptions, NewJob, Producer, Retry};
use serde::{Deserialize, Serialize};

use super::files::File;
use super::wait;
use crate::error::Error;

/// Computes the digest of a file.
#[derive(Serialize, Deserialize)]
pub struct Digest {
    /// Its path in the source tree, which is also the id of the job.
    pub path: String,
    /// How many attempts fail.
    pub failures: u32,
}

impl Job for Digest {
    const NAME: &'static str = "demo.digest";

    fn options() -> JobOptions {
        JobOptions::new().retry(Retry::new(3).base(Duration::from_millis(100)))
    }
}

/// What the schedule adds.
#[derive(Serialize, Deserialize)]
pub struct Tally {}

impl Job for Tally {
    const NAME: &'static str = "demo.tally";
}

/// The queue of the jobs, beside that of the items.
pub fn queue_of(items: &str) -> String {
    format!("{items}.jobs")
}

/// One of so many files is a job.
const SHARE: usize = 5;
/// One of so many jobs fails at its first attempt.
const FLAKY: usize = 4;

/// Splits the files into items and jobs.
pub(super) fn split(files: &[File]) -> (Vec<&File>, Vec<&File>) {
    let (mut items, mut jobs) = (Vec::new(), Vec::new());
    for (i, file) in files.iter().enumerate() {
        if i % SHARE == 0 { jobs.push(file) } else { items.push(file) }
    }
    (items, jobs)
}

pub(super) struct Jobs {
    client: Client,
    queue: WorkQueue,
    added: usize,
    flaky: usize,
}

impl Jobs {
    pub(super) fn new(client: &Client, items: &str) -> Result<Jobs, Error> {
        let queue = client.queue(&queue_of(items))?;
        Ok(Jobs { client: client.clone(), queue, added: 0, flaky: 0 })
    }

    /// Adds files as jobs; returns the errors.
    pub(super) async fn add(&mut self, files: &[&File]) -> Result<Vec<String>, Error> {
        let mut jobs = Vec::new();
        for file in files {
            let is_flaky = self.added.is_multiple_of(FLAKY);
            self.added += 1;
            self.flaky += usize::from(is_flaky);
            let job = Digest { path: file.path.clone(), failures: u32::from(is_flaky) };
            jobs.push(NewJob::new(job).queue(self.queue.name()).id(&file.path));
        }
        let added = Producer::new(&self.client).enqueue_many(jobs).await?;
        let refused = files.iter().zip(added).filter(|(_, added)| !added.added());
        Ok(refused.map(|(file, _)| format!("{} was not added", file.path)).collect())
    }

    /// Waits until every job and at least one of the schedule is completed.
    pub(super) async fn until_done(&self) -> Result<(), Error> {
        let all = self.added as u64;
        wait::counts(&self.queue, "every job is completed", |counts| {
            counts.totals.completed > all && counts.leased == 0
        })
        .await?;
        Ok(())
    }

    /// Adds what the queue has counted of the files to the counts of the items. Returns how many jobs failed once and
    /// how many the schedule added, and what is wrong.
    pub(super) async fn count(&self, counts: &mut Counts) -> Result<(Summary, Vec<String>), Error> {
        let mine = self.queue.counts().await?.totals;
        let mut faults = Vec::new();
        if mine.failed != self.flaky as u64 {
            faults.push(format!("{} jobs failed once, not {}", mine.failed, self.flaky));
        }
        let scheduled = mine.completed.saturating_sub(self.added as u64);
        counts.totals.completed += mine.completed - scheduled;
        counts.totals.added += self.added as u64;
        let check = self.queue.check().await?;
        faults.extend(check.details.iter().map(|found| format!("check found {found}")));
        Ok((Summary { jobs: self.added, retried: mine.failed, scheduled }, faults))
    }

    /// Leaves nothing behind.
    pub(super) async fn drop_queue(&self) -> Result<(), Error> {
        self.queue.drop_queue().await?;
        Ok(())
    }
}

/// What the screen shows.
pub(super) struct Summary {
    pub(super) jobs: usize,
    pub(super) retried: u64,
    pub(super) scheduled: u64,
}
