//! Opening the database: for the first time, and again after a fork.

use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::clock::Source;
use super::database::{Database, Numbers};
use super::error::explain_opening;
use super::files::{Identity, beside, identities, identity};
use super::location::{Location, check_place};
use super::process::FILES;
use super::writer_lock::WriterLock;
use crate::{Error, ErrorKind, Result};

/// Number of the storage format, kept as SQLite's `user_version`.
const FORMAT: i64 = 1;
/// Pages are kept in memory up to this much, if so many are used: ids are random, so in a deep queue
/// each one stands on another page of its index.
const CACHE_KIB: usize = 16_384;
/// How long opening without the turn waits for whoever may be making the tables.
const SHORT: Duration = Duration::from_millis(50);
/// Marks our files, as SQLite's `application_id`: "lsq" and 0.
const APPLICATION: i64 = 0x6C73_7100;

/// A database that is not open: what is needed to open it.
pub(super) struct Opening {
    pub(super) location: Location,
    pub(super) clock: Source,
    pub(super) timeout: Duration,
    /// The file that it was, if it was open before.
    pub(super) known: Option<Identity>,
    pub(super) numbers: Numbers,
    /// For reading only, beside a connection that writes.
    pub(super) read_only: bool,
}

impl Opening {
    pub(super) fn new(location: Location, clock: Source, timeout: Duration) -> Opening {
        let (known, numbers, read_only) = (None, Numbers::default(), false);
        Opening { location, clock, timeout, known, numbers, read_only }
    }

    /// For the first time this needs the turn: making the tables and switching to the write-ahead
    /// log must not race with another process.
    pub(super) fn open(&self) -> Result<Database> {
        let gone = || Error::internal(format_args!("{}: no tables", self.location.describe()));
        self.open_or(true)?.ok_or_else(gone)
    }

    /// Without the turn. `None`: somebody has to make the tables, or does so now.
    pub(super) fn open_made(&self) -> Result<Option<Database>> {
        match self.open_or(false) {
            Err(error) if error.kind().is_retryable() => Ok(None),
            opened => opened,
        }
    }

    fn open_or(&self, make: bool) -> Result<Option<Database>> {
        let place = self.location.describe();
        let explained = |error: &rusqlite::Error| explain_opening(&place, error);
        let mut database = match &self.location.path {
            None => {
                let connection = Connection::open_in_memory().map_err(|e| explained(&e))?;
                Database::new(self, connection)
            }
            Some(path) => {
                let mut flags = OpenFlags::default();
                if self.known.is_some() || !make {
                    // What is not there any more must not be made anew.
                    flags.remove(OpenFlags::SQLITE_OPEN_CREATE);
                }
                if self.known.is_some() {
                    if self.read_only {
                        flags.remove(OpenFlags::SQLITE_OPEN_READ_WRITE);
                        flags.insert(OpenFlags::SQLITE_OPEN_READ_ONLY);
                    }
                    if identity(path) != self.known {
                        return Err(self.location.replaced());
                    }
                } else {
                    check_place(path)?;
                }
                if !make && !path.exists() {
                    return Ok(None);
                }
                let token = FILES.open(std::process::id())?;
                let lock = WriterLock::open(path)?;
                let connection =
                    Connection::open_with_flags(path, flags).map_err(|e| explained(&e))?;
                let mut database = Database::new(self, connection);
                database.file = Some(token);
                database.writer_lock = Some(lock);
                database
            }
        };
        if !self.prepare(&database.connection, make)? {
            return Ok(None);
        }
        if let Some(path) = &self.location.path {
            let log = beside(path, "-wal");
            database.opened = identities(path, &log);
            database.log = log;
            if self.known.is_some() && database.opened.map(|files| files[0]) != self.known {
                return Err(self.location.replaced());
            }
        }
        Ok(Some(database))
    }

    /// False: there are no tables, and it makes none.
    fn prepare(&self, connection: &Connection, make: bool) -> Result<bool> {
        let place = self.location.describe();
        let explained = |error: rusqlite::Error| explain_opening(&place, &error);
        // Only programs that do not take turns, such as the sqlite3 shell, are waited for here.
        let patience = if make { self.timeout } else { SHORT };
        connection.busy_timeout(patience).map_err(explained)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Else SQLite would prepare most statements anew at every call, to plan them for its values.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(explained)?;
        let pragma =
            |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
        // All of one state: without the turn, another process may be making the tables.
        connection.execute_batch("BEGIN").map_err(explained)?;
        let format: i64 = pragma("user_version").map_err(explained)?;
        let application: i64 = pragma("application_id").map_err(explained)?;
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(explained)?;
        connection.execute_batch("COMMIT").map_err(explained)?;
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
        if !self.read_only && connection.is_readonly("main").map_err(explained)? {
            return Err(Error::invalid(format_args!("{place}: the file cannot be written")));
        }
        let mode = if make { "PRAGMA journal_mode = WAL" } else { "PRAGMA journal_mode" };
        let mode: String = connection.query_row(mode, [], |row| row.get(0)).map_err(explained)?;
        if !make && (tables == 0 || mode != "wal") {
            return Ok(false);
        }
        if self.location.path.is_some() && mode != "wal" {
            return Err(Error::invalid(format_args!(
                "{place}: the file system does not support a write-ahead log"
            )));
        }
        let synchronous = if self.location.full { "FULL" } else { "NORMAL" };
        connection
            .execute_batch(&format!(
                "PRAGMA synchronous = {synchronous}; PRAGMA temp_store = MEMORY;
                PRAGMA cache_size = -{CACHE_KIB};"
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
        Ok(true)
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
            let db = Opening::new(location, clock, Duration::from_secs(1)).open().unwrap();
            let set: Vec<i64> = db.rows("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
            assert_eq!(set, [number], "{url}");
        }
    }
}
