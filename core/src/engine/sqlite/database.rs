//! The database of one client: opening, transactions, and what a transaction knows.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::clock::Source;
use super::error::explain;
use super::location::{Location, check_file_system};
use super::tally::Tally;
use crate::name::QueueName;
use crate::{Error, ErrorKind, Result};

/// Number of the storage format, kept as SQLite's `user_version`.
const FORMAT: i64 = 1;
/// Marks our files, as SQLite's `application_id`: "lsq" and 0.
const APPLICATION: i64 = 0x6C73_7100;

pub(super) struct Database {
    pub(super) connection: Connection,
    location: Location,
    clock: Source,
    /// Held during every write: the kernel hands it on in turn and at once, where SQLite's own lock
    /// would have to be polled, and some would never get it.
    turn: Option<File>,
    opened: Option<(u64, u64)>,
    queues: HashMap<QueueName, i64>,
    pub(super) now: u64,
    sequence: i64,
}

impl Database {
    pub(super) fn open(location: &Location, clock: Source, timeout: Duration) -> Result<Database> {
        let place = location.describe();
        let explained = |error: &rusqlite::Error| explain(&place, error, false);
        let (connection, turn) = match &location.path {
            None => (Connection::open_in_memory().map_err(|error| explained(&error))?, None),
            Some(path) => {
                check_file_system(path)?;
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
            queues: HashMap::new(),
            now: 0,
            sequence: 0,
        };
        let prepared = database.prepare(timeout);
        database.pass_turn();
        prepared.map(|()| database)
    }

    fn prepare(&mut self, timeout: Duration) -> Result<()> {
        let place = self.location.describe();
        let explained = |error: rusqlite::Error| explain(&place, &error, false);
        let connection = &self.connection;
        // Only programs that do not take turns, such as the sqlite3 shell, are waited for here.
        connection.busy_timeout(timeout).map_err(explained)?;
        connection.set_prepared_statement_cache_capacity(64);
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
        self.opened = self.location.path.as_deref().and_then(identity);
        Ok(())
    }

    /// Runs `work` in one transaction: all of it happens, or nothing.
    pub(super) fn write<T>(&mut self, work: impl FnOnce(&mut Database) -> Result<T>) -> Result<T> {
        self.check_file()?;
        if let (Some(turn), Some(path)) = (&self.turn, &self.location.path) {
            turn.lock().map_err(|error| unusable(path, &error))?;
        }
        let done = self.transaction(work);
        self.pass_turn();
        done
    }

    fn transaction<T>(&mut self, work: impl FnOnce(&mut Database) -> Result<T>) -> Result<T> {
        self.execute("BEGIN IMMEDIATE")?;
        let done = self.begin().and_then(|()| work(self)).and_then(|done| {
            self.finish()?;
            Ok(done)
        });
        match done {
            Ok(done) => {
                let committed =
                    self.connection.prepare_cached("COMMIT").and_then(|mut s| s.execute([]));
                match committed {
                    Ok(_) => Ok(done),
                    Err(error) => {
                        self.roll_back();
                        Err(explain(&self.location.describe(), &error, true))
                    }
                }
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }

    fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        // A queue that was new in there is not any more.
        self.queues.clear();
    }

    /// Runs `work` on one state of the database, without keeping writers out.
    pub(super) fn read<T>(&mut self, work: impl FnOnce(&mut Database) -> Result<T>) -> Result<T> {
        self.check_file()?;
        self.execute("BEGIN")?;
        let done = self.begin().and_then(|()| work(self));
        let _ = self.connection.execute_batch("ROLLBACK");
        done
    }

    fn begin(&mut self) -> Result<()> {
        let (clock, sequence) = self.run("SELECT clock, sequence FROM meta", |s| {
            s.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
        })?;
        self.now = (self.clock)().max(clock as u64);
        self.sequence = sequence;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let (now, sequence) = (self.now as i64, self.sequence);
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
            Some(path) if self.opened != identity(path) => Err(Error::unavailable(
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

    pub(super) fn next_number(&mut self) -> i64 {
        self.sequence += 1;
        self.sequence
    }

    /// Runs a statement that is kept prepared.
    pub(super) fn run<T>(
        &self,
        sql: &str,
        work: impl FnOnce(&mut rusqlite::CachedStatement<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| work(&mut statement))
            .map_err(|error| explain(&self.location.describe(), &error, false))
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
        tally
            .write(&self.connection, queue)
            .map_err(|error| explain(&self.location.describe(), &error, false))
    }
}

/// The file that writers take turns with, beside the database. The database file itself must not be
/// opened a second time: closing that would drop SQLite's locks on it.
fn open_turn(path: &Path) -> Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push("-turn");
    let name = PathBuf::from(name);
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(|error| unusable(&name, &error))
}

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("{}: {error}", path.display());
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::Interrupted => {
            Error::unavailable(message, false)
        }
        _ => Error::invalid(message),
    }
}

/// Which file stands at this path.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        Some((0, 0))
    }
}
