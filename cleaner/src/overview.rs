//! What the cleaner knows, for those who ask over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leaseq::{Client, Counts, DeepReport, Error, Result};
use tokio::task::JoinSet;

use crate::escape::escaped;
use crate::metrics::Metrics;
use crate::state::{News, Place, QueueState, State};

/// Answers are this old at most, so that many who ask cost the server no more than one.
const FRESH: Duration = Duration::from_secs(1);
/// How long somebody who asks is kept waiting for the server.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// How many queues are counted at the same time.
const COUNTED_TOGETHER: usize = 64;
/// How many failing queues `/readyz` lists.
const MAX_LISTED: usize = 10;

/// Shared by the loop and the HTTP server.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) metrics: Metrics,
    inner: Mutex<Inner>,
}

/// The last answer and when it came; locked while one is asked for.
type Asking = Arc<tokio::sync::Mutex<Option<(Instant, Arc<Snapshot>)>>>;

#[derive(Debug, Default)]
struct Inner {
    client: Option<Client>,
    state: State,
    /// Of this client alone: what another was asked does not answer for it.
    asking: Asking,
}

/// How the queues were at one time.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// Why there are no counts: the server does not answer.
    pub(crate) error: Option<String>,
    pub(crate) counts: BTreeMap<String, Counts>,
    /// Queues that cannot be counted, such as damaged ones, and why.
    pub(crate) uncounted: BTreeMap<String, String>,
    /// How cleaning them goes.
    pub(crate) queues: BTreeMap<String, QueueState>,
}

impl Overview {
    pub(crate) fn new() -> Overview {
        Overview { metrics: Metrics::new(), inner: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins anew: nothing is connected.
    pub(crate) fn reset(&self) {
        *self.lock() = Inner::default();
    }

    /// From now on this client answers.
    pub(crate) fn set_client(&self, client: Client) {
        let mut inner = self.lock();
        inner.client = Some(client);
        inner.asking = Asking::default();
    }

    pub(crate) fn set_queues(&self, names: &BTreeSet<String>) {
        self.lock().state.set_queues(names);
    }

    /// How many entries of the list of queues are no names of queues.
    pub(crate) fn set_skipped(&self, count: u64) {
        self.metrics.skipped_names.set(count as i64);
    }

    pub(crate) fn deeply_cleaned(&self, queue: &str, report: &DeepReport) {
        self.lock().state.deeply_cleaned(queue, report);
    }

    /// Notes an error, and logs it if it is news.
    pub(crate) fn fails(&self, place: &Place, error: &Error) {
        self.fails_with(place, &error.to_string(), error.kind().is_retryable());
    }

    /// `unavailable`: the server does not answer.
    pub(crate) fn fails_with(&self, place: &Place, why: &str, unavailable: bool) {
        self.metrics.errors.inc();
        let news = self.lock().state.fails(place, why, unavailable);
        match news {
            News::None => {}
            News::Here => tracing::error!(error = why, "{place}"),
            News::Server => tracing::error!(error = why, "{}", Place::Server),
        }
    }

    /// Notes a success, and logs it if it is news.
    pub(crate) fn succeeds(&self, place: &Place) {
        let news = self.lock().state.succeeds(place);
        Self::log_success(place, news);
    }

    /// Notes that the server has answered there, and logs it if it is news.
    pub(crate) fn answers(&self, place: &Place) {
        let news = self.lock().state.answers(place);
        Self::log_success(place, news);
    }

    fn log_success(place: &Place, news: News) {
        match news {
            News::None => {}
            News::Here => tracing::info!("{place}: all is well again"),
            News::Server => tracing::info!("{}: all is well again", Place::Server),
        }
    }

    /// Whether work is being done now, with the queues that fail all the same; if not, why.
    pub(crate) async fn ready(&self) -> std::result::Result<String, String> {
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

    /// How the queues are.
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
            Some(client) => Snapshot { queues, ..Snapshot::default() }.taken(&client).await,
            None => Snapshot { error: Some("not connected".into()), ..Snapshot::default() },
        });
        *last = Some((Instant::now(), snapshot.clone()));
        snapshot
    }
}

impl Snapshot {
    /// With the counts of its queues.
    async fn taken(mut self, client: &Client) -> Snapshot {
        let until = tokio::time::Instant::now() + MAX_WAIT;
        // Without a server all queues are the same, and there may be none.
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
        // It has begun, and has no answer.
        assert!(tokio::time::timeout(Duration::ZERO, &mut asked_before).await.is_err());
        overview.reset();
        let (before, between) = tokio::join!(asked_before, overview.snapshot());
        assert!(before.error.is_some() && before.queues.contains_key("old"), "{before:?}");
        assert_eq!(between.error.as_deref(), Some("not connected"));
        // Nor does what was asked of none.
        overview.set_client(Client::connect("memory:").await.unwrap());
        overview.set_queues(&BTreeSet::from(["new".to_owned()]));
        let after = overview.snapshot().await;
        assert_eq!(after.error, None);
        assert_eq!(after.queues.keys().collect::<Vec<_>>(), ["new"]);
    }
}
