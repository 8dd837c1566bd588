//! The database of one client: transactions, and what a transaction knows.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use super::count_delta::CountDelta;
use super::error::explain;
use super::files::{Identity, identities};
use super::opening::Opening;
use super::process::OpenFile;
use super::row::{EPOCH, PER_MS};
use super::writer_lock::WriterLock;
use crate::name::QueueName;
use crate::{Error, Result};

/// Time and numbers are written when the time is this far ahead of what is stored, in ms. The clocks
/// of processes on a machine are one: this bounds how far back it can go if that one was set back.
const CLOCK_STEP: i64 = 10;
/// The latest time: numbers and deadlines that follow from it are still numbers of the file.
const MAX_NOW: u64 = (i64::MAX / PER_MS - CLOCK_STEP) as u64;
/// Most queues whose numbers are kept in memory.
const MAX_KNOWN: usize = 10_000;

pub(super) struct Database {
    pub(super) connection: Connection,
    pub(super) opening: Opening,
    /// Held during a write by whoever does not wait for it; the thread has one of its own.
    pub(super) writer_lock: Option<WriterLock>,
    /// Which files stood at the path of the database, and at that of its log, when it was opened.
    pub(super) opened: Option<[Identity; 2]>,
    pub(super) log: PathBuf,
    pub(super) file: Option<OpenFile>,
    queues: HashMap<QueueName, i64>,
    /// How many queues had been dropped when these were looked up.
    drops: i64,
    pub(super) now: u64,
    /// Clock and sequence as the file has them.
    stored: (i64, i64),
    /// SQLite's number of the last state that others have written, as far as was looked.
    seen: Option<i64>,
    /// The last statement that failed found the disk full.
    full: Cell<bool>,
    /// What was run, for a test that looks at the plans.
    #[cfg(test)]
    pub(super) statements: std::cell::RefCell<std::collections::BTreeSet<String>>,
}

/// Which numbers this client may give. What the file has as its sequence, somebody has reserved:
/// this client if it is `reserved`, and then it goes on from `last`; else another, and then it begins
/// behind that.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    last: Cell<i64>,
    reserved: i64,
}

impl Database {
    pub(super) fn new(opening: &Opening, connection: Connection) -> Database {
        let opening = Opening {
            location: opening.location.clone(),
            clock: opening.clock.clone(),
            numbers: opening.numbers.clone(),
            ..*opening
        };
        Database {
            connection,
            opening,
            writer_lock: None,
            opened: None,
            log: PathBuf::new(),
            file: None,
            queues: HashMap::new(),
            drops: 0,
            now: 0,
            stored: (0, 0),
            seen: None,
            full: Cell::new(false),
            #[cfg(test)]
            statements: Default::default(),
        }
    }

    /// Closes the file, to be opened again. Quickly, and without removing the log.
    pub(super) fn quiesce(self) -> Opening {
        let Database { connection, mut opening, opened, .. } = self;
        opening.known = opened.map(|files| files[0]);
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        opening
    }

    /// For another connection to the same file, which reads; `None` in memory.
    pub(super) fn opening_to_read(&self) -> Option<Opening> {
        let opening = &self.opening;
        let known = Some(self.opened?[0]);
        let (location, clock) = (opening.location.clone(), opening.clock.clone());
        let (numbers, read_only) = (opening.numbers.clone(), true);
        Some(Opening { location, clock, numbers, known, read_only, ..*opening })
    }

    /// Takes the turn if nobody else has it or waits for it.
    pub(super) fn try_turn(&self) -> bool {
        self.writer_lock.as_ref().is_none_or(WriterLock::try_take)
    }

    pub(super) fn pass_turn(&self) {
        if let Some(lock) = &self.writer_lock {
            lock.pass();
        }
    }

    /// Begins a transaction that may write, by whoever has the turn. Programs that do not take turns
    /// are waited for until this time.
    pub(super) fn begin_write(&mut self, until: Instant) -> Result<()> {
        let begun = self.begin(until, "BEGIN IMMEDIATE");
        if begun.is_err() {
            self.roll_back();
        }
        begun
    }

    /// Ends it: all of it has happened then if `done` says so, else nothing.
    pub(super) fn end_write(&mut self, done: Result<()>) -> Result<()> {
        let committed = done.and_then(|()| self.finish()).and_then(|()| {
            let committed =
                self.connection.prepare_cached("COMMIT").and_then(|mut s| s.execute([]));
            committed.map_err(|error| self.explained(&error, true))
        });
        match committed {
            Ok(_) => self.opening.numbers.reserved = self.stored.1,
            Err(_) => self.roll_back(),
        }
        committed.map(|_| ())
    }

    /// Ends whatever a panic has interrupted.
    pub(super) fn abandon(&mut self) {
        self.roll_back();
        self.pass_turn();
    }

    fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        // A queue that was new in there is not any more.
        self.queues.clear();
    }

    /// Runs `work` on one state of the database, without keeping writers out.
    pub(super) fn read<T>(
        &mut self,
        until: Instant,
        work: impl FnOnce(&mut Database) -> Result<T>,
    ) -> Result<T> {
        let done = self.begin(until, "BEGIN").and_then(|()| work(self));
        if !self.connection.is_autocommit() {
            self.execute("ROLLBACK")?;
        }
        done
    }

    fn explained(&self, error: &rusqlite::Error, committing: bool) -> Error {
        self.full.set(error.sqlite_error_code() == Some(ErrorCode::DiskFull));
        explain(&self.opening.location.describe(), error, committing)
    }

    /// After an error: if the disk was full, gives back what the log has taken. True if it did.
    pub(super) fn make_room(&self) -> bool {
        self.full.take()
            && self
                .run("PRAGMA wal_checkpoint(TRUNCATE)", |s| s.query_row([], |row| row.get(0)))
                .is_ok_and(|blocked: bool| !blocked)
    }

    fn begin(&mut self, until: Instant, statement: &str) -> Result<()> {
        self.check_file()?;
        let patience = until.saturating_duration_since(Instant::now());
        self.connection.busy_timeout(patience).map_err(|error| self.explained(&error, false))?;
        self.execute(statement)?;
        let (clock, sequence, drops) = self
            .run("SELECT clock, sequence, drops FROM meta", |s| {
                s.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))
            })?;
        if drops != self.drops {
            // Whoever has dropped a queue: its number must not be used again for its name.
            self.queues.clear();
            self.drops = drops;
        }
        // Within this process it does not go back at all.
        let stored = clock.max(0) as u64;
        self.now = (self.opening.clock)().max(stored).max(self.now).min(MAX_NOW);
        let numbers = &self.opening.numbers;
        if sequence != numbers.reserved {
            numbers.last.set(sequence);
        }
        self.stored = (clock, sequence);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let (now, (clock, sequence)) = (self.now as i64, self.stored);
        let last = self.opening.numbers.last.get();
        // One page less to write, most of the time.
        if now.saturating_sub(clock) < CLOCK_STEP && last <= sequence {
            return Ok(());
        }
        // Those of the next moments too, so that not every one of them is written.
        let reserved = self.by_clock(CLOCK_STEP).max(last).max(sequence);
        self.run("UPDATE meta SET clock = ?1, sequence = ?2", |s| {
            s.execute(params![now, reserved])
        })?;
        self.stored = (now, reserved);
        Ok(())
    }

    fn check_file(&self) -> Result<()> {
        match &self.opening.location.path {
            Some(path) if self.opened != identities(path, &self.log) => {
                Err(self.opening.location.replaced())
            }
            _ => Ok(()),
        }
    }

    /// Whether another connection has written since this was asked last, or may have.
    pub(super) fn others_wrote(&mut self) -> bool {
        let version = self.foreign_version();
        let same = version.is_some() && version == self.seen;
        self.seen = version;
        !same
    }

    /// SQLite's number of the last state that another connection has written.
    pub(super) fn foreign_version(&self) -> Option<i64> {
        self.run("PRAGMA data_version", |s| s.query_row([], |row| row.get(0))).ok()
    }

    fn by_clock(&self, ahead: i64) -> i64 {
        (self.now.saturating_sub(EPOCH) as i64 + ahead) * PER_MS
    }

    /// Numbers follow the clock, so that they are not given again even when an old copy of the file
    /// is put back.
    pub(super) fn next_number(&self) -> i64 {
        let last = &self.opening.numbers.last;
        last.set(self.by_clock(0).max(last.get().saturating_add(1)));
        last.get()
    }

    /// Runs a statement that is kept prepared.
    pub(super) fn run<T>(
        &self,
        sql: &str,
        work: impl FnOnce(&mut rusqlite::CachedStatement<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        #[cfg(test)]
        self.statements.borrow_mut().insert(sql.into());
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| work(&mut statement))
            .map_err(|error| self.explained(&error, false))
    }

    /// Rows of a query, read by `read`.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.run(sql, |statement| statement.query_map(params, read)?.collect())
    }

    pub(super) fn execute(&self, sql: &str) -> Result<()> {
        self.run(sql, |statement| statement.execute([]).map(|_| ()))
    }

    /// The queue's number; `None` if nothing was ever added to it.
    pub(super) fn queue(&mut self, name: &QueueName) -> Result<Option<i64>> {
        if let Some(queue) = self.queues.get(name) {
            return Ok(Some(*queue));
        }
        let found = self.run("SELECT queue FROM queue WHERE name = ?1", |s| {
            s.query_row([name.as_str()], |row| row.get(0)).optional()
        })?;
        if let Some(queue) = found {
            self.know(name, queue);
        }
        Ok(found)
    }

    pub(super) fn queue_or_new(&mut self, name: &QueueName) -> Result<i64> {
        if let Some(queue) = self.queue(name)? {
            return Ok(queue);
        }
        self.run("INSERT INTO queue (name) VALUES (?1)", |s| s.execute([name.as_str()]))?;
        let queue = self.connection.last_insert_rowid();
        self.know(name, queue);
        Ok(queue)
    }

    fn know(&mut self, name: &QueueName, queue: i64) {
        if self.queues.len() >= MAX_KNOWN {
            self.queues.clear();
        }
        self.queues.insert(name.clone(), queue);
    }

    /// Tells every process that a name does not stand for the same queue any more.
    pub(super) fn forget_queues(&mut self) -> Result<()> {
        self.queues.clear();
        self.execute("UPDATE meta SET drops = drops + 1")
    }

    pub(super) fn count(&self, queue: i64, delta: &CountDelta) -> Result<()> {
        delta.write(&self.connection, queue).map_err(|error| self.explained(&error, false))
    }
}
