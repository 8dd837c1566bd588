//! What the cleaner knows, for those who ask over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leaseq::{Client, Counts};
use tokio::task::JoinSet;

use crate::metrics::Metrics;
use crate::once::may_pass;

/// Answers are this old at most, so that many who ask cost the server no more than one.
const FRESH: Duration = Duration::from_secs(1);
/// How long somebody who asks is kept waiting for the server.
const PATIENCE: Duration = Duration::from_secs(3);

/// Shared by the loop and the HTTP server.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) metrics: Metrics,
    inner: Mutex<Inner>,
    asking: tokio::sync::Mutex<Option<(Instant, Arc<Snapshot>)>>,
}

#[derive(Debug, Default)]
struct Inner {
    client: Option<Client>,
    queues: BTreeSet<String>,
    /// What is wrong, by where.
    troubles: BTreeMap<String, Trouble>,
}

#[derive(Debug, Clone, PartialEq)]
struct Trouble {
    what: String,
    /// Nothing can be done here. Else it is the matter of one queue, and no reason to take the counts
    /// of all others away from those who ask.
    stops: bool,
}

/// How the queues were at one time.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// Why there are no counts, or not all: the server does not answer.
    pub(crate) error: Option<String>,
    pub(crate) counts: BTreeMap<String, Counts>,
    /// Queues that cannot be counted, such as damaged ones, and why.
    pub(crate) uncounted: BTreeMap<String, String>,
}

impl Overview {
    pub(crate) fn new() -> Overview {
        Overview { metrics: Metrics::new(), inner: Mutex::default(), asking: Default::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this client answers; `None`: nobody does.
    pub(crate) fn set_client(&self, client: Option<Client>) {
        *self.lock() = Inner { client, ..Inner::default() };
    }

    pub(crate) fn set_queues(&self, queues: BTreeSet<String>) {
        let mut inner = self.lock();
        // With a queue goes what was wrong with it.
        let there = |place: &str| match place.rsplit_once("queue ") {
            Some((_, name)) => queues.contains(name),
            None => true,
        };
        inner.troubles.retain(|place, _| there(place));
        inner.queues = queues;
    }

    /// Notes what is wrong, and says whether that is news.
    pub(crate) fn trouble(&self, place: &str, what: &str, stops: bool) -> bool {
        self.metrics.errors.inc();
        let trouble = Trouble { what: what.to_owned(), stops };
        let before = self.lock().troubles.insert(place.to_owned(), trouble);
        before.is_none_or(|before| before.what != what)
    }

    pub(crate) fn in_trouble(&self, place: &str) -> bool {
        self.lock().troubles.contains_key(place)
    }

    /// All is well there, and whether that is news.
    pub(crate) fn well(&self, place: &str) -> bool {
        self.lock().troubles.remove(place).is_some()
    }

    /// Whether work is being done now; if not, why.
    pub(crate) async fn ready(&self) -> Result<(), String> {
        let (client, trouble) = {
            let inner = self.lock();
            let mut troubles = inner.troubles.iter();
            let stops = troubles.find(|(_, trouble)| trouble.stops);
            (
                inner.client.clone(),
                stops.map(|(place, trouble)| format!("{place}: {}", trouble.what)),
            )
        };
        let client = match (client, trouble) {
            (_, Some(trouble)) => return Err(trouble),
            (None, None) => return Err("not connected yet".into()),
            (Some(client), None) => client,
        };
        match tokio::time::timeout(FRESH, client.queues()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer for {FRESH:?}")),
        }
    }

    /// How the queues are.
    pub(crate) async fn snapshot(&self) -> Arc<Snapshot> {
        let mut last = self.asking.lock().await;
        if let Some((taken, snapshot)) = &*last
            && taken.elapsed() < FRESH
        {
            return snapshot.clone();
        }
        let (client, queues) = {
            let inner = self.lock();
            (inner.client.clone(), inner.queues.clone())
        };
        let snapshot = Arc::new(match client {
            Some(client) => take(&client, queues).await,
            None => Snapshot { error: Some("not connected".into()), ..Snapshot::default() },
        });
        *last = Some((Instant::now(), snapshot.clone()));
        snapshot
    }
}

async fn take(client: &Client, queues: BTreeSet<String>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut asked = JoinSet::new();
    for name in queues {
        match client.queue(&name) {
            Ok(queue) => drop(asked.spawn(async move { (name, queue.counts().await) })),
            Err(error) => snapshot.error = Some(error.to_string()),
        }
    }
    let all = async {
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok((name, Ok(counts))) => drop(snapshot.counts.insert(name, counts)),
                Ok((_, Err(error))) if may_pass(&error) => snapshot.error = Some(error.to_string()),
                Ok((name, Err(error))) => drop(snapshot.uncounted.insert(name, error.to_string())),
                Err(error) => snapshot.error = Some(error.to_string()),
            }
        }
    };
    if tokio::time::timeout(PATIENCE, all).await.is_err() {
        snapshot.error = Some(format!("no answer for {PATIENCE:?}"));
    }
    snapshot
}
