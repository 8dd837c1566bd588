//! What cleaners need besides cleaning: when to do it, whose turn it is, and what the file is like.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::{OptionalExtension, params};
use tokio::sync::watch;

use super::database::Database;
use super::files::shown;
use super::worker::Worker;
use super::{due, locked};
use crate::Result;
use crate::doctor::{Diagnosis, Durability};
use crate::engine::Turn;
use crate::name::QueueName;

/// How often cleaners look whether anything was written. Workers look more often; what a cleaner
/// waits for has a deadline.
const LOOK_EVERY: Duration = Duration::from_millis(30);
/// How long one look may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// A log this large was not moved into the file for long.
const LARGE_LOG: u64 = 1 << 30;
/// With less room than this the disk is as good as full.
const LITTLE_ROOM: u64 = 256 << 20;

/// Tells cleaners that the file has changed, so that something may be due earlier than they know.
pub(super) struct Due {
    changes: watch::Sender<u64>,
    /// What each queue's cleaner had seen when it last looked.
    seen: Mutex<HashMap<QueueName, watch::Receiver<u64>>>,
    /// Of all that wait, one looks, and keeps here what it saw.
    last: tokio::sync::Mutex<Option<(Option<i64>, u64)>>,
}

impl Default for Due {
    fn default() -> Self {
        Due {
            changes: watch::Sender::new(0),
            seen: Mutex::default(),
            last: tokio::sync::Mutex::default(),
        }
    }
}

impl Due {
    /// A cleaner is about to look at the queue.
    pub(super) fn looks(&self, queue: &QueueName) {
        locked(&self.seen).insert(queue.clone(), self.changes.subscribe());
    }

    /// Nobody cleans the queue any more.
    pub(super) fn forget(&self, queue: &QueueName) {
        locked(&self.seen).remove(queue);
    }

    /// Returns when something was written since it looked.
    pub(super) async fn wait(&self, worker: &Worker, queue: &QueueName) {
        let seen = locked(&self.seen).get(queue).cloned();
        let mut seen = seen.unwrap_or_else(|| self.changes.subscribe());
        tokio::select! {
            _ = seen.changed() => {}
            () = self.look(worker) => {}
        }
    }

    async fn look(&self, worker: &Worker) {
        let mut last = self.last.lock().await;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // The first is the number of writes of others, the second that of our own.
            let version =
                |db: &mut Database| Ok((db.foreign_version(), db.connection.total_changes()));
            let until = Instant::now() + PATIENCE;
            // Not told of: whoever wants to know looks by itself, and gets the error.
            let Ok(now) = worker.run(false, until, version).await else { continue };
            if last.replace(now) != Some(now) {
                self.changes.send_modify(|count| *count += 1);
            }
        }
    }
}

pub(super) fn next_due(db: &mut Database, name: &QueueName) -> Result<Option<Duration>> {
    let Some(queue) = db.queue(name)? else { return Ok(None) };
    let next = due::next_due(db, queue)?;
    Ok(next.map(|at| Duration::from_millis(at.saturating_sub(db.now as i64).max(0) as u64)))
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
                // A clock that was set back must not put it off for ever.
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
            file(&path, &mut diagnosis);
        }
    }
    diagnosis.sort();
    Ok(diagnosis)
}

fn file(path: &Path, diagnosis: &mut Diagnosis) {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let (file, log) = (size(path), size(Path::new(&log)));
    let mut set = |name: &str, value: String| diagnosis.settings.insert(name.into(), value);
    set("file", shown(path));
    set("file_bytes", file.to_string());
    set("log_bytes", log.to_string());
    if log > LARGE_LOG {
        diagnosis.hint(
            format!("the log has grown to {log} bytes: some program reads for very long"),
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
