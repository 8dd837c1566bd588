//! leaseq for Python: converts arguments, calls the core, converts answers.
//!
//! The classes that users see are written in Python (`python/leaseq`). Each operation is written once
//! here, for blocking callers and for asyncio (`call.rs`).

// The exports are documented where users see them.
#![allow(missing_docs)]

mod admin;
mod answer;
mod call;
mod call_batch;
mod cancellation;
mod change;
mod class;
mod client;
mod complete_args;
mod convert;
mod driver;
mod error;
mod gathered;
mod group;
mod groups;
mod inbox;
mod item;
mod jobs;
mod keys;
mod lease;
mod lease_args;
mod leasing;
mod logs;
mod loop_bridge;
mod outcome;
mod queue;
mod queue_events;
mod queue_history;
mod rule_parts;
mod schedules;
mod settings;
mod settle;
mod test_clock;
mod unclaimed;
mod unused;

use std::sync::Once;

use pyo3::prelude::*;

#[pymodule]
mod _leaseq {
    #[pymodule_export]
    use super::call::exiting;
    #[pymodule_export]
    use super::client::{Client, connect, open_clients, redact_url};
    #[pymodule_export]
    use super::item::Item;
    #[pymodule_export]
    use super::jobs::{JobTask, JobWorker, job_data, start_worker, to_json};
    #[pymodule_export]
    use super::lease::{Lease, LeaseInit};
    #[pymodule_export]
    use super::logs::Logs;
    #[pymodule_export]
    use super::loop_bridge::{LoopBridge, Started};
    #[pymodule_export]
    use super::queue::Queue;
    #[pymodule_export]
    use super::schedules::schedule_times;
    #[pymodule_export]
    use super::test_clock::TestClock;
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::watch_forks();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Notifies the core of every fork of this process, also by C code.
fn watch_forks() {
    extern "C" fn before() {
        leaseq::fork::before();
    }
    extern "C" fn after_in_parent() {
        leaseq::fork::after_in_parent();
    }
    extern "C" fn after_in_child() {
        leaseq::fork::after_in_child();
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions live as long as the process, since Python never unloads a module.
        // They take no Python lock, so a thread that forks while it holds the GIL cannot deadlock.
        // The call fails only without memory; then a child is as safe as without the hooks.
        unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    });
}
