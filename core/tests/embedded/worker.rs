//! A process that works on a file until it is killed, and keeps a ledger.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use leaseq::{CompleteOptions, Item, Lease, LeaseOptions, WorkQueue};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use crate::ledger::Writer;
use crate::support::{Process, ms, queue};

const URL: &str = "LEASEQ_WORKER_URL";
const LEDGER: &str = "LEASEQ_WORKER_LEDGER";
const TASKS: &str = "LEASEQ_WORKER_TASKS";

/// Starts one on this file; its ledger stands in this folder.
pub(crate) fn start(url: &str, folder: &std::path::Path, name: &str, tasks: usize) -> Process {
    let ledger = folder.join(format!("{name}.ledger"));
    let ledger = ledger.to_str().unwrap();
    Process::start("worker::work", &[(URL, url), (LEDGER, ledger), (TASKS, &tasks.to_string())])
}

/// How long a lease lasts here.
pub(crate) const LEASE: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started as a process by other tests"]
async fn work() {
    let Ok(url) = std::env::var(URL) else { return };
    let path = PathBuf::from(std::env::var(LEDGER).unwrap());
    let tasks: usize = std::env::var(TASKS).unwrap().parse().unwrap();
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let ledger = Arc::new(Writer::open(&path));
    let queue = queue(&url).await;
    let mut running = tokio::task::JoinSet::<()>::new();
    for task in 0..tasks {
        let (queue, ledger, name) = (queue.clone(), ledger.clone(), format!("{name}.{task}"));
        running.spawn(async move {
            let mut task = Task { queue, ledger, name, added: 0, random: StdRng::from_os_rng() };
            loop {
                task.step().await;
            }
        });
    }
    running.join_next().await.unwrap().unwrap();
}

/// What the data of an item must be: some of it is large enough to stand apart.
pub(crate) fn data_of(id: &str) -> Vec<u8> {
    let times = if id.ends_with('7') { 200 } else { 1 };
    id.repeat(times).into_bytes()
}

struct Task {
    queue: WorkQueue,
    ledger: Arc<Writer>,
    name: String,
    added: usize,
    random: StdRng,
}

impl Task {
    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..30 => self.add().await,
            30..90 => self.process().await,
            90..94 => drop(self.queue.light_clean().await.unwrap()),
            94..96 => drop(self.queue.counts().await.unwrap()),
            96..98 => self.remove().await,
            _ => {
                let report = self.queue.deep_clean().await.unwrap();
                assert!(report.is_sound(), "{:?}", report.details);
            }
        }
    }

    async fn add(&mut self) {
        let count = if self.random.random_bool(0.5) { 1 } else { self.random.random_range(2..20) };
        let ids: Vec<String> = (0..count)
            .map(|_| {
                self.added += 1;
                format!("{}.{}", self.name, self.added)
            })
            .collect();
        self.ledger.note("a?", ids.iter().map(String::as_str));
        let items = ids.iter().map(|id| {
            let delay = if self.random.random_bool(0.2) { ms(50) } else { Duration::ZERO };
            let priority = self.random.random_range(0..3);
            Item::new(data_of(id)).with_id(id).priority(priority).delay(delay)
        });
        let items: Vec<Item> = items.collect();
        for (id, added) in ids.iter().zip(self.queue.add_items(items).await.unwrap()) {
            self.ledger.note(if added { "a+" } else { "a-" }, [id.as_str()]);
        }
    }

    async fn process(&mut self) {
        let count = self.random.random_range(1..12);
        let mut leases =
            self.queue.lease_many(count, LeaseOptions::new(LEASE).wait(ms(10))).await.unwrap();
        leases.shuffle(&mut self.random);
        for lease in &leases {
            let id = lease.id_str().unwrap();
            assert_eq!(lease.data(), &data_of(id), "{id}");
        }
        match self.random.random_range(0..20) {
            0 => drop(self.queue.release_many(&leases, Duration::ZERO).await.unwrap()),
            1 => drop(self.queue.release_many(&leases, ms(20)).await.unwrap()),
            2 => {
                let failures = leases.iter().map(|lease| (lease, "on purpose"));
                self.queue.fail_many(failures, ms(10)).await.unwrap();
            }
            // As if it had died: they expire.
            3 => {}
            // Too late: somebody else may have completed.
            4 => {
                tokio::time::sleep(LEASE + ms(20)).await;
                self.complete(&leases).await;
            }
            5 => {
                self.queue.extend_many(&leases, LEASE).await.unwrap();
                self.complete(&leases).await;
            }
            _ => self.complete(&leases).await,
        }
    }

    async fn complete(&mut self, leases: &[Lease]) {
        self.ledger.note("c?", leases.iter().map(|lease| lease.id_str().unwrap()));
        let options = CompleteOptions::new();
        let options = if self.random.random_bool(0.2) { options.strict() } else { options };
        let answers = self.queue.complete_many_with(leases, options).await.unwrap();
        for (lease, done) in leases.iter().zip(answers) {
            self.ledger.note(if done { "c+" } else { "c-" }, [lease.id_str().unwrap()]);
        }
    }

    async fn remove(&mut self) {
        let id = format!("{}.{}", self.name, self.random.random_range(0..=self.added));
        self.ledger.note("c?", [id.as_str()]);
        let done = self.queue.remove(&id).await.unwrap();
        self.ledger.note(if done { "c+" } else { "c-" }, [id.as_str()]);
    }
}
