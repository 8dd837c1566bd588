//! One run, from the first item to the report.
//!
//! 1. All workers work on the first half of the items, until the queue is drained.
//! 2. Two workers hold leases of the second half. One of them is killed, the other is stopped.
//! 3. The others continue. The held leases expire; their items come back and are completed.
//! 4. The stopped worker continues and completes its leases late. In the end the queue is empty.

use std::path::Path;
use std::time::Instant;

use leaseq::{Client, Item, State, WorkQueue};
use rustix::process::Signal;

use super::checker::{Record, check_records};
use super::console;
use super::digests;
use super::files::{self, Files};
use super::jobs::{self, Jobs};
use super::note::Note;
use super::place::Place;
use super::screen::Screen;
use super::wait;
use super::worker::{self, BATCH, Kind, Worker};
use crate::error::Error;

/// The first half has a batch for each worker; the second half a batch for each holding worker.
const MIN_FILES: usize = 6 * BATCH;

/// Runs the demo with these workers and those in Rust, and with a console if there is to be one. Returns the report and
/// the errors.
pub(super) fn run(others: &[String], has_console: bool) -> Result<(Screen, Vec<String>), Error> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let files = files::read(root)?;
    if files.files.len() < MIN_FILES {
        let message = format!("{} files are too few, {MIN_FILES} are needed", files.files.len());
        return Err(message.into());
    }
    let folder = tempfile::Builder::new().prefix("leaseq-demo-").tempdir()?;
    let place = Place::choose(folder.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let fleet = worker::fleet(others)?;
    runtime.block_on(in_place(&place, folder.path(), &fleet, &files, has_console))
}

async fn in_place(
    place: &Place,
    folder: &Path,
    fleet: &[Kind],
    files: &Files,
    has_console: bool,
) -> Result<(Screen, Vec<String>), Error> {
    let client = Client::connect(&place.url).await?;
    // The server may have other users: use a queue of our own, and leave nothing in it.
    let queue = client.queue(&format!("demo-{:016x}", rand::random::<u64>()))?;
    let mut jobs = Jobs::new(&client, queue.name())?;
    let result = match has_console {
        true => beside_console(place, folder, fleet, &queue, &mut jobs, files).await,
        false => on_queue(place, folder, fleet, &queue, &mut jobs, files).await,
    };
    let dropped = jobs.drop_queue().await;
    if result.is_ok() {
        dropped?;
    }
    for state in State::ALL {
        let purged = queue.purge(state).await;
        if result.is_ok() {
            purged?;
        }
    }
    client.close().await;
    result
}

async fn beside_console(
    place: &Place,
    folder: &Path,
    fleet: &[Kind],
    queue: &WorkQueue,
    jobs: &mut Jobs,
    files: &Files,
) -> Result<(Screen, Vec<String>), Error> {
    let _console = console::start(&place.url, queue.name()).await?;
    console::wait_for_enter("begin").await?;
    let result = on_queue(place, folder, fleet, queue, jobs, files).await;
    console::wait_for_enter("end").await?;
    result
}

async fn on_queue(
    place: &Place,
    folder: &Path,
    fleet: &[Kind],
    queue: &WorkQueue,
    jobs: &mut Jobs,
    files: &Files,
) -> Result<(Screen, Vec<String>), Error> {
    let mut workers = Vec::new();
    for (i, kind) in fleet.iter().enumerate() {
        let name = queue.name();
        workers.push(Worker::start(i + 1, kind, &place.url, name, folder)?);
    }
    for worker in &mut workers {
        worker.says("resting").await?;
    }

    let began = Instant::now();
    let story = work(queue, jobs, files, &mut workers).await?;
    let took = began.elapsed();

    let mut faults = story.faults;
    for (i, worker) in workers.iter_mut().enumerate() {
        let status = worker.ended().await?;
        if i != KILLED && !status.success() {
            faults.push(format!("{} ended with {status}", worker.name()));
        }
    }
    let mut counts = queue.counts().await?;
    let (summary, wrong) = jobs.count(&mut counts).await?;
    faults.extend(wrong);
    let check = queue.check().await?;
    faults.extend(check.details.iter().map(|found| format!("check found {found}")));
    let mut records = Vec::new();
    for (i, worker) in workers.iter().enumerate() {
        let notes = notes(worker)?;
        records.push(Record { worker: worker.name(), killed: i == KILLED, notes });
    }
    let checked = check_records(&digests::expected(&files.files)?, &records, &counts);
    faults.extend(checked.faults);
    let screen = Screen {
        files: files.files.len(),
        bytes: files.files.iter().map(|file| file.data.len()).sum(),
        skipped: files.skipped,
        workers: workers
            .iter()
            .map(|worker| worker.language.clone())
            .zip(checked.completed)
            .collect(),
        killed: (workers[KILLED].name(), story.killed_held),
        stopped: (workers[STOPPED].name(), story.stopped_held),
        late: story.late,
        jobs: summary,
        expired: counts.totals.expired,
        took,
        engine: place.engine.clone(),
    };
    Ok((screen, faults))
}

/// The worker that is killed while it holds leases.
const KILLED: usize = 0;
/// The worker that is stopped past its leases.
const STOPPED: usize = 1;

struct Story {
    killed_held: u64,
    stopped_held: u64,
    /// How often the stopped worker's late completes were true, and false.
    late: (usize, usize),
    faults: Vec<String>,
}

async fn work(
    queue: &WorkQueue,
    jobs: &mut Jobs,
    files: &Files,
    workers: &mut [Worker],
) -> Result<Story, Error> {
    let (items, of_jobs) = jobs::split(&files.files);
    let (first, second) = items.split_at(items.len() / 2);
    let (first_jobs, second_jobs) = of_jobs.split_at(of_jobs.len() / 2);
    let (half, all) = (first.len() as u64, items.len() as u64);
    let mut faults = add(queue, first).await?;
    faults.extend(jobs.add(first_jobs).await?);
    tell_all(workers, "go").await?;
    wait::counts(queue, "the first half is done", |counts| counts.totals.completed >= half).await?;
    tell_all(workers, "rest").await?;
    for worker in workers.iter_mut() {
        worker.says("resting").await?;
    }

    for victim in [KILLED, STOPPED] {
        workers[victim].tell("hold").await?;
    }
    faults.extend(add(queue, second).await?);
    faults.extend(jobs.add(second_jobs).await?);
    let killed_held = workers[KILLED].says("holding").await?;
    workers[KILLED].signal(Signal::KILL)?;
    let stopped_held = workers[STOPPED].says("holding").await?;
    // Not in the middle of a write: on the embedded engine that would stop all writers.
    workers[STOPPED].says("quiet").await?;
    workers[STOPPED].signal(Signal::STOP)?;
    tell_all(&mut workers[STOPPED + 1..], "go").await?;

    let held = killed_held + stopped_held;
    wait::counts(queue, "the leases expire", |counts| counts.totals.expired >= held).await?;
    let before = notes(&workers[STOPPED])?.len();
    workers[STOPPED].signal(Signal::CONT)?;
    workers[STOPPED].tell("rest").await?;
    workers[STOPPED].says("resting").await?;
    let late = answers(&notes(&workers[STOPPED])?[before..]);
    workers[STOPPED].tell("go").await?;

    wait::counts(queue, "every item is completed", |counts| {
        counts.totals.completed >= all
            && counts.ready + counts.delayed + counts.leased + counts.dead == 0
    })
    .await?;
    jobs.until_done().await?;
    tell_all(&mut workers[STOPPED..], "quit").await?;
    Ok(Story { killed_held, stopped_held, late, faults })
}

/// Adds files as items; returns the errors.
async fn add(queue: &WorkQueue, files: &[&files::File]) -> Result<Vec<String>, Error> {
    let items = files.iter().map(|file| Item::new(&file.data).with_id(&file.path));
    let added = queue.add_items(items).await?;
    let refused = files.iter().zip(added).filter(|(_, added)| !added);
    Ok(refused.map(|(file, _)| format!("{} was not added", file.path)).collect())
}

async fn tell_all(workers: &mut [Worker], order: &str) -> Result<(), Error> {
    for worker in workers {
        worker.tell(order).await?;
    }
    Ok(())
}

fn notes(worker: &Worker) -> Result<Vec<Note>, Error> {
    Note::read_all(&std::fs::read_to_string(&worker.results)?)
}

/// How many of the answers are true, and how many false.
fn answers(notes: &[Note]) -> (usize, usize) {
    notes.iter().fold((0, 0), |(yes, no), note| match note {
        Note::After { completed: true, .. } => (yes + 1, no),
        Note::After { completed: false, .. } => (yes, no + 1),
        Note::Before { .. } => (yes, no),
    })
}
