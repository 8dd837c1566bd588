//! A work queue for work that must not be lost.
//!
//! A producer adds items; a worker leases one for a time, does the work and completes it. If the
//! worker dies, the lease expires and another worker gets the item.
//!
//! ```no_run
//! use std::time::Duration;
//! use leaseq::{Client, Item, LeaseOptions};
//!
//! # async fn run() -> leaseq::Result<()> {
//! let client = Client::connect("sqlite:jobs.db").await?; // or redis://127.0.0.1/
//! let queue = client.queue("emails")?;
//! queue.add_item(Item::new(b"hello")).await?;
//! let options = LeaseOptions::new(Duration::from_secs(30)).wait(Duration::from_secs(5));
//! while let Some(lease) = queue.lease(options.clone()).await? {
//!     println!("{:?}", lease.data());
//!     queue.complete(&lease).await?; // true for exactly one caller
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//!
//! - [`Client`] owns the connections and serves any number of queues, [`WorkQueue`].
//! - A producer adds an [`Item`], a worker holds a [`Lease`], an operator sees an [`ItemInfo`].
//! - [`options`] has the options, and every limit and default.
//! - [`Error`] has an [`ErrorKind`] that says what to do.
//! - [`blocking`] is for programs without an async runtime, and survives a fork.
//!
//! Calls made at the same time share a request. Every call may be dropped at any point: a lease that it has
//! obtained is given back at once. A client works inside a tokio runtime. On a runtime with one thread, code
//! that blocks it also stops the background work.

#![forbid(unsafe_code)]
// Each engine uses a part of what the others need too.
#![cfg_attr(not(all(feature = "redis", feature = "sqlite")), allow(dead_code))]

mod access;
mod backoff;
pub mod blocking;
mod cancellation;
mod clean;
mod client;
mod clock;
mod dispatch;
mod doctor;
mod engine;
mod error;
mod event;
pub mod fork;
mod group;
mod histogram;
mod history;
mod item;
mod keep_alive;
mod key_rate;
mod known;
mod lease;
mod lock;
mod name;
mod operation;
pub mod options;
mod outcomes;
mod pause;
mod query_options;
mod queue;
mod queue_advice;
mod random;
mod rate;
mod redact;
mod registry;
mod schedule;
mod serialize;
mod settings;
mod settle_options;
mod shared_adds;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing;
mod text;
mod unix_time;
mod wanted;
mod watches;

pub use access::Role;
// For the cleaner, which retries too.
#[doc(hidden)]
pub use backoff::Backoff;
pub use clean::{Damage, DeepClean, DeepReport, LightReport};
pub use client::{Client, url_from_env};
pub use clock::Clock;
pub use doctor::{Advice, Diagnosis, Durability};
pub use error::{Error, ErrorKind, Result};
pub use event::{Event, EventCursor, EventKind, EventsOptions, EventsPage};
pub use group::{GroupInfo, GroupOutcome, NewGroup, PlaceState};
pub use histogram::Histogram;
pub use history::{HistoryKind, HistoryRow, Measured};
pub use item::{
    Counts, Cursor, Ending, EndingKind, FollowUp, Group, Item, ItemInfo, ItemRef, KeyInfo, On,
    Outcome, Page, Releases, Revision, State, Totals, Trigger,
};
pub use lease::Lease;
// For the cleaner, which checks names before it has a client.
#[doc(hidden)]
pub use name::QueueName;
pub use name::QueueNames;
pub use options::{ConnectOptions, Fsync, KeepAlive, LeaseOptions};
pub use pause::PauseOptions;
pub use query_options::{GetOptions, ListOptions, OutcomeOptions};
pub use queue::{CompletedAndLeased, DropOptions, Hold, WorkQueue};
pub use rate::Rate;
pub use redact::redact_url;
pub use registry::{
    Beat, BeatReply, RunningItem, WorkerAction, WorkerCommand, WorkerId, WorkerInfo,
    WorkersOptions, WorkersPage,
};
pub use schedule::{Missed, PutSchedule, Schedule, ScheduleInfo, ScheduleRule, SyncedSchedules};
pub use settings::{Settings, SettingsChange};
pub use settle_options::{CompleteOptions, FailOptions, ReleaseOptions};
// For the bindings, which gather the adds of several callers.
#[doc(hidden)]
pub use shared_adds::SharedAdds;
// For what gives names by itself: workers, and programs that pause.
#[doc(hidden)]
pub use text::fit_text;
pub use wanted::Wanted;
