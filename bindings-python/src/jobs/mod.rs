//! The worker: decodes options and calls the crate of jobs. What runs handlers is written in Python.

mod events;
mod options;
mod producer;
mod progress;
mod shared;
mod task;
mod threads;
mod value;
mod worker;

pub(crate) use self::producer::{job_data, to_json};
pub(crate) use self::task::JobTask;
pub(crate) use self::worker::{JobWorker, start_worker};
