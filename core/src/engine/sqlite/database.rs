//! The database of one client: opening, transactions, and what a transaction knows.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use super::clock::Source;
use super::error::{explain, explain_opening};
use super::files::{Identity, identities, open_turn, unusable};
use super::location::{Location, check_file_system};
use super::process::{FILES, OpenFile};
use super::tally::Tally;
use crate::name::QueueName;
use crate::{Error, ErrorKind, Result};

/// Number of the storage format, kept as SQLite's `user_version`.
const FORMAT: i64 = 1;
/// Marks our files, as SQLite's `application_id`: "lsq" and 0.
const APPLICATION: i64 = 0x6C73_7100;

/// The time is written when it is this far ahead of what is stored, in ms. The clocks of processes
/// on a machine are one: this bounds how far back it can go if that one was set back.
const CLOCK_STEP: i64 = 10;

pub(super) struct Database {
    pub(super) connection: Connection,
    location: Location,
    clock: Source,
    /// Held during every write: the kernel hands it on in turn and at once, where SQLite's own lock
    /// would have to be polled, and some would never get it.
    turn: Option<File>,
    /// Which files stood at the path of the database, and at that of its log.
    opened: Option<[Identity; 2]>,
    _open: Option<OpenFile>,
    queues: HashMap<QueueName, i64>,
    pub(super) now: u64,
    sequence: i64,
    /// Clock and sequence as the file has them.
    stored: (i64, i64),
    /// The last statement that failed found the disk full.
    full: Cell<bool>,
    /// What was run, for a test that looks at the plans.
    #[cfg(test)]
    pub(super) statements: std::cell::RefCell<std::collections::BTreeSet<String>>,
}

impl Database {
    pub(super) fn open(location: &Location, clock: Source, timeout: Duration) -> Result<Database> {
        let place = location.describe();
        let explained = |error: &rusqlite::Error| explain_opening(&place, error);
        let mut open = None;
        let (connection, turn) = match &location.path {
            None => (Connection::open_in_memory().map_err(|error| explained(&error))?, None),
            Some(path) => {
                check_file_system(path)?;
                if path.is_dir() {
                    return Err(Error::invalid(format_args!(
                        "{place}: it is a folder, not a file"
                    )));
                }
                open = Some(FILES.open(std::process::id())?);
                let turn = open_turn(path)?;
                // Creating the schema and switching to WAL must not race with another process.
                turn.lock().map_err(|error| unusable(path, &error))?;
                (Connection::open(path).map_err(|error| explained(&error))?, Some(turn))
            }
        };
        let mut database = Database {
            connection,
            location: location.clone(),
            clock,
            turn,
            opened: None,
            _open: open,
            queues: HashMap::new(),
            now: 0,
            sequence: 0,
            stored: (0, 0),
            full: Cell::new(false),
            #[cfg(test)]
            statements: Default::default(),
        };
        let prepared = database.prepare(timeout);
        database.pass_turn();
        prepared.map(|()| database)
    }

    fn prepare(&mut self, timeout: Duration) -> Result<()> {
        let place = self.location.describe();
        let explained = |error: rusqlite::Error| explain_opening(&place, &error);
        let connection = &self.connection;
        // Only programs that do not take turns, such as the sqlite3 shell, are waited for here.
        connection.busy_timeout(timeout).map_err(explained)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Else SQLite would prepare most statements anew at every call, to plan them for its values.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(explained)?;
        let pragma =
            |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
        let format: i64 = pragma("user_version").map_err(explained)?;
        let application: i64 = pragma("application_id").map_err(explained)?;
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(explained)?;
        if application != APPLICATION && tables > 0 {
            return Err(Error::invalid(format_args!(
                "{place}: the database belongs to another program"
            )));
        }
        if tables > 0 && format != FORMAT {
            return Err(Error::new(
                ErrorKind::Incompatible,
                format_args!(
                    "{place}: the file has storage format {format}, this version of leaseq reads \
                     {FORMAT}: upgrade the older one of the two"
                ),
            ));
        }
        // SQLite opens what it cannot write for reading.
        if connection.is_readonly("main").map_err(explained)? {
            return Err(Error::invalid(format_args!("{place}: the file cannot be written")));
        }
        let mode: String = connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .map_err(explained)?;
        if self.location.path.is_some() && mode != "wal" {
            return Err(Error::invalid(format_args!(
                "{place}: the file system does not support a write-ahead log"
            )));
        }
        let synchronous = if self.location.full { "FULL" } else { "NORMAL" };
        connection
            .execute_batch(&format!(
                "PRAGMA synchronous = {synchronous}; PRAGMA temp_store = MEMORY;"
            ))
            .map_err(explained)?;
        if tables == 0 {
            let schema = include_str!("schema.sql");
            connection
                .execute_batch(&format!(
                    "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; \
                     {schema} COMMIT;"
                ))
                .map_err(explained)?;
        }
        self.opened = self.location.path.as_deref().and_then(identities);
        Ok(())
    }

    /// Begins a transaction that may write. Waits for other processes that do, one after the other;
    /// for programs that do not take turns, until this time.
    pub(super) fn begin_write(&mut self, until: Instant) -> Result<()> {
        if let (Some(turn), Some(path)) = (&self.turn, &self.location.path) {
            turn.lock().map_err(|error| unusable(path, &error))?;
        }
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
            Ok(_) => self.pass_turn(),
            Err(_) => self.roll_back(),
        }
        committed.map(|_| ())
    }

    fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.pass_turn();
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
        explain(&self.location.describe(), error, committing)
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
        let (clock, sequence) = self.run("SELECT clock, sequence FROM meta", |s| {
            s.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
        })?;
        // Within this process it does not go back at all.
        self.now = (self.clock)().max(clock as u64).max(self.now);
        self.sequence = sequence;
        self.stored = (clock, sequence);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let (now, sequence) = (self.now as i64, self.sequence);
        // One page less to write, most of the time.
        if (now - self.stored.0) < CLOCK_STEP && sequence == self.stored.1 {
            return Ok(());
        }
        self.run("UPDATE meta SET clock = ?1, sequence = ?2", |s| {
            s.execute(params![now, sequence])
        })?;
        Ok(())
    }

    fn pass_turn(&self) {
        if let Some(turn) = &self.turn {
            let _ = turn.unlock();
        }
    }

    /// A file that was removed or replaced would go on taking items that nobody will ever see.
    fn check_file(&self) -> Result<()> {
        match &self.location.path {
            Some(path) if self.opened != identities(path) => Err(Error::unavailable(
                format_args!(
                    "{}: the file was removed or replaced while it was in use",
                    path.display()
                ),
                false,
            )),
            _ => Ok(()),
        }
    }

    /// Changes when another connection has written; `None` if SQLite does not say.
    pub(super) fn foreign_version(&self) -> Option<i64> {
        self.run("PRAGMA data_version", |s| s.query_row([], |row| row.get(0))).ok()
    }

    /// Numbers follow the clock, 256 to a millisecond since 2026, so that they are not given again
    /// even when an old copy of the file is put back.
    pub(super) fn next_number(&mut self) -> i64 {
        let by_clock = self.now.saturating_sub(1_767_225_600_000) as i64 * 256;
        self.sequence = by_clock.max(self.sequence + 1);
        self.sequence
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
            self.queues.insert(name.clone(), queue);
        }
        Ok(found)
    }

    pub(super) fn queue_or_new(&mut self, name: &QueueName) -> Result<i64> {
        if let Some(queue) = self.queue(name)? {
            return Ok(queue);
        }
        self.run("INSERT INTO queue (name) VALUES (?1)", |s| s.execute([name.as_str()]))?;
        let queue = self.connection.last_insert_rowid();
        self.queues.insert(name.clone(), queue);
        Ok(queue)
    }

    pub(super) fn count(&self, queue: i64, tally: &Tally) -> Result<()> {
        tally.write(&self.connection, queue).map_err(|error| self.explained(&error, false))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_url_decides_whether_commits_wait_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue.db");
        for (mode, number) in [("", 2), ("?synchronous=full", 2), ("?synchronous=normal", 1)] {
            let url = format!("sqlite:{}{mode}", path.display());
            let location = Location::parse(&url, &mut Default::default()).unwrap();
            let clock = Arc::new(super::super::clock::machine);
            let db = Database::open(&location, clock, Duration::from_secs(1)).unwrap();
            let set: Vec<i64> = db.rows("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
            assert_eq!(set, [number], "{url}");
        }
    }
}
