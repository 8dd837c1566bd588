//! What cleaners need besides cleaning: when to clean, whose turn it is, and the state of the file.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::{OptionalExtension, params};
use tokio::sync::watch;

use super::database::Database;
use super::executor::Executor;
use super::files::{beside, shown};
use super::{clean, schedules};
use crate::Result;
use crate::doctor::{Diagnosis, Durability};
use crate::engine::Turn;
use crate::lock::lock;
use crate::name::QueueName;

/// How often a cleaner queries a queue while others write all the time. What it waits for has a deadline.
const QUERY_EVERY: Duration = Duration::from_millis(30);
/// A write-ahead log of this size has not been moved into the file for a long time.
const LARGE_WAL: u64 = 1 << 30;
/// With less free space than this the disk is nearly full.
const LITTLE_ROOM: u64 = 256 << 20;

/// Notifies cleaners when somebody has written, since items may be due earlier than they know.
#[derive(Default)]
pub(super) struct Due {
    /// The last query of each queue's cleaner.
    asked: Mutex<HashMap<QueueName, Asked>>,
}

#[derive(Clone)]
struct Asked {
    at: Instant,
    /// Has seen the writes before the query.
    writes: watch::Receiver<u64>,
}

impl Due {
    /// A cleaner is about to query the queue.
    pub(super) fn subscribe(&self, executor: &Executor, queue: &QueueName) {
        let writes = executor.notifier().subscribe_to_writes();
        lock(&self.asked).insert(queue.clone(), Asked { at: Instant::now(), writes });
    }

    /// The queue has no cleaner any more.
    pub(super) fn forget(&self, queue: &QueueName) {
        lock(&self.asked).remove(queue);
    }

    /// Returns when somebody has written since the cleaner's query.
    pub(super) async fn wait(&self, executor: &Executor, queue: &QueueName) {
        let asked = lock(&self.asked).get(queue).cloned();
        // Otherwise the queue was dropped: the cleaner queries it again.
        let Some(Asked { at, writes }) = asked else { return };
        tokio::time::sleep_until((at + QUERY_EVERY).into()).await;
        executor.wait(writes).await;
    }
}

pub(super) fn next_due(db: &mut Database, name: &QueueName) -> Result<Option<Duration>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    let next = [clean::next(db, queue)?, schedules::next(db, queue)?].into_iter().flatten().min();
    Ok(next.map(|at| db.time_until(at)))
}

pub(super) fn deep_turn(db: &mut Database, name: &QueueName, turn: Turn) -> Result<Duration> {
    let Some(queue) = db.queue(name)? else {
        return Ok(match turn {
            Turn::Take { interval } => interval,
            _ => Duration::ZERO,
        });
    };
    let now = db.now as i64;
    let lasts = Turn::LASTS.as_millis() as i64;
    let mut cleaning = None;
    let mut cleaned = None;
    match turn {
        Turn::Take { interval } => {
            let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
            let found: Option<(Option<i64>, Option<i64>)> =
                db.run("SELECT cleaned, cleaning FROM deep_turn WHERE queue = ?1", |statement| {
                    statement.query_row([queue], |row| Ok((row.get(0)?, row.get(1)?))).optional()
                })?;
            let (last, taken) = found.unwrap_or_default();
            let next = last.map_or(0, |last| last.saturating_add(interval));
            let wait = taken.unwrap_or(0).max(next).saturating_sub(now);
            if wait > 0 {
                // A clock that was set back must not postpone it for ever.
                return Ok(Duration::from_millis(wait.min(interval.max(lasts)) as u64));
            }
            cleaning = Some(now + lasts);
        }
        Turn::Keep => cleaning = Some(now + lasts),
        Turn::Done => cleaned = Some(now),
        Turn::Drop => {}
    }
    const NOTE: &str = "INSERT INTO deep_turn VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE
        SET cleaned = coalesce(?2, cleaned), cleaning = ?3";
    db.run(NOTE, |statement| statement.execute(params![queue, cleaned, cleaning]))?;
    Ok(Duration::ZERO)
}

pub(super) fn diagnose(db: &mut Database) -> Result<Diagnosis> {
    let mut diagnosis = Diagnosis::new(format!("SQLite {}", rusqlite::version()));
    let number = |name: &str| -> Result<i64> {
        db.run(&format!("PRAGMA {name}"), |s| s.query_row([], |row| row.get(0)))
    };
    let word = |name: &str| -> Result<String> {
        db.run(&format!("PRAGMA {name}"), |s| s.query_row([], |row| row.get(0)))
    };
    let (synchronous, mode) = (number("synchronous")?, word("journal_mode")?);
    let settings = [
        ("synchronous", if synchronous >= 2 { "full" } else { "normal" }.to_owned()),
        ("journal_mode", mode),
        ("page_size", number("page_size")?.to_string()),
        ("page_count", number("page_count")?.to_string()),
        ("freelist_count", number("freelist_count")?.to_string()),
    ];
    diagnosis.settings.extend(settings.map(|(name, value)| (name.to_owned(), value)));
    match db.connection.path().filter(|path| !path.is_empty()).map(PathBuf::from) {
        None => {
            diagnosis.at_most(Durability::Nothing);
            diagnosis
                .problem("the queue is in the memory of one client", "use sqlite:path/to/file.db");
        }
        Some(path) => {
            if synchronous < 2 {
                diagnosis.at_most(Durability::Window);
                diagnosis.hint(
                    "synchronous is normal: a power failure may take the latest operations",
                    "use synchronous=full, the default, if no acknowledged operation may be lost",
                );
            }
            diagnose_file(&path, &mut diagnosis);
        }
    }
    diagnosis.sort();
    Ok(diagnosis)
}

fn diagnose_file(path: &Path, diagnosis: &mut Diagnosis) {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
    let (file, wal) = (size(path), size(&beside(path, "-wal")));
    let mut set = |name: &str, value: String| diagnosis.settings.insert(name.into(), value);
    set("file", shown(path));
    set("file_bytes", file.to_string());
    set("log_bytes", wal.to_string());
    if wal > LARGE_WAL {
        diagnosis.hint(
            format!("the log has grown to {wal} bytes: some program reads for very long"),
            "end programs that keep a transaction open",
        );
    }
    if let Ok(disk) = rustix::fs::statvfs(path) {
        let room = disk.f_bavail.saturating_mul(disk.f_frsize);
        diagnosis.settings.insert("free_bytes".into(), room.to_string());
        if room < LITTLE_ROOM {
            diagnosis.problem(
                format!("only {room} bytes are free on the disk: without room every change fails"),
                "make room",
            );
        }
    }
    let mode = std::fs::metadata(path).map_or(0, |data| data.permissions().mode() & 0o777);
    diagnosis.settings.insert("file_mode".into(), format!("{mode:o}"));
    if mode & 0o002 != 0 {
        diagnosis.problem(
            format!("every user of this machine may change the file (mode {mode:o})"),
            "chmod o-w the file and those beside it",
        );
    }
}
