//! What pages read, through the caches that all viewers share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::options::MAX_WORKERS_PAGE;
use leaseq::{Diagnosis, HistoryKind, WorkersOptions, WorkersPage};
use tokio::task::JoinSet;

use crate::app::App;
use crate::failure::Failure;
use crate::numbers::Counted;
use crate::past::Past;

/// How many whole histories a request waits for that nobody has read before.
const MAX_HISTORIES: usize = 3;

/// For how long the others wait.
const PAGE_FIRST: Duration = Duration::from_millis(100);

pub(crate) type ByQueue<T> = BTreeMap<String, Result<Arc<T>, Failure>>;

impl App {
    /// The names of all queues, sorted.
    pub(crate) async fn names(&self) -> Result<Arc<Vec<String>>, Failure> {
        let ask = async { Ok(Arc::new(self.client().await?.queues().await?)) };
        self.caches.names.get(&(), ask).await
    }

    pub(crate) async fn counts(&self, name: &str) -> Result<Arc<Counted>, Failure> {
        let ask = async {
            let counts = self.client().await?.queue(name)?.counts().await?;
            Ok(Arc::new(Counted::now(counts)))
        };
        self.caches.counts.get(&name.to_owned(), ask).await
    }

    /// The minutes of a day, or the hours of a month, from a time on. There may be earlier ones.
    pub(crate) async fn history(
        &self,
        name: &str,
        kind: HistoryKind,
        since: SystemTime,
    ) -> Result<Arc<Past>, Failure> {
        let ask = |old: Option<Arc<Past>>| async {
            let queue = self.client().await?.queue(name)?;
            let old = old.map(Arc::unwrap_or_clone);
            Ok(Arc::new(Past::read(&queue, kind, since, old).await?))
        };
        let has = |past: &Arc<Past>| past.has(since);
        self.caches.history.renew(&(name.to_owned(), kind), has, ask).await
    }

    /// The whole histories of queues, and how many are still to come: who sees nothing of these for some ms sees all of them
    /// a little later.
    pub(crate) async fn histories(
        &self,
        names: &[String],
        kind: HistoryKind,
    ) -> (ByQueue<Past>, usize) {
        let known = |name: &&String| {
            self.caches.history.has(&((*name).clone(), kind), |past| past.has(UNIX_EPOCH))
        };
        let (mut now, unknown): (Vec<String>, Vec<String>) =
            names.iter().cloned().partition(|name| known(&name));
        let later = unknown.get(MAX_HISTORIES..).unwrap_or_default().to_vec();
        now.extend(unknown.into_iter().take(MAX_HISTORIES));
        let pending = later.len();
        let ask =
            move |app: App, name: String| async move { app.history(&name, kind, UNIX_EPOCH).await };
        let read = self.for_all(&now, ask).await;
        if pending > 0 {
            self.read_later(later, kind);
        }
        (read, pending)
    }

    /// Reads histories one after the other, unless others are being read.
    fn read_later(&self, names: Vec<String>, kind: HistoryKind) {
        let app = self.clone();
        let Ok(turn) = self.reading.clone().try_lock_owned() else { return };
        tokio::spawn(async move {
            let _turn = turn;
            // The page comes first.
            tokio::time::sleep(PAGE_FIRST).await;
            for name in names {
                let read = app.history(&name, kind, UNIX_EPOCH).await;
                if read.is_err_and(|failure| failure.retry) {
                    break;
                }
            }
        });
    }

    /// The first workers of the registry.
    pub(crate) async fn workers(&self) -> Result<Arc<WorkersPage>, Failure> {
        let options = WorkersOptions::new().limit(MAX_WORKERS_PAGE);
        let ask = async { Ok(Arc::new(self.client().await?.workers(options).await?)) };
        self.caches.workers.get(&(), ask).await
    }

    pub(crate) async fn doctor(&self) -> Result<Arc<Diagnosis>, Failure> {
        let ask = async { Ok(Arc::new(self.client().await?.doctor().await?)) };
        self.caches.doctor.get(&(), ask).await
    }

    /// Calls this for all queues at the same time. A queue that is damaged does not hide the others.
    pub(crate) async fn for_all<T, F>(
        &self,
        names: &[String],
        ask: impl Fn(App, String) -> F,
    ) -> BTreeMap<String, Result<T, Failure>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let mut asked = JoinSet::new();
        for name in names {
            let answer = ask(self.clone(), name.clone());
            let name = name.clone();
            asked.spawn(async move { (name, answer.await) });
        }
        asked.join_all().await.into_iter().collect()
    }
}
