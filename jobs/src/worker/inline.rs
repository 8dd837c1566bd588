//! Running one job at once, for tests.

use std::time::Duration;

use leaseq::Client;
use serde::de::DeserializeOwned;

use super::Worker;
use crate::{NewJob, Producer, QueueOptions, ResultError};

/// For this long the result is kept, and awaited.
const KEPT: Duration = Duration::from_secs(60);

impl Worker {
    /// Runs one attempt of a job and returns its result, for tests. The job goes through JSON and through a queue in
    /// memory of its own; the queues of this worker are not touched.
    ///
    /// # Errors
    /// [`ResultError::Failed`] if the handler fails, and [`ResultError::NotEnded`] if it snoozes or cannot read its
    /// arguments.
    pub async fn run_inline<T: DeserializeOwned>(
        &self,
        job: impl Into<NewJob>,
    ) -> Result<T, ResultError> {
        let client = Client::connect("memory:").await?;
        let job = job.into().queue("inline").max_attempts(1).retain(KEPT);
        let added = Producer::new(&client).enqueue(job).await?;
        let mut options = self.options.clone();
        options.queues = vec![QueueOptions::new("inline")];
        options.deployment = None;
        options.listed = false;
        let (face, mistake) = (self.face.clone(), self.mistake.clone());
        let worker = Worker { face, options, mistake, ..Worker::new(&client) };
        worker.run_until_idle().await?;
        added.result(Duration::ZERO).await
    }
}
