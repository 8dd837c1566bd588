//! The face for programs without an async runtime, as those in C and Python: it owns one, and goes
//! on in a forked child.
//!
//! A child opens connections of its own at first use. What the parent had leased stays the parent's
//! ([`ProcessBound`]). For that to be safe at any moment, [`fork`](crate::fork) must be told of every
//! fork.

mod background;
mod caller_driven;
mod process_bound;
mod runtime;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fork::Process;
use crate::options::ConnectOptions;
use crate::{Error, Lease, Result, WorkQueue};

pub use self::background::start;
pub use self::process_bound::{PerProcess, ProcessBound};
pub use self::runtime::{run, run_while};

/// A [`Client`](crate::Client) in each process that uses it. The async functions here must be run by
/// [`run`] or [`start`]; whichever of them connects has the connections.
pub struct Client {
    url: String,
    options: ConnectOptions,
    opened_by: Process,
    closed: AtomicBool,
    here: PerProcess<crate::Client>,
}

impl fmt::Debug for Client {
    // The URL may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// Connects; without a URL, to that of [`url_from_env`](crate::url_from_env).
    ///
    /// # Errors
    /// As for [`crate::Client::connect`].
    pub async fn connect(url: Option<&str>, options: ConnectOptions) -> Result<Arc<Client>> {
        let url = match url {
            Some(url) => url.to_owned(),
            None => crate::url_from_env()?,
        };
        let client = crate::Client::connect_with(&url, options.clone()).await?;
        let here = PerProcess::new();
        here.set(client);
        let (opened_by, closed) = (Process::current(), AtomicBool::new(false));
        Ok(Arc::new(Client { url, options, opened_by, closed, here }))
    }

    /// This process's client; a forked child connects when it asks first.
    ///
    /// # Errors
    /// `Closed`; as for [`crate::Client::connect`]; `Invalid` in a child for `memory:`, which its
    /// parent has for itself.
    pub async fn in_this_process(&self) -> Result<&crate::Client> {
        if self.is_closed() {
            return Err(Error::closed());
        }
        if let Some(client) = self.here.get() {
            return Ok(client);
        }
        if self.url.starts_with("memory:") {
            return Err(Error::invalid(format_args!(
                "the queues of memory: belong to process {}, and this is process {}, forked off it",
                self.opened_by.id,
                Process::current().id
            )));
        }
        let client = crate::Client::connect_with(&self.url, self.options.clone()).await?;
        let (here, spare) = self.here.set(client);
        if let Some(spare) = spare {
            // Another thread was faster.
            spare.close().await;
        }
        here.ok_or_else(|| Error::internal("the client is of no process"))
    }

    /// The queue of this name.
    ///
    /// # Errors
    /// As for [`crate::Client::queue`].
    pub fn queue(self: &Arc<Self>, name: &str) -> Result<Queue> {
        if self.is_closed() {
            return Err(Error::closed());
        }
        crate::name::QueueName::new(name)?;
        Ok(Queue { client: self.clone(), name: name.to_owned(), here: PerProcess::new() })
    }

    /// True from the beginning of [`close`](Client::close) on.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Closes this process's client, as [`crate::Client::close`] does. A child that never used it
    /// has nothing to close.
    pub async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(client) = self.here.get() {
            client.close().await;
        }
    }
}

/// A [`WorkQueue`] in each process that uses it.
pub struct Queue {
    client: Arc<Client>,
    name: String,
    here: PerProcess<WorkQueue>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Queue {
    /// The queue's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The client it came from.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// This process's queue; a forked child connects when it asks first.
    ///
    /// # Errors
    /// As for [`Client::in_this_process`].
    pub async fn in_this_process(&self) -> Result<&WorkQueue> {
        if let Some(queue) = self.here.get() {
            return Ok(queue);
        }
        let queue = self.client.in_this_process().await?.queue(&self.name)?;
        let (here, _) = self.here.set(queue);
        here.ok_or_else(|| Error::internal("the queue is of no process"))
    }

    /// [`WorkQueue::give_back`], for where nothing may be waited for and nothing may fail, as when a
    /// handle is dropped. Nothing is done in a process that has not used the queue.
    pub fn give_back<'a>(&self, leases: impl IntoIterator<Item = &'a Lease>) {
        if let Some(queue) = self.here.get() {
            queue.give_back(leases);
        }
    }
}
