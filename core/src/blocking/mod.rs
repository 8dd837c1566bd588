//! The interface for programs without an async runtime, such as those in C and Python. It owns a runtime, and
//! continues in a forked child.
//!
//! A child opens its own connections at first use. Leases of the parent stay with the parent
//! ([`ProcessBound`]). For this to be safe, the hooks of [`fork`](crate::fork) must run at every fork.

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

/// A [`Client`](crate::Client) in each process that uses it. Run its async functions by [`run`] or [`start`]; the
/// one that connects owns the connections.
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

    /// The client of this process. A forked child connects at its first call.
    ///
    /// # Errors
    /// `Closed`; as for [`crate::Client::connect`]; `Invalid` in a child for `memory:`, which belongs to its
    /// parent.
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

    /// True from the start of [`close`](Client::close).
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Closes the client of this process, as [`crate::Client::close`] does. Does nothing in a child that has not
    /// used it.
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

    /// The queue of this process. A forked child connects at its first call.
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

    /// [`WorkQueue::give_back`] that neither waits nor fails, for when a handle is dropped. Does nothing in a
    /// process that has not used the queue.
    pub fn give_back<'a>(&self, leases: impl IntoIterator<Item = &'a Lease>) {
        if let Some(queue) = self.here.get() {
            queue.give_back(leases);
        }
    }
}
