//! Plain SQLite: a program's own tables that keep the same data, which is what any program must store and
//! find for a queue without duplicates, with priorities, leases and deadlines, and with counts that need
//! not be counted each time.
//!
//! Its columns are id, priority, state, attempts, deadline and data, its order the number of the row; a row
//! of another table has how many items are in each state, and the totals. Its indexes find an item by id,
//! the next ready one by priority and order, and the next lease to expire; the last two hold only the rows
//! of their state. It adds with a check of the id, leases and deletes, one statement for each item;
//! statements are prepared once, each step is one transaction of a write-ahead log, and all of it runs on
//! the caller's thread. It knows nothing of several queues, delays, failures, counts by priority, a clock
//! that does not go back, tokens, callers on other threads, and turns between processes.
//!
//! Beside it, without a limit, stands the leanest that we know: it leases a batch with one statement, and
//! keeps no counts.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use crate::setup::DATA;

pub(crate) struct Plain {
    connection: Connection,
    now: i64,
    /// One statement leases a batch, and nothing is counted.
    lean: bool,
}

impl Plain {
    pub(crate) fn new(file: &Path, mode: &str, lean: bool) -> Self {
        let connection = Connection::open(file).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        let schema = "CREATE TABLE job (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
                priority INTEGER NOT NULL DEFAULT 0, state INTEGER NOT NULL DEFAULT 0,
                attempts INTEGER NOT NULL DEFAULT 0, deadline INTEGER NOT NULL DEFAULT 0,
                data BLOB NOT NULL) STRICT;
            CREATE INDEX job_ready ON job (priority DESC, number) WHERE state = 0;
            CREATE INDEX job_leased ON job (deadline) WHERE state = 1;
            CREATE TABLE books (ready INTEGER NOT NULL, leased INTEGER NOT NULL,
                added INTEGER NOT NULL, leases INTEGER NOT NULL, completed INTEGER NOT NULL) STRICT;
            INSERT INTO books VALUES (0, 0, 0, 0, 0);";
        connection.execute_batch(&format!("PRAGMA synchronous = {mode}; {schema}")).unwrap();
        Plain { connection, now: 1_790_000_000_000, lean }
    }

    pub(crate) fn cycles(&mut self, batches: usize, size: usize) -> Duration {
        let begun = Instant::now();
        for _ in 0..batches {
            self.add(size);
            let leased = self.lease(size);
            assert_eq!(leased.len(), size);
            self.complete(&leased);
        }
        begun.elapsed()
    }

    fn execute(&self, sql: &str) {
        self.connection.prepare_cached(sql).unwrap().execute([]).unwrap();
    }

    fn count(&self, change: &str, by: usize) {
        if self.lean {
            return;
        }
        let sql = format!("UPDATE books SET {change}");
        self.connection.prepare_cached(&sql).unwrap().execute([by as i64]).unwrap();
    }

    fn add(&mut self, size: usize) {
        self.execute("BEGIN IMMEDIATE");
        let sql = "INSERT INTO job (id, priority, data) VALUES (?1, ?2, ?3)
            ON CONFLICT (id) DO NOTHING";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        for _ in 0..size {
            let id = uuid::Uuid::new_v4().to_string();
            let added = statement.execute(params![id.as_bytes(), 0, [b'x'; DATA]]).unwrap();
            assert_eq!(added, 1);
        }
        self.count("ready = ready + ?1, added = added + ?1", size);
        self.execute("COMMIT");
    }

    fn lease(&mut self, size: usize) -> Vec<(i64, Vec<u8>, Vec<u8>)> {
        self.now += 1;
        self.execute("BEGIN IMMEDIATE");
        let sql = "UPDATE job SET state = 1, attempts = attempts + 1, deadline = ?1 + 60000
            WHERE number IN
                (SELECT number FROM job WHERE state = 0 ORDER BY priority DESC, number LIMIT ?2)
            RETURNING number, id, data";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        let (statements, each) = if self.lean { (1, size) } else { (size, 1) };
        let mut leased = Vec::new();
        for _ in 0..statements {
            let rows = statement
                .query_map(params![self.now, each as i64], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .unwrap();
            leased.extend(rows.map(Result::unwrap));
        }
        drop(statement);
        let change = "ready = ready - ?1, leased = leased + ?1, leases = leases + ?1";
        self.count(change, leased.len());
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
        self.count("leased = leased - ?1, completed = completed + ?1", leased.len());
        self.execute("COMMIT");
    }
}
