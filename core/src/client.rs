//! A client: the connections, and the queues they serve.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::dispatch::{Context, Dispatch, LaneNames, MAX_RETIRING};
use crate::keep_alive::KeepAlives;
use crate::known::Known;
use crate::lock::lock;
use crate::name::{QueueName, QueueNames};
use crate::options::ConnectOptions;
use crate::outcomes::waits::OutcomeWaits;
use crate::watches::Watches;
use crate::{Diagnosis, Error, Result, engine, fork, queue_advice};

/// Owns the connections to one server and serves any number of queues. Clones share everything.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    context: Arc<Context>,
    queues: Mutex<Known>,
}

impl Inner {
    fn queues(&self) -> MutexGuard<'_, Known> {
        lock(&self.queues)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.context.is_here() {
            let queues = self.queues.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget((self.context.clone(), std::mem::take(queues)));
            return;
        }
        // The last handle is gone: ends background work that would outlive it.
        self.context.closed.cancel();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to `redis://`, `rediss://` (TLS), `redis+unix:///path`,
    /// `redis+sentinel://h1:26379,h2:26379/master-name` or `redis+cluster://h1:7000,h2:7000`, or
    /// opens the embedded engine, `sqlite:path/to/file.db` or `memory:`.
    /// User, password, database number and options stand in the URL:
    /// `redis://user:password@host:6379/0?namespace=leaseq&timeout_ms=10000`,
    /// `sqlite:jobs.db?synchronous=normal`. User and password may stand among the options instead,
    /// `?user=…&password=…`, and must for a Unix socket; `user` needs a password. [`redact_url`]
    /// shows a URL without them.
    ///
    /// Tries each server of the URL once. If it reaches none, it fails at once, or after the connect
    /// time-out (2 s) for each server, and after the longer of both time-outs at the latest. A program
    /// that starts before its server should call again. Once connected, operations are retried for
    /// their time-out (10 s), whatever happens to the connections.
    ///
    /// [`redact_url`]: crate::redact_url
    ///
    /// A forked child must connect anew: with the hooks of `leaseq::fork`, its parent's client fails there with
    /// `Invalid`. For the embedded engine they must be registered. Otherwise a child that was forked while its
    /// parent had a file open cannot open any (`Invalid`).
    ///
    /// Must be called inside a tokio runtime, which then runs the client's background work.
    ///
    /// # Errors
    /// `Invalid` for a wrong URL, option, credential, certificate or database number, and for a server
    /// that is neither Redis nor Valkey; `Incompatible` for a server or file of another version, or a
    /// server that would evict items; `Unavailable` if there is no server.
    pub async fn connect(url: &str) -> Result<Client> {
        Client::connect_with(url, ConnectOptions::default()).await
    }

    /// [`connect`](Client::connect) with options. Options in the URL take precedence.
    ///
    /// # Errors
    /// As for [`connect`](Client::connect).
    pub async fn connect_with(url: &str, options: ConnectOptions) -> Result<Client> {
        let runtime = Handle::try_current()
            .map_err(|_| Error::invalid("a client must be opened inside a tokio runtime"))?;
        // A child that goes on with it must not use what its parent has connected.
        let fork_depth = fork::depth();
        let (engine, options) = engine::connect(url, options).await?;
        Ok(Client::with_engine(engine, &options, runtime, fork_depth))
    }

    pub(crate) fn with_engine(
        engine: Arc<dyn engine::Engine>,
        options: &ConnectOptions,
        runtime: Handle,
        fork_depth: u32,
    ) -> Client {
        let context = Context {
            engine,
            runtime,
            tasks: TaskTracker::new(),
            closed: CancellationToken::new(),
            timeout: options.timeout,
            max_data: options.max_data,
            lane_names: LaneNames::new(),
            retiring: Semaphore::new(MAX_RETIRING),
            reply_lock: tokio::sync::Mutex::default(),
            poll_turns: Arc::default(),
            watches: Watches::default(),
            keep_alives: KeepAlives::default(),
            outcome_waits: OutcomeWaits::default(),
            fork_depth,
        };
        Client(Arc::new(Inner { context: Arc::new(context), queues: Mutex::default() }))
    }

    /// Connects to the URL of [`url_from_env`].
    ///
    /// # Errors
    /// `Invalid` if there is none; else as for [`connect`](Client::connect).
    pub async fn from_env() -> Result<Client> {
        Client::connect(&url_from_env()?).await
    }

    /// What serves the queue of this name.
    pub(crate) fn dispatch(&self, name: &str) -> Result<Arc<Dispatch>> {
        let context = &self.0.context;
        context.check_open()?;
        let name = QueueName::new(name)?;
        let make = |name: &QueueName| Arc::new(Dispatch::new(context.clone(), name.clone()));
        let (dispatch, unused) = self.0.queues().get(name, make);
        // Not under the lock.
        drop(unused);
        Ok(dispatch)
    }

    /// The queue was dropped. Forgets it too if only the caller uses it.
    pub(crate) fn release(&self, dispatch: &Arc<Dispatch>) {
        let released = self.0.queues().release(dispatch);
        drop(released);
    }

    /// How many queues the client keeps something for.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub fn known_queues(&self) -> usize {
        self.0.queues().len()
    }

    /// What all its calls share, unless it is closed.
    pub(crate) fn open_context(&self) -> Result<&Arc<Context>> {
        self.0.context.check_open()?;
        Ok(&self.0.context)
    }

    #[cfg(test)]
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    /// The names of all queues, sorted. A queue exists from its first item, pause or change of
    /// settings until it is dropped.
    ///
    /// # Errors
    /// `Invalid` if the user may not list them; `Unavailable`, `Closed`.
    pub async fn queues(&self) -> Result<Vec<String>> {
        Ok(self.queue_names().await?.names)
    }

    /// [`queues`](Client::queues), and how many entries of the list were skipped because they are not
    /// valid names.
    ///
    /// # Errors
    /// As for [`queues`](Client::queues).
    pub async fn queue_names(&self) -> Result<QueueNames> {
        self.0.context.check_open()?;
        let mut found = self.0.context.engine.queues().await?;
        found.names.sort();
        Ok(found)
    }

    /// Reads the settings that the guarantees depend on, of the server or the file, and reports how
    /// durable the queue is and what to change. Of the first 1,000 queues, as many as it can look at in the client's
    /// time-out, it also reports those with more than 100,000 dead or retained items and no limit of them. Changes
    /// nothing.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    pub async fn doctor(&self) -> Result<Diagnosis> {
        self.0.context.check_open()?;
        let context = &self.0.context;
        let mut diagnosis = context.engine.diagnose().await?;
        let look = queue_advice::look(&*context.engine, &mut diagnosis);
        // What it has found by then is as true as the rest.
        _ = tokio::time::timeout(context.timeout, look).await;
        Ok(diagnosis)
    }

    /// Ends waiting calls with `Closed`, finishes requests in flight, gives back leases that reached
    /// no caller, and closes the connections. Callers keep the leases they hold until the deadline.
    /// Takes no longer than the client's time-out. A second call does nothing.
    pub async fn close(&self) {
        let context = &self.0.context;
        if context.check_open().is_err() {
            return;
        }
        let until = context.until();
        context.closed.cancel();
        context.tasks.close();
        let in_use = self.0.queues().in_use();
        in_use.iter().for_each(|dispatch| dispatch.spawn_driven());
        drop(in_use);
        // Only a hold can last longer.
        let _ = tokio::time::timeout_at(until.into(), context.tasks.wait()).await;
        self.retire(until).await;
        let _ = tokio::time::timeout_at(until.into(), context.engine.close()).await;
    }

    /// Lets the engine forget this client's lanes. It drops the rest by itself after a long idle time.
    async fn retire(&self, until: Instant) {
        let context = &self.0.context;
        let mut retiring = JoinSet::new();
        for dispatch in self.0.queues().drain() {
            let context = context.clone();
            let runtime = context.runtime.clone();
            retiring.spawn_on(
                async move {
                    let _permit = context.retiring.acquire().await;
                    dispatch.lanes.retire().await
                },
                &runtime,
            );
        }
        let all = async {
            // If one fails, the others would too, each after its own time-out.
            while let Some(Ok(Ok(()))) = retiring.join_next().await {}
        };
        let _ = tokio::time::timeout_at(until.into(), all).await;
    }
}

/// The URL in the environment variable `LEASEQ_URL`, or else in `REDIS_URL`.
///
/// # Errors
/// `Invalid` if neither is set.
pub fn url_from_env() -> Result<String> {
    let set = |name| std::env::var(name).ok().filter(|url: &String| !url.is_empty());
    set("LEASEQ_URL").or_else(|| set("REDIS_URL")).ok_or_else(|| {
        Error::invalid("no url: give one, or set the environment variable LEASEQ_URL or REDIS_URL")
    })
}
