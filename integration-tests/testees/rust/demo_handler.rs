//! The worker of the demo that runs jobs: a handler for files, and one for a scheduled job. `src/demo/worker.rs`
//! describes its input. Nothing breaks it, so it leases for the default time.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, stdin};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leaseq::{Client, ScheduleRule};
use leaseq_conformance::demo::jobs::{Digest, Tally, queue_of};
use leaseq_conformance::demo::note::Note;
use leaseq_conformance::error::Error;
use leaseq_jobs::{Context, Event, Job, JobError, NewJob, Settled, Worker};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

/// The notes, which handlers write at the same time.
#[derive(Clone)]
struct Notes(Arc<Mutex<File>>);

impl Notes {
    fn write(&self, note: &Note) -> Result<(), JobError> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        note.write(&mut file).map_err(JobError::other)
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [queue, results, _, batch] = args.as_slice() else {
        return Err("usage: demo-worker-handler QUEUE RESULTS LEASE_MS BATCH".into());
    };
    let client = Client::from_env().await?;
    let results = OpenOptions::new().create(true).append(true).open(results)?;
    let notes = Notes(Arc::new(Mutex::new(results)));
    let worker = worker(&client, &queue_of(queue), notes)?.slots(batch.parse()?);
    let (orders, mut next) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        // `main` may have ended.
        stdin().lock().lines().map_while(Result::ok).for_each(|line| _ = orders.send(line));
    });
    let mut order = Some("rest".to_owned());
    loop {
        match order.as_deref() {
            Some("rest") => {
                println!("resting");
                order = next.recv().await;
            }
            Some("go") => _ = worker.run_until(async { order = next.recv().await }).await?,
            _ => break,
        }
    }
    client.close().await;
    Ok(())
}

fn worker(client: &Client, queue: &str, notes: Notes) -> Result<Worker, Error> {
    let answers = notes.clone();
    let every_second = ScheduleRule::every(Duration::from_secs(1))?;
    Ok(Worker::new(client)
        .queue(queue, 1)
        .handle_blocking(move |file: Digest, job: Context| digest(&file, &job, &notes))
        .handle(|_: Tally, _| async { Ok(()) })
        .deployment("demo", 1)
        .schedule("tally", every_second, NewJob::new(Tally {}).queue(queue))
        .on_event(move |event| {
            if let Event::Ended(job, Settled::Completed, _) = event
                && job.name() == Digest::NAME
            {
                let id = String::from_utf8_lossy(job.id()).into_owned();
                // The checker misses a note that could not be written.
                _ = answers.write(&Note::After { id, completed: true });
            }
        }))
}

fn digest(file: &Digest, job: &Context, notes: &Notes) -> Result<(), JobError> {
    if job.attempt() <= file.failures {
        return Err(JobError::new("Flaky", "on purpose"));
    }
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let sha256 = format!("{:x}", Sha256::digest(std::fs::read(root.join(&file.path))?));
    notes.write(&Note::Before { id: file.path.clone(), sha256 })
}
