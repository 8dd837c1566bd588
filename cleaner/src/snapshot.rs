//! The queues at one time.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{Client, Counts, Result};
use tokio::task::JoinSet;

use crate::state::QueueState;

/// How long an HTTP request waits for the server.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// Number of queues counted at the same time.
const COUNTED_TOGETHER: usize = 64;

/// The queues at one time.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// Why there are no counts: the server does not respond.
    pub(crate) error: Option<String>,
    pub(crate) counts: BTreeMap<String, Counts>,
    /// Queues that cannot be counted, for example damaged ones, and why.
    pub(crate) uncounted: BTreeMap<String, String>,
    /// The state of their cleaning.
    pub(crate) queues: BTreeMap<String, QueueState>,
}

impl Snapshot {
    /// Adds the counts of its queues.
    pub(crate) async fn taken(mut self, client: &Client) -> Snapshot {
        let until = tokio::time::Instant::now() + MAX_WAIT;
        // Checks the server first: without it every queue would report the same error, and there
        // may be no queue.
        match tokio::time::timeout_at(until, client.queues()).await {
            Ok(Err(error)) if error.kind().is_retryable() => self.error = Some(error.to_string()),
            Ok(_) => {}
            Err(_) => self.error = Some(format!("no answer for {MAX_WAIT:?}")),
        }
        if self.error.is_none() && tokio::time::timeout_at(until, self.count(client)).await.is_err()
        {
            for name in self.queues.keys().filter(|name| !self.counts.contains_key(*name)) {
                let why = || format!("no answer for {MAX_WAIT:?}");
                self.uncounted.entry(name.clone()).or_insert_with(why);
            }
        }
        self
    }

    async fn count(&mut self, client: &Client) {
        let mut names = self.queues.keys().cloned();
        let mut asked = JoinSet::new();
        loop {
            while asked.len() < COUNTED_TOGETHER
                && let Some(name) = names.next()
            {
                asked.spawn(count(client.clone(), name));
            }
            match asked.join_next().await {
                Some(Ok((name, Ok(counts)))) => drop(self.counts.insert(name, counts)),
                Some(Ok((name, Err(error)))) => {
                    drop(self.uncounted.insert(name, error.to_string()));
                }
                Some(Err(_)) => {}
                None => return,
            }
        }
    }
}

async fn count(client: Client, name: String) -> (String, Result<Counts>) {
    let counts = async { client.queue(&name)?.counts().await };
    let counts = counts.await;
    (name, counts)
}
