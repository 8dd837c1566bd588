//! Target 10: the embedded engine on a file, beside plain SQLite statements that move the same data
//! in the same run, in both durability modes.
//!
//! Plain is a program's own table: prepared statements, one transaction for each step, an index to
//! lease by, ids that are unique, and nothing else: no priorities, delays, attempts, counts or
//! clock, no token and no answer for each item, no sharing with callers on other threads.

use std::path::Path;
use std::time::{Duration, Instant};

use leaseq::{Client, Item, LeaseOptions, WorkQueue};
use rusqlite::{Connection, params};

use crate::Scale;
use crate::report::{Bound, Report};
use crate::setup::{BATCH, DATA, at_once, batch, median};

/// Tasks that make single calls at the same time.
const CALLERS: usize = 100;

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    for mode in ["full", "normal"] {
        let folder = tempfile::tempdir().unwrap();
        compare(mode, folder.path(), scale, report).await;
    }
    waiting(scale, report).await;
}

async fn compare(mode: &str, folder: &Path, scale: Scale, report: &mut Report) {
    let url = format!("sqlite:{}?synchronous={mode}", folder.join("queue.db").display());
    let client = Client::connect(&url).await.unwrap();
    let mut plain = Plain::new(&folder.join("plain.db"), mode);
    let mut figures: [Vec<f64>; 5] = Default::default();
    let mut ratios: [Vec<f64>; 3] = Default::default();
    // Short rounds, one after the other, so that both have the same disk.
    let (singles, batches) = (scale.batches * 2, scale.batches);
    for round in 0..scale.rounds * 2 {
        let queue = client.queue(&format!("round-{round}")).unwrap();
        let singly = [plain.cycles(singles, 1), cycles(&queue, singles, 1).await];
        let batched = [plain.cycles(batches, BATCH), cycles(&queue, batches, BATCH).await];
        let shared = at_the_same_time(&queue, scale).await;
        let all = [singly[0], singly[1], batched[0], batched[1], shared];
        for (figures, figure) in figures.iter_mut().zip(all) {
            figures.push(figure);
        }
        let all = [singly[1] / singly[0], batched[1] / batched[0], shared / batched[1]];
        for (ratios, ratio) in ratios.iter_mut().zip(all) {
            ratios.push(ratio);
        }
    }
    let [plain_singly, singly, plain_batched, batched, shared] = figures.map(median);
    let [single_ratio, batch_ratio, shared_ratio] = ratios.map(median);
    let what = |rest: &str| format!("embedded, synchronous={mode}: {rest}");
    let at_least = (Bound::AtLeast, 0.8);
    let note = format!("{singly:.0} cycles/s, plain {plain_singly:.0}");
    report.target("10", &what("singly / plain"), single_ratio, "×", at_least, note);
    let note = format!("{batched:.0} cycles/s, plain {plain_batched:.0}");
    report.target("10", &what("batches of 100 / plain"), batch_ratio, "×", at_least, note);
    let note = format!("{shared:.0} cycles/s");
    report.info("10", &what("singly, 100 at once / batches"), shared_ratio, "×", note);
}

/// Adds, leases and completes, in batches of this size; cycles of one item a second.
async fn cycles(queue: &WorkQueue, batches: usize, size: usize) -> f64 {
    let begun = Instant::now();
    for _ in 0..batches {
        if size == 1 {
            assert!(queue.add_item(Item::new([b'x'; DATA])).await.unwrap());
            let lease = queue.lease(at_once()).await.unwrap().unwrap();
            assert!(queue.complete(&lease).await.unwrap());
        } else {
            queue.add_items(batch()).await.unwrap();
            let leases = queue.lease_many(size, at_once()).await.unwrap();
            assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; BATCH]);
        }
    }
    (batches * size) as f64 / begun.elapsed().as_secs_f64()
}

async fn at_the_same_time(queue: &WorkQueue, scale: Scale) -> f64 {
    let each = (scale.batches / 4).max(1);
    let begun = Instant::now();
    let callers = (0..CALLERS).map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move { cycles(&queue, each, 1).await })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    (CALLERS * each) as f64 / begun.elapsed().as_secs_f64()
}

struct Plain {
    connection: Connection,
    now: i64,
}

impl Plain {
    fn new(file: &Path, mode: &str) -> Self {
        let connection = Connection::open(file).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        let schema = "CREATE TABLE job (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
                data BLOB NOT NULL, free_at INTEGER NOT NULL DEFAULT 0) STRICT;
            CREATE INDEX job_free ON job (free_at, number);";
        connection.execute_batch(&format!("PRAGMA synchronous = {mode}; {schema}")).unwrap();
        Plain { connection, now: 1 }
    }

    fn cycles(&mut self, batches: usize, size: usize) -> f64 {
        let begun = Instant::now();
        for _ in 0..batches {
            self.add(size);
            let leased = self.lease(size);
            assert_eq!(leased.len(), size);
            self.complete(&leased);
        }
        (batches * size) as f64 / begun.elapsed().as_secs_f64()
    }

    fn execute(&self, sql: &str) {
        self.connection.prepare_cached(sql).unwrap().execute([]).unwrap();
    }

    fn add(&mut self, size: usize) {
        self.execute("BEGIN IMMEDIATE");
        let sql = "INSERT INTO job (id, data) VALUES (?1, ?2)";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        for _ in 0..size {
            let id = uuid::Uuid::new_v4().to_string();
            statement.execute(params![id.as_bytes(), [b'x'; DATA]]).unwrap();
        }
        self.execute("COMMIT");
    }

    fn lease(&mut self, size: usize) -> Vec<(i64, Vec<u8>, Vec<u8>)> {
        self.now += 1;
        self.execute("BEGIN IMMEDIATE");
        let sql = "UPDATE job SET free_at = ?1 + 60000 WHERE number IN
                (SELECT number FROM job WHERE free_at <= ?1 ORDER BY free_at, number LIMIT ?2)
            RETURNING number, id, data";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        let leased = statement
            .query_map(params![self.now, size as i64], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        let leased = leased.map(Result::unwrap).collect();
        drop(statement);
        self.execute("COMMIT");
        leased
    }

    fn complete(&mut self, leased: &[(i64, Vec<u8>, Vec<u8>)]) {
        self.execute("BEGIN IMMEDIATE");
        let mut statement =
            self.connection.prepare_cached("DELETE FROM job WHERE number = ?1").unwrap();
        for (number, _, _) in leased {
            assert_eq!(statement.execute([number]).unwrap(), 1);
        }
        self.execute("COMMIT");
    }
}

/// How soon a waiter has an item that another client has added, as if it were another process.
async fn waiting(scale: Scale, report: &mut Report) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?synchronous=normal", folder.path().join("queue.db").display());
    let (same, other) =
        (Client::connect(&url).await.unwrap(), Client::connect(&url).await.unwrap());
    for (who, producer) in [("same", &same), ("another", &other)] {
        let waiter = same.queue(who).unwrap();
        let producer = producer.queue(who).unwrap();
        let mut latencies = Vec::new();
        for n in 0..scale.samples {
            let waiting = tokio::spawn({
                let waiter = waiter.clone();
                async move {
                    let options = LeaseOptions::new(Duration::from_secs(60));
                    let lease = waiter.lease(options).await.unwrap().unwrap();
                    let at = Instant::now();
                    assert!(waiter.complete(&lease).await.unwrap());
                    at
                }
            });
            // Not a synchronisation: it is to be waiting for a moment.
            tokio::time::sleep(Duration::from_millis(2 + n as u64 % 7)).await;
            let begun = Instant::now();
            producer.add_item(Item::new([b'x'; DATA])).await.unwrap();
            let at = waiting.await.unwrap();
            latencies.push(at.saturating_duration_since(begun).as_secs_f64() * 1e3);
        }
        let what = format!("embedded: added by {who} process → leased by a waiter, p99");
        let note = format!("p50 {:.2} ms", crate::setup::percentile(latencies.clone(), 0.5));
        let p99 = crate::setup::percentile(latencies, 0.99);
        let most = if who == "same" { 5.0 } else { 10.0 };
        report.target("6", &what, p99, "ms", (Bound::AtMost, most), note);
    }
}
