//! A client: the connections, and the queues they serve.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::dispatch::{Context, Dispatch, Lanes};
use crate::name::QueueName;
use crate::options::ConnectOptions;
use crate::{Diagnosis, Error, Result, WorkQueue, engine};

/// Owns the connections to one server and serves any number of queues. Clones share everything.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    context: Arc<Context>,
    queues: Mutex<HashMap<QueueName, Arc<Dispatch>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The last handle is gone: background work that would outlive it ends.
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
    /// `sqlite:jobs.db?synchronous=normal`.
    ///
    /// A process that forks connects anew in the child; a client that came across the fork does not
    /// work there. For the embedded engine the hooks of `leaseq::fork` must be registered, else a child
    /// that was forked off while its parent had a file open can open none, `Invalid`.
    ///
    /// Must be called inside a tokio runtime, which then runs the client's background work.
    ///
    /// # Errors
    /// `Invalid` for a URL, an option or credentials that are wrong; `Incompatible` for a server
    /// or file of another version, or a server that would throw items away; `Unavailable` if there
    /// is no server.
    pub async fn connect(url: &str) -> Result<Client> {
        Client::connect_with(url, ConnectOptions::default()).await
    }

    /// [`connect`](Client::connect) with options; what the URL says wins over them.
    ///
    /// # Errors
    /// As for [`connect`](Client::connect).
    pub async fn connect_with(url: &str, options: ConnectOptions) -> Result<Client> {
        let runtime = Handle::try_current()
            .map_err(|_| Error::invalid("a client must be opened inside a tokio runtime"))?;
        let (engine, options) = engine::connect(url, options).await?;
        let context = Context {
            engine,
            runtime,
            tasks: TaskTracker::new(),
            closed: CancellationToken::new(),
            timeout: options.timeout,
            max_data: options.max_data,
            lanes: Lanes::new(),
            turn: tokio::sync::Mutex::default(),
            waiting_queues: 0.into(),
        };
        Ok(Client(Arc::new(Inner { context: Arc::new(context), queues: Mutex::default() })))
    }

    /// Connects to the URL of [`url_from_env`].
    ///
    /// # Errors
    /// `Invalid` if there is none; else as for [`connect`](Client::connect).
    pub async fn from_env() -> Result<Client> {
        Client::connect(&url_from_env()?).await
    }

    /// The queue of this name, `[A-Za-z0-9._-]{1,128}`. It need not exist: it does as soon as it
    /// has items.
    ///
    /// # Errors
    /// `Invalid` for a bad name, `Closed` after [`close`](Client::close).
    pub fn queue(&self, name: &str) -> Result<WorkQueue> {
        self.0.context.check_open()?;
        let name = QueueName::new(name)?;
        let mut queues = self.0.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let dispatch = queues
            .entry(name.clone())
            .or_insert_with(|| Arc::new(Dispatch::new(self.0.context.clone(), name)));
        Ok(WorkQueue::new(self.clone(), dispatch.clone()))
    }

    /// Names of all queues that items were ever added to, sorted.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    pub async fn queues(&self) -> Result<Vec<String>> {
        self.0.context.check_open()?;
        let mut names = self.0.context.engine.queues().await?;
        names.sort();
        Ok(names)
    }

    /// Reads the settings of the server, or of the file, on which the guarantees stand, and says how
    /// durable the queue is and what to change. Changes nothing.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    pub async fn doctor(&self) -> Result<Diagnosis> {
        self.0.context.check_open()?;
        self.0.context.engine.diagnose().await
    }

    /// Ends waiting calls with `Closed`, finishes what is on its way, gives back leases that
    /// reached nobody, and closes the connections. Leases that callers hold stay theirs until
    /// their deadline. A second call does nothing.
    pub async fn close(&self) {
        let context = &self.0.context;
        if context.closed.is_cancelled() {
            return;
        }
        context.closed.cancel();
        context.tasks.close();
        // Only a hold can last longer.
        let _ = tokio::time::timeout(context.timeout, context.tasks.wait()).await;
        let used: Vec<Arc<Dispatch>> = self
            .0
            .queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain()
            .map(|(_, d)| d)
            .collect();
        let lanes = context.lanes.names();
        for dispatch in used {
            // A courtesy: whatever is left is dropped when it has been idle for long.
            let _ = context.engine.retire(&dispatch.queue, &lanes).await;
        }
        context.engine.close().await;
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
