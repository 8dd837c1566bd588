//! The database of one client: transactions, and what is known within one.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use super::count_delta::CountDelta;
use super::error::explain;
use super::files::{Identity, identities};
use super::known_settings::KnownSettings;
use super::noted_events::{self, NotedEvents, OfQueue};
use super::numbers::{PER_MS, first_at};
use super::opening::Opening;
use super::process::OpenFile;
use super::writer_lock::WriterLock;
use crate::name::QueueName;
use crate::{Error, Result};

/// Time and sequence are written when the time is this many ms ahead of the file. All processes of a
/// machine have the same clock; if it is set back, the time goes back by no more than this.
pub(super) const CLOCK_STEP: i64 = 10;
/// The latest time whose numbers and deadlines the file can hold.
const MAX_NOW: u64 = (i64::MAX / PER_MS - CLOCK_STEP) as u64;
/// Limit of the queues whose numbers are kept in memory.
const MAX_KNOWN: usize = 10_000;

pub(super) struct Database {
    pub(super) connection: Connection,
    pub(super) opening: Opening,
    /// For writers that do not wait for it. The executor's thread has a descriptor of its own.
    pub(super) writer_lock: Option<WriterLock>,
    /// Which files the database and its write-ahead log were when it was opened.
    pub(super) opened: Option<[Identity; 2]>,
    pub(super) wal: PathBuf,
    pub(super) file: Option<OpenFile>,
    queues: HashMap<QueueName, i64>,
    pub(super) known_settings: KnownSettings,
    /// How often a queue had been dropped or configured when `queues` and `known_settings` were filled.
    changes: i64,
    /// The time of the transaction, in ms since 1970.
    pub(super) now: u64,
    /// Until when a client may wait for the end of an item.
    awaited: i64,
    /// A successor may wait that has another id than its leased item.
    pub(super) successors: Cell<bool>,
    /// The transaction has reported the end of an item.
    reported: Cell<bool>,
    /// The queues of which the transaction has opened keys.
    opened_keys: RefCell<Vec<i64>>,
    /// The queues for which the transaction has noted ends, of which something is to be added.
    deferred: RefCell<Vec<i64>>,
    /// The queues to which the transaction has added follow-ups.
    added_to: RefCell<Vec<i64>>,
    /// What the transaction has changed of queues that keep their changes.
    pub(super) events: NotedEvents,
    /// Clock and sequence of the file.
    stored: (i64, i64),
    /// The last version of the file that [`others_wrote`](Database::others_wrote) has seen.
    seen: Option<i64>,
    /// The last statement that failed found the disk full.
    full: Cell<bool>,
    /// Every statement that was run, for a test of the query plans.
    #[cfg(test)]
    pub(super) statements: std::cell::RefCell<std::collections::BTreeSet<String>>,
}

impl Database {
    pub(super) fn new(opening: &Opening, connection: Connection) -> Database {
        Database {
            connection,
            opening: opening.clone(),
            writer_lock: None,
            opened: None,
            wal: PathBuf::new(),
            file: None,
            queues: HashMap::new(),
            known_settings: KnownSettings::default(),
            changes: 0,
            now: 0,
            awaited: 0,
            successors: Cell::new(false),
            reported: Cell::new(false),
            opened_keys: RefCell::default(),
            deferred: RefCell::default(),
            added_to: RefCell::default(),
            events: NotedEvents::default(),
            stored: (0, 0),
            seen: None,
            full: Cell::new(false),
            #[cfg(test)]
            statements: Default::default(),
        }
    }

    /// Closes the file quickly, without removing the write-ahead log. It can be opened again.
    pub(super) fn quiesce(self) -> Opening {
        let Database { connection, mut opening, opened, .. } = self;
        opening.known = opened.map(|files| files[0]);
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        opening
    }

    /// What opens a second connection to the file that only reads; `None` in memory.
    pub(super) fn opening_to_read(&self) -> Option<Opening> {
        let known = Some(self.opened?[0]);
        Some(Opening { known, read_only: true, ..self.opening.clone() })
    }

    /// Acquires the writer lock, unless another process holds it or waits for it.
    pub(super) fn try_lock(&self) -> bool {
        self.writer_lock.as_ref().is_none_or(WriterLock::try_acquire)
    }

    pub(super) fn unlock(&self) {
        if let Some(lock) = &self.writer_lock {
            lock.release();
        }
    }

    /// Begins a transaction that may write. The caller holds the writer lock. Until this time it waits for
    /// programs that ignore the lock.
    pub(super) fn begin_write(&mut self, until: Instant) -> Result<()> {
        let begun = self.begin(until, "BEGIN IMMEDIATE");
        if begun.is_err() {
            self.roll_back();
        }
        begun
    }

    /// Commits the transaction if `done` is a success, otherwise rolls it back.
    pub(super) fn end_write(&mut self, done: Result<()>) -> Result<()> {
        let mut opened = Vec::new();
        let committed =
            done.and_then(|()| self.write_events()).and_then(|()| self.finish()).and_then(|()| {
                opened = self.still_open()?;
                let committed =
                    self.connection.prepare_cached("COMMIT").and_then(|mut s| s.execute([]));
                committed.map_err(|error| self.explained(&error, true))
            });
        match committed {
            Ok(_) => {
                self.opening.numbers.commit(self.stored.1);
                for queue in &opened {
                    self.opening.notifier.changed(queue);
                }
                if self.reported.take() {
                    self.opening.endings.send_modify(|count| *count += 1);
                }
            }
            Err(_) => self.roll_back(),
        }
        committed.map(|_| ())
    }

    /// Cleans up after a panic.
    pub(super) fn abandon(&mut self) {
        self.roll_back();
        self.unlock();
    }

    fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        // Queues that it had created do not exist.
        self.forget();
    }

    /// Runs `work` on one state of the database. Writers can continue.
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

    /// Shrinks the write-ahead log if the last error was a full disk. True if that has freed space.
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
        const META: &str = "SELECT clock, sequence, changes, awaited, successors FROM meta";
        let (clock, sequence, changes, awaited, successors) = self.run(META, |s| {
            s.query_row([], |row| {
                Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
        })?;
        self.awaited = awaited;
        self.successors.set(successors);
        self.reported.set(false);
        self.opened_keys.get_mut().clear();
        self.deferred.get_mut().clear();
        self.added_to.get_mut().clear();
        self.events.take();
        if changes != self.changes {
            // A queue was dropped, and its name does not stand for its number any more; or it has other settings.
            self.forget();
            self.changes = changes;
        }
        // Within this process the time never goes back.
        let stored = clock.max(0) as u64;
        self.now = self.opening.clock.now_ms().max(stored).max(self.now).min(MAX_NOW);
        self.opening.numbers.begin(sequence);
        self.stored = (clock, sequence);
        Ok(())
    }

    /// Writes what the transaction has changed of queues that keep their changes.
    pub(super) fn write_events(&self) -> Result<()> {
        for OfQueue { queue, count, packed } in self.events.take() {
            let found = self.run(noted_events::NEXT, |s| {
                let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
                s.query_row([queue, count], read).optional()
            })?;
            let Some((last, most)) = found else { continue };
            let row = params![queue, last, count, self.now as i64, packed];
            self.run(noted_events::ADD, |s| s.execute(row))?;
            self.run(noted_events::TRIM, |s| s.execute([queue, last.saturating_sub(most)]))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let (now, (clock, sequence)) = (self.now as i64, self.stored);
        let last = self.opening.numbers.last();
        // Most transactions write one page less.
        if now.saturating_sub(clock) < CLOCK_STEP && last <= sequence {
            return Ok(());
        }
        // Reserves the numbers of the next moments as well.
        let reserved = first_at(self.now, CLOCK_STEP).max(last).max(sequence);
        self.run("UPDATE meta SET clock = ?1, sequence = ?2", |s| {
            s.execute(params![now, reserved])
        })?;
        self.stored = (now, reserved);
        Ok(())
    }

    fn check_file(&self) -> Result<()> {
        match &self.opening.location.path {
            Some(path) if self.opened != identities(path, &self.wal) => {
                Err(self.opening.location.replaced())
            }
            _ => Ok(()),
        }
    }

    /// Whether another connection has written since the last call, or may have.
    pub(super) fn others_wrote(&mut self) -> bool {
        // A number that changes when another connection has written.
        let version = self.run("PRAGMA data_version", |s| s.query_row([], |row| row.get(0))).ok();
        let same = version.is_some() && version == self.seen;
        self.seen = version;
        !same
    }

    /// From the time of the transaction; zero if `at` has passed.
    pub(super) fn time_until(&self, at: i64) -> Duration {
        Duration::from_millis(at.saturating_sub(self.now as i64).max(0) as u64)
    }

    /// Whether a client may wait for the end of an item of the file.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited > self.now as i64
    }

    /// A client waits until then. Writes nothing if one of these times is known.
    pub(super) fn note_awaited(&mut self, until: i64, enough: RangeInclusive<i64>) -> Result<()> {
        if !enough.contains(&self.awaited) {
            self.run("UPDATE meta SET awaited = ?1", |s| s.execute([until]))?;
            // For other operations in the same transaction.
            self.awaited = until;
        }
        Ok(())
    }

    /// Notifies those who wait for the ends of items when the transaction is committed.
    pub(super) fn report_after_commit(&self) {
        self.reported.set(true);
    }

    /// Notifies those who wait for an item of the queue when the transaction is committed, unless it has leased what the
    /// keys that it opened had to give.
    pub(super) fn note_opened(&self, queue: i64) {
        let mut opened = self.opened_keys.borrow_mut();
        if !opened.contains(&queue) {
            opened.push(queue);
        }
    }

    /// Notes that the transaction has noted ends.
    pub(super) fn note_deferred(&self, queue: i64) {
        let mut deferred = self.deferred.borrow_mut();
        if !deferred.contains(&queue) {
            deferred.push(queue);
        }
    }

    /// The queues for which the transaction has noted ends since the last call.
    pub(super) fn take_deferred(&self) -> Vec<i64> {
        self.deferred.take()
    }

    /// Notes that the transaction has added follow-ups.
    pub(super) fn note_added(&self, queue: i64) {
        let mut added = self.added_to.borrow_mut();
        if !added.contains(&queue) {
            added.push(queue);
        }
    }

    /// The queues of which the transaction leaves keys open, or to which it has added follow-ups.
    fn still_open(&self) -> Result<Vec<QueueName>> {
        const NAME: &str = "SELECT name FROM queue WHERE queue = ?1 AND name IS NOT NULL
            AND (?2 OR EXISTS (SELECT 1 FROM open_key WHERE open_key.queue = queue.queue
                AND open_key.sort_key <= 0))";
        let mut names = Vec::new();
        let opened = self.opened_keys.take().into_iter().map(|queue| (queue, false));
        let added = self.added_to.take().into_iter().map(|queue| (queue, true));
        for (queue, added) in opened.chain(added) {
            let name: Option<String> = self
                .run(NAME, |s| s.query_row(params![queue, added], |row| row.get(0)).optional())?;
            names.extend(name.and_then(|name| QueueName::new(&name).ok()));
        }
        Ok(names)
    }

    pub(super) fn next_number(&self) -> i64 {
        self.opening.numbers.next(self.now)
    }

    /// The last number that was given.
    pub(super) fn last_number(&self) -> i64 {
        self.opening.numbers.last()
    }

    /// Runs a statement, which stays prepared.
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

    /// The rows of a query.
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

    /// The number of the queue; `None` if it does not exist.
    pub(super) fn queue(&mut self, name: &QueueName) -> Result<Option<i64>> {
        if let Some(queue) = self.queues.get(name) {
            return Ok(Some(*queue));
        }
        let found = self.run("SELECT queue FROM queue WHERE name = ?1", |s| {
            s.query_row([name.as_str()], |row| row.get(0)).optional()
        })?;
        if let Some(queue) = found {
            self.remember(name, queue);
        }
        Ok(found)
    }

    pub(super) fn queue_or_new(&mut self, name: &QueueName) -> Result<i64> {
        if let Some(queue) = self.queue(name)? {
            return Ok(queue);
        }
        self.run("INSERT INTO queue (name) VALUES (?1)", |s| s.execute([name.as_str()]))?;
        let queue = self.connection.last_insert_rowid();
        self.remember(name, queue);
        Ok(queue)
    }

    fn remember(&mut self, name: &QueueName, queue: i64) {
        if self.queues.len() >= MAX_KNOWN {
            self.queues.clear();
        }
        self.queues.insert(name.clone(), queue);
    }

    /// Lets every process look up the numbers and settings of its queues again.
    pub(super) fn forget_queues(&mut self) -> Result<()> {
        self.forget();
        self.execute("UPDATE meta SET changes = changes + 1")
    }

    fn forget(&mut self) {
        self.queues.clear();
        self.known_settings.clear();
    }

    pub(super) fn count(&self, queue: i64, delta: &CountDelta) -> Result<()> {
        delta.write(&self.connection, queue).map_err(|error| self.explained(&error, false))
    }
}
