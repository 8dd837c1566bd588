//! Files, clients and processes for these tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use leaseq::{Client, Item, LeaseOptions, WorkQueue};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

#[path = "../support/process.rs"]
mod process;

pub(crate) use self::process::Process;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A folder of its own, removed in the end, with a database in it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder().join("queue.db")
    }

    pub(crate) fn url(&self) -> String {
        url(&self.file())
    }

    /// The queue `jobs` of a new client.
    pub(crate) async fn queue(&self) -> WorkQueue {
        queue(&self.url()).await
    }
}

pub(crate) fn url(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

/// The queue `jobs` of a new client.
pub(crate) async fn queue(url: &str) -> WorkQueue {
    Client::connect(url).await.unwrap().queue("jobs").unwrap()
}

/// An item with this id, which is its data too.
pub(crate) fn item(id: impl AsRef<[u8]>) -> Item {
    Item::new(id.as_ref()).with_id(id.as_ref())
}

/// Leases for a minute without waiting.
pub(crate) fn at_once() -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO)
}

pub(crate) async fn assert_sound(queue: &WorkQueue) {
    let report = queue.check().await.unwrap();
    assert!(report.is_sound(), "{:?}: {:?}", report.found, report.details);
}

/// How long the random parts run.
pub(crate) fn seconds(default: u64) -> Duration {
    let given = std::env::var("LEASEQ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(given.unwrap_or(default))
}

/// Random numbers that can be had again: the seed is printed.
pub(crate) fn random() -> StdRng {
    let given = std::env::var("LEASEQ_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| rand::rng().random::<u64>());
    println!("LEASEQ_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

/// Waits until it is so, 20 s at most.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "still not: {what}");
        tokio::time::sleep(ms(5)).await;
    }
}

/// A small file system in memory. Needs root: without, a test that wants one says so and is skipped.
pub(crate) struct Mount(tempfile::TempDir);

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => true,
        other => {
            println!("{program} {arguments:?}: {other:?}");
            false
        }
    }
}

impl Mount {
    pub(crate) fn new(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let options = format!("size={size}");
        if !succeeds("mount", &["-t", "tmpfs", "-o", &options, "leaseq", path]) {
            println!("skipped: a file system cannot be mounted here");
            return None;
        }
        Some(Mount(folder))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn remount(&self, options: &str) {
        let path = self.folder().to_str().unwrap();
        assert!(succeeds("mount", &["-o", &format!("remount,{options}"), path]));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a connection may be closing.
        succeeds("umount", &["-l", self.folder().to_str().unwrap()]);
    }
}

/// A file that nobody can write, not even root.
pub(crate) struct Immutable(PathBuf);

impl Immutable {
    pub(crate) fn make(file: &Path) -> Option<Self> {
        if !succeeds("chattr", &["+i", file.to_str().unwrap()]) {
            println!("skipped: a file cannot be made immutable here");
            return None;
        }
        Some(Immutable(file.to_owned()))
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        succeeds("chattr", &["-i", self.0.to_str().unwrap()]);
    }
}

/// Adds so many items to the queue `jobs`, which must be there and have none, behind the engine's back.
pub(crate) fn fill(place: &Place, items: usize) {
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    let fill = format!(
        "BEGIN IMMEDIATE;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {items})
        INSERT INTO item (number, queue, state, sort_key, position, priority, max_attempts, added_at, since, id, data)
            SELECT i, queue, 0, 0, i, 0, 0, 0, 0, CAST('item ' || i AS BLOB), x'00' FROM n, queue;
        UPDATE queue SET ready0 = ready0 + {items}, added = added + {items};
        COMMIT"
    );
    connection.execute_batch(&fill).unwrap();
}
