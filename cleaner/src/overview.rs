//! What the cleaner knows, for the HTTP server.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leaseq::{Client, DeepReport, Error};
use leaseq_report::escaped;

use crate::metrics::Metrics;
use crate::snapshot::Snapshot;
use crate::state::{News, Place, State};

/// Snapshots are reused for this long, so that many HTTP clients cost the server no more than one.
const FRESH: Duration = Duration::from_secs(1);
/// Number of failing queues that `/readyz` lists.
const MAX_LISTED: usize = 10;

/// Shared by the cleaning and the HTTP server.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) metrics: Metrics,
    inner: Mutex<Inner>,
}

/// The last snapshot and its time; locked while a new one is taken.
type Asking = Arc<tokio::sync::Mutex<Option<(Instant, Arc<Snapshot>)>>>;

#[derive(Debug, Default)]
struct Inner {
    client: Option<Client>,
    state: State,
    /// Belongs to this client: a snapshot of another client's queues is not reused.
    asking: Asking,
}

impl Overview {
    pub(crate) fn new() -> Overview {
        Overview { metrics: Metrics::new(), inner: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything: no client is connected.
    pub(crate) fn reset(&self) {
        *self.lock() = Inner::default();
    }

    /// Uses this client from now on.
    pub(crate) fn set_client(&self, client: Client) {
        let mut inner = self.lock();
        inner.client = Some(client);
        inner.asking = Asking::default();
    }

    pub(crate) fn set_queues(&self, names: &BTreeSet<String>) {
        self.lock().state.set_queues(names);
    }

    /// Number of entries in the list of queues that are not valid names.
    pub(crate) fn set_skipped(&self, count: u64) {
        self.metrics.skipped_names.set(count as i64);
    }

    pub(crate) fn deeply_cleaned(&self, queue: &str, report: &DeepReport) {
        self.lock().state.deeply_cleaned(queue, report);
    }

    /// Records an error, and logs it if it is new.
    pub(crate) fn fails(&self, place: &Place, error: &Error) {
        self.fails_with(place, &error.to_string(), error.kind().is_retryable());
    }

    /// `unavailable`: the server does not respond.
    pub(crate) fn fails_with(&self, place: &Place, why: &str, unavailable: bool) {
        self.metrics.errors.inc();
        let news = self.lock().state.fails(place, why, unavailable);
        match news {
            News::None => {}
            News::Here => tracing::error!(error = why, "{place}"),
            News::Server => tracing::error!(error = why, "{}", Place::Server),
        }
    }

    /// Records a success, and logs it if it ends a failure.
    pub(crate) fn succeeds(&self, place: &Place) {
        let news = self.lock().state.succeeds(place);
        Self::log_success(place, news);
    }

    /// Records that the server responded, and logs it if that ends an outage.
    pub(crate) fn answers(&self, place: &Place) {
        let news = self.lock().state.answers(place);
        Self::log_success(place, news);
    }

    fn log_success(place: &Place, news: News) {
        match news {
            News::None => {}
            News::Here => tracing::info!("{place}: recovered"),
            News::Server => tracing::info!("{}: recovered", Place::Server),
        }
    }

    /// Whether the cleaning works now, with the queues that fail; otherwise why not.
    pub(crate) async fn ready(&self) -> Result<String, String> {
        let (client, stopped_by, failing) = {
            let inner = self.lock();
            let failing = inner.state.queues().iter();
            let failing = failing
                .filter_map(|(name, queue)| Some((name.clone(), queue.failure()?.to_owned())))
                .take(MAX_LISTED);
            let failing: Vec<(String, String)> = failing.collect();
            (inner.client.clone(), inner.state.stopped_by(), failing)
        };
        let client = match (client, stopped_by) {
            (_, Some(why)) => return Err(why),
            (None, None) => return Err("not connected yet".into()),
            (Some(client), None) => client,
        };
        match tokio::time::timeout(FRESH, client.queues()).await {
            Ok(Err(error)) if error.kind().is_retryable() => return Err(error.to_string()),
            Ok(_) => {}
            Err(_) => return Err(format!("no answer for {FRESH:?}")),
        }
        let mut lines = vec!["ready".to_owned()];
        let shown = |(name, why)| escaped(&format!("queue {name} fails: {why}")).into_owned();
        lines.extend(failing.into_iter().map(shown));
        Ok(lines.join("\n"))
    }

    /// A snapshot of the queues.
    pub(crate) async fn snapshot(&self) -> Arc<Snapshot> {
        let asking = self.lock().asking.clone();
        let mut last = asking.lock().await;
        if let Some((taken, snapshot)) = &*last
            && taken.elapsed() < FRESH
        {
            return snapshot.clone();
        }
        let (client, queues) = {
            let inner = self.lock();
            (inner.client.clone(), inner.state.queues().clone())
        };
        let snapshot = Arc::new(match client {
            Some(client) => {
                let names = queues.keys().cloned().collect();
                Snapshot { counted: leaseq_report::Snapshot::take(&client, names).await, queues }
            }
            None => {
                let mut snapshot = Snapshot::default();
                snapshot.counted.error = Some("not connected".into());
                snapshot
            }
        });
        *last = Some((Instant::now(), snapshot.clone()));
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use leaseq_test_support::RedisServer;

    use super::*;

    #[tokio::test]
    async fn what_was_asked_of_the_old_server_does_not_answer_for_the_new_one() {
        let overview = Overview::new();
        let old = RedisServer::start();
        overview.set_client(Client::connect(&old.url()).await.unwrap());
        overview.set_queues(&BTreeSet::from(["old".to_owned()]));
        old.pause();
        let mut asked_before = std::pin::pin!(overview.snapshot());
        // The request has started and has no reply.
        assert!(tokio::time::timeout(Duration::ZERO, &mut asked_before).await.is_err());
        overview.reset();
        let (before, between) = tokio::join!(asked_before, overview.snapshot());
        assert!(before.counted.error.is_some() && before.queues.contains_key("old"), "{before:?}");
        assert_eq!(between.counted.error.as_deref(), Some("not connected"));
        // Nor is a snapshot reused that was taken without a client.
        overview.set_client(Client::connect("memory:").await.unwrap());
        overview.set_queues(&BTreeSet::from(["new".to_owned()]));
        let after = overview.snapshot().await;
        assert_eq!(after.counted.error, None);
        assert_eq!(after.queues.keys().collect::<Vec<_>>(), ["new"]);
    }
}
