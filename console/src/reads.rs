//! What pages read, through the caches that all viewers share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use leaseq::options::MAX_WORKERS_PAGE;
use leaseq::{Diagnosis, HistoryKind, WorkersOptions, WorkersPage};
use tokio::task::JoinSet;

use crate::app::App;
use crate::failure::Failure;
use crate::numbers::Counted;
use crate::past::Past;

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
