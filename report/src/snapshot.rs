//! The queues at one time.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{Client, Counts, Result};
use tokio::task::JoinSet;

/// How long a snapshot waits for the server.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// Number of queues counted at the same time.
const COUNTED_TOGETHER: usize = 64;

/// The queues at one time.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Why there are no counts: the server does not respond.
    pub error: Option<String>,
    /// By queue.
    pub counts: BTreeMap<String, Counts>,
    /// Queues that cannot be counted, for example damaged ones, and why.
    pub uncounted: BTreeMap<String, String>,
}

impl Snapshot {
    /// Counts these queues, many at the same time. Waits no longer than 3 s for the server.
    pub async fn take(client: &Client, names: Vec<String>) -> Snapshot {
        let mut taken = Snapshot::default();
        let until = tokio::time::Instant::now() + MAX_WAIT;
        // Checks the server first: without it every queue would report the same error, and there
        // may be no queue.
        match tokio::time::timeout_at(until, client.queues()).await {
            Ok(Err(error)) if error.kind().is_retryable() => taken.error = Some(error.to_string()),
            Ok(_) => {}
            Err(_) => taken.error = Some(format!("no answer for {MAX_WAIT:?}")),
        }
        if taken.error.is_none()
            && tokio::time::timeout_at(until, taken.count(client, &names)).await.is_err()
        {
            for name in names.iter().filter(|name| !taken.counts.contains_key(*name)) {
                let why = || format!("no answer for {MAX_WAIT:?}");
                taken.uncounted.entry(name.clone()).or_insert_with(why);
            }
        }
        taken
    }

    async fn count(&mut self, client: &Client, names: &[String]) {
        let mut names = names.iter().cloned();
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
