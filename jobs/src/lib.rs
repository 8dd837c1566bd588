//! Jobs on [`leaseq`]: "call this function later, elsewhere, with retries".
//!
//! ```no_run
//! use leaseq::Client;
//! use leaseq_jobs::{Context, Job, Producer, Worker};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Welcome {
//!     to: String,
//! }
//! impl Job for Welcome {
//!     const NAME: &str = "mail.welcome";
//!     const QUEUE: &str = "mail";
//! }
//!
//! # async fn run() -> leaseq::Result<()> {
//! let client = Client::connect("sqlite:jobs.db").await?; // or redis://127.0.0.1/
//! Producer::new(&client).enqueue(Welcome { to: "ada@example.org".into() }).await?;
//! Worker::new(&client)
//!     .queue("mail", 1)
//!     .handle(|welcome: Welcome, _: Context| async move {
//!         println!("welcome, {}", welcome.to);
//!         Ok(())
//!     })
//!     .run()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//!
//! - A [`Job`] is a serde type with a name. [`Producer`] adds jobs, and returns a [`JobRef`] to wait for the result.
//! - A [`Worker`] runs handlers in slots, with retries ([`Retry`]), timeouts, cancellation and an orderly shutdown.
//! - [`WorkerCore`] is the worker without handlers: [`next`](WorkerCore::next) returns a [`Task`],
//!   [`finish`](WorkerCore::finish) reports how it ended. Other languages build on it.
//!
//! A job may run more than once: its worker may be killed. Handlers must tolerate that.

#![forbid(unsafe_code)]

mod children;
mod envelope;
mod error;
mod job;
#[cfg(feature = "opentelemetry")]
mod otel;
mod producer;
mod retry;
#[cfg(feature = "webhook")]
mod webhook;
mod worker;
mod worker_core;

pub use async_trait::async_trait;
pub use children::Children;
pub use envelope::to_json;
pub use error::{JobError, Policy};
pub use job::{DEFAULT_TIMEOUT, Job, JobOptions};
#[cfg(feature = "opentelemetry")]
pub use otel::OpenTelemetry;
pub use producer::{
    EnqueueMiddleware, EnqueueNext, JobGroup, JobGroupRef, JobRef, NewJob, Producer, ResultError,
};
pub use retry::{Retry, RetryRules};
#[cfg(feature = "webhook")]
pub use webhook::{Webhook, WebhookSender};
pub use worker::{ChildWorker, Context, Event, Middleware, Next, Output, Worker};
pub use worker_core::{
    Deployment, Exit, ExitReason, Finish, JobStart, Load, Marks, Order, QueueOptions, Reason,
    Settled, Task, Throttle, WorkerCore, WorkerOptions,
};
