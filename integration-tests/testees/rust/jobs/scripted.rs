//! Jobs of the types that the scenarios name.

use std::sync::{Arc, Mutex};

use leaseq_jobs::{Context, Job, JobOptions, Worker};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::notes::Notes;
use super::script;
use crate::lock;

/// The names of the jobs.
const NAMES: [&str; 3] = ["work", "other", "third"];

/// Options of the jobs that are being registered: the trait has them as functions of a type.
static OPTIONS: Mutex<[Option<JobOptions>; NAMES.len()]> = Mutex::new([None, None, None]);

/// Arguments that say what the handler does.
#[derive(Serialize, Deserialize)]
struct Scripted<const N: usize> {
    steps: Vec<Value>,
}

impl<const N: usize> Job for Scripted<N> {
    const NAME: &'static str = NAMES[N];

    fn options() -> JobOptions {
        lock(&OPTIONS)[N].clone().unwrap_or_default()
    }
}

/// Registers a handler, on a thread if it blocks.
pub(super) fn register(
    worker: Worker,
    name: &str,
    options: JobOptions,
    thread: bool,
    notes: &Arc<Notes>,
) -> Worker {
    match NAMES.iter().position(|known| *known == name) {
        Some(0) => register_as::<0>(worker, options, thread, notes.clone()),
        Some(1) => register_as::<1>(worker, options, thread, notes.clone()),
        Some(2) => register_as::<2>(worker, options, thread, notes.clone()),
        _ => panic!("no job is called {name}"),
    }
}

fn register_as<const N: usize>(
    worker: Worker,
    options: JobOptions,
    thread: bool,
    notes: Arc<Notes>,
) -> Worker {
    lock(&OPTIONS)[N] = Some(options);
    if thread {
        return worker.handle_blocking(move |job: Scripted<N>, context: Context| {
            let runtime = tokio::runtime::Handle::current();
            runtime.block_on(script::run(&job.steps, &context, &notes))
        });
    }
    worker.handle(move |job: Scripted<N>, context: Context| {
        let notes = notes.clone();
        async move { script::run(&job.steps, &context, &notes).await }
    })
}
