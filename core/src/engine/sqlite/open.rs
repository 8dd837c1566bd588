//! Opening the database.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::database::Database;
use super::error::explain_opening;
use super::files::{beside, identities, identity};
use super::location::check_place;
use super::opening::Opening;
use super::process::FILES;
use super::writer_lock::WriterLock;
use crate::{Error, ErrorKind, Result};

/// Number of the storage format, kept as SQLite's `user_version`.
const FORMAT: i64 = 2;
/// Marks our files, as SQLite's `application_id`: "lsq" and 0.
const APPLICATION: i64 = 0x6C73_7100;
/// Limit of SQLite's page cache. Ids may be random, and then each one of a deep queue is on another page of
/// the index.
const CACHE_KIB: usize = 16_384;
/// How long opening without the writer lock waits for a process that may be creating the tables.
const SHORT: Duration = Duration::from_millis(50);

/// Opens the database, and creates its tables if there are none. The first time, the caller must hold the
/// writer lock: creating the tables and switching to the write-ahead log must not race with another process.
pub(super) fn open(opening: &Opening) -> Result<Database> {
    let missing = || Error::internal(format_args!("{}: no tables", opening.location.describe()));
    open_or(opening, true)?.ok_or_else(missing)
}

/// Opens the database without the writer lock. `None`: the tables do not exist yet, or another process is
/// creating them.
pub(super) fn open_existing(opening: &Opening) -> Result<Option<Database>> {
    match open_or(opening, false) {
        Err(error) if error.kind().is_retryable() => Ok(None),
        opened => opened,
    }
}

fn open_or(opening: &Opening, create: bool) -> Result<Option<Database>> {
    let connected = match &opening.location.path {
        None => Some(Database::new(opening, explained(opening, Connection::open_in_memory())?)),
        Some(path) => connect(opening, path, create)?,
    };
    let Some(mut database) = connected else { return Ok(None) };
    if !prepare(opening, &database.connection, create)? {
        return Ok(None);
    }
    if let Some(path) = &opening.location.path {
        let wal = beside(path, "-wal");
        database.opened = identities(path, &wal);
        database.wal = wal;
        if opening.known.is_some() && database.opened.map(|files| files[0]) != opening.known {
            return Err(opening.location.replaced());
        }
    }
    Ok(Some(database))
}

/// Connects to the file. `None`: there is none, and it must not be created.
fn connect(opening: &Opening, path: &Path, create: bool) -> Result<Option<Database>> {
    let mut flags = OpenFlags::default();
    if opening.known.is_some() || !create {
        // A file that was removed must not be created again.
        flags.remove(OpenFlags::SQLITE_OPEN_CREATE);
    }
    if opening.known.is_some() {
        if opening.read_only {
            flags.remove(OpenFlags::SQLITE_OPEN_READ_WRITE);
            flags.insert(OpenFlags::SQLITE_OPEN_READ_ONLY);
        }
        if identity(path) != opening.known {
            return Err(opening.location.replaced());
        }
    } else {
        check_place(path)?;
    }
    if !create && !path.exists() {
        return Ok(None);
    }
    let file = FILES.open(std::process::id())?;
    let writer_lock = WriterLock::open(path)?;
    let connection = explained(opening, Connection::open_with_flags(path, flags))?;
    let mut database = Database::new(opening, connection);
    database.file = Some(file);
    database.writer_lock = Some(writer_lock);
    Ok(Some(database))
}

/// Checks the file and configures the connection. False: there are no tables, and it must not create them.
fn prepare(opening: &Opening, connection: &Connection, create: bool) -> Result<bool> {
    // Only programs that ignore the writer lock, such as the sqlite3 shell, can make this wait.
    let patience = if create { opening.timeout } else { SHORT };
    explained(opening, connection.busy_timeout(patience))?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise SQLite would prepare most statements again at every call, to plan them for its values.
    explained(opening, connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true))?;
    let has_tables = check_format(opening, connection)?;
    // SQLite opens a file for reading if it cannot write it.
    if !opening.read_only && explained(opening, connection.is_readonly("main"))? {
        let place = opening.location.describe();
        return Err(Error::invalid(format_args!("{place}: the file cannot be written")));
    }
    if !set_journal_mode(opening, connection, has_tables, create)? {
        return Ok(false);
    }
    let synchronous = if opening.location.full { "FULL" } else { "NORMAL" };
    let settings = format!(
        "PRAGMA synchronous = {synchronous}; PRAGMA temp_store = MEMORY;
        PRAGMA cache_size = -{CACHE_KIB};"
    );
    explained(opening, connection.execute_batch(&settings))?;
    if !has_tables {
        let schema = include_str!("schema.sql");
        let create = format!(
            "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; \
             {schema} COMMIT;"
        );
        explained(opening, connection.execute_batch(&create))?;
    }
    Ok(true)
}

/// Whether the file has tables; fails if they are not those of this version.
fn check_format(opening: &Opening, connection: &Connection) -> Result<bool> {
    let read = || {
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get(0));
        // One state for all: without the writer lock, another process may be creating the tables.
        connection.execute_batch("BEGIN")?;
        let format: i64 = number("PRAGMA user_version")?;
        let application: i64 = number("PRAGMA application_id")?;
        let tables: i64 = number("SELECT count(*) FROM sqlite_schema")?;
        connection.execute_batch("COMMIT")?;
        Ok((format, application, tables))
    };
    let (format, application, tables) = explained(opening, read())?;
    let place = opening.location.describe();
    if application != APPLICATION && tables > 0 {
        return Err(Error::invalid(format_args!(
            "{place}: the database belongs to another program"
        )));
    }
    if tables > 0 && format != FORMAT {
        return Err(Error::new(
            ErrorKind::Incompatible,
            format_args!(
                "{place}: the file has storage format {format}, this version of leaseq reads {FORMAT}: \
                 upgrade the older one of the two"
            ),
        ));
    }
    Ok(tables > 0)
}

/// Switches to the write-ahead log. False: it must not, or there are no tables.
fn set_journal_mode(
    opening: &Opening,
    connection: &Connection,
    has_tables: bool,
    create: bool,
) -> Result<bool> {
    let set = if create { "PRAGMA journal_mode = WAL" } else { "PRAGMA journal_mode" };
    let mode: String = explained(opening, connection.query_row(set, [], |row| row.get(0)))?;
    if !create && (!has_tables || mode != "wal") {
        return Ok(false);
    }
    if opening.location.path.is_some() && mode != "wal" {
        return Err(Error::invalid(format_args!(
            "{}: the file system does not support a write-ahead log",
            opening.location.describe()
        )));
    }
    Ok(true)
}

fn explained<T>(opening: &Opening, result: rusqlite::Result<T>) -> Result<T> {
    result.map_err(|error| explain_opening(&opening.location.describe(), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::engine::sqlite::location::Location;

    #[test]
    fn the_url_decides_whether_commits_wait_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue.db");
        for (mode, number) in [("", 2), ("?synchronous=full", 2), ("?synchronous=normal", 1)] {
            let url = format!("sqlite:{}{mode}", path.display());
            let location = Location::parse(&url, &mut Default::default()).unwrap();
            let opening = Opening::new(location, Clock::machine(), Duration::from_secs(1));
            let db = open(&opening).unwrap();
            let set: Vec<i64> = db.rows("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
            assert_eq!(set, [number], "{url}");
        }
    }
}
