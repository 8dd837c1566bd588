//! The worker of Rust programs: handlers, shared state and middleware above the [`WorkerCore`](crate::WorkerCore).

mod builder;
mod child_worker;
mod context;
mod event;
mod face;
mod handler;
mod in_children;
mod inline;
#[cfg(feature = "metrics")]
mod metrics;
mod middleware;
mod run;
mod signals;

use std::fmt;
#[cfg(feature = "metrics")]
use std::net::SocketAddr;

use leaseq::{Client, Error};

use self::face::Face;
use crate::WorkerOptions;

pub use self::child_worker::ChildWorker;
pub use self::context::Context;
pub use self::event::Event;
pub use self::handler::Output;
pub use self::middleware::{Middleware, Next};

/// Runs handlers. It is configured by its methods, and started with [`run`](Worker::run) or one of its siblings.
///
/// ```no_run
/// # use leaseq_jobs::{Context, Job, Worker};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Welcome { to: String }
/// # impl Job for Welcome { const NAME: &str = "mail.welcome"; }
/// # async fn run(client: leaseq::Client) -> leaseq::Result<()> {
/// let exit = Worker::new(&client)
///     .queue("mail", 3)
///     .queue("bulk", 1)
///     .handle(|welcome: Welcome, job: Context| async move {
///         println!("attempt {} for {}", job.attempt(), welcome.to);
///         Ok(())
///     })
///     .run()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a worker does nothing until it is run"]
pub struct Worker {
    client: Client,
    face: Face,
    options: WorkerOptions,
    #[cfg(feature = "metrics")]
    metrics: Option<SocketAddr>,
    /// The first mistake of the configuration, which is returned when the worker starts.
    mistake: Option<Error>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Worker {
    /// A worker without handlers, for queues of this client.
    pub fn new(client: &Client) -> Self {
        Worker {
            client: client.clone(),
            face: Face::default(),
            options: WorkerOptions::new(),
            #[cfg(feature = "metrics")]
            metrics: None,
            mistake: None,
        }
    }
}
