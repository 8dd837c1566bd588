//! The registry of workers.

use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use crate::Result;
use crate::engine::{
    BeatAnswer, StoredBeat, StoredCommand, StoredName, StoredWorker, StoredWorkers, WhichWorkers,
    WorkerEntry,
};
use crate::options::{
    COMMAND_LIFE, MAX_BATCH_BYTES, MAX_QUIET_WORKERS, MAX_WORKER_COMMANDS, WORKER_LIFE, ms,
};

pub(super) fn beat(db: &mut Database, beat: &StoredBeat) -> Result<BeatAnswer> {
    let StoredName { name, instance } = &beat.worker;
    delete_gone(db)?;
    let found = find(db, &beat.worker)?;
    if beat.body.is_empty() {
        if let Some((worker, _)) = found {
            delete(db, worker)?;
        }
        return Ok(BeatAnswer { quiet: is_quiet(db, name)?, commands: Vec::new() });
    }
    let expires = (db.now + ms(WORKER_LIFE)) as i64;
    const WRITE: &str = "INSERT INTO worker (name, instance, expires, body) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (name, instance) DO UPDATE SET expires = ?3, body = ?4";
    db.run(WRITE, |s| s.execute(params![name, instance, expires, beat.body.as_ref()]))?;
    let mut left = Vec::new();
    if let Some((worker, _)) = found {
        const DELETE: &str = "DELETE FROM worker_command WHERE worker = ?1 AND number = ?2";
        for number in &beat.acknowledged {
            db.run(DELETE, |s| s.execute(params![worker, *number as i64]))?;
        }
        left = commands(db, worker)?;
    }
    Ok(BeatAnswer { quiet: is_quiet(db, name)?, commands: left })
}

/// Deletes some of the workers that can have no command any more.
fn delete_gone(db: &Database) -> Result<()> {
    const GONE: &str = "SELECT worker FROM worker WHERE expires <= ?1 ORDER BY expires LIMIT 20";
    let before = db.now as i64 - ms(COMMAND_LIFE) as i64;
    for worker in db.rows(GONE, [before], |row| row.get(0))? {
        delete(db, worker)?;
    }
    Ok(())
}

fn delete(db: &Database, worker: i64) -> Result<()> {
    db.run("DELETE FROM worker_command WHERE worker = ?1", |s| s.execute([worker]))?;
    db.run("DELETE FROM worker WHERE worker = ?1", |s| s.execute([worker]))?;
    Ok(())
}

/// Its number, and when it expires.
fn find(db: &Database, worker: &StoredName) -> Result<Option<(i64, i64)>> {
    const FIND: &str = "SELECT worker, expires FROM worker WHERE name = ?1 AND instance = ?2";
    db.run(FIND, |s| {
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        s.query_row(params![worker.name, worker.instance], read).optional()
    })
}

fn is_quiet(db: &Database, name: &str) -> Result<bool> {
    const QUIET: &str = "SELECT count(*) FROM quiet_worker WHERE name = ?1";
    db.run(QUIET, |s| s.query_row([name], |row| row.get(0)))
}

fn commands(db: &Database, worker: i64) -> Result<Vec<StoredCommand>> {
    const COMMANDS: &str =
        "SELECT number, body FROM worker_command WHERE worker = ?1 AND expires > ?2";
    db.rows(COMMANDS, [worker, db.now as i64], |row| {
        Ok(StoredCommand {
            number: row.get::<_, i64>(0)? as u64,
            text: row.get::<_, Vec<u8>>(1)?.into(),
        })
    })
}

pub(super) fn command(
    db: &mut Database,
    worker: &StoredName,
    command: &StoredCommand,
) -> Result<bool> {
    let now = db.now as i64;
    let Some((number, _)) = find(db, worker)?.filter(|(_, expires)| *expires > now) else {
        return Ok(false);
    };
    const EXPIRED: &str = "DELETE FROM worker_command WHERE worker = ?1 AND expires <= ?2";
    db.run(EXPIRED, |s| s.execute([number, now]))?;
    const COUNT: &str = "SELECT count(*) FROM worker_command WHERE worker = ?1";
    let count: i64 = db.run(COUNT, |s| s.query_row([number], |row| row.get(0)))?;
    if count >= MAX_WORKER_COMMANDS as i64 {
        return Err(StoredCommand::too_many(worker));
    }
    const WRITE: &str = "INSERT INTO worker_command VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (worker, number) DO NOTHING";
    let expires = now + ms(COMMAND_LIFE) as i64;
    db.run(WRITE, |s| {
        s.execute(params![number, command.number as i64, expires, command.text.as_ref()])
    })?;
    Ok(true)
}

pub(super) fn set_quiet(db: &mut Database, name: &str, quiet: bool) -> Result<()> {
    if !quiet {
        db.run("DELETE FROM quiet_worker WHERE name = ?1", |s| s.execute([name]))?;
        return Ok(());
    }
    if is_quiet(db, name)? {
        return Ok(());
    }
    const COUNT: &str = "SELECT count(*) FROM quiet_worker";
    if db.run(COUNT, |s| s.query_row([], |row| row.get::<_, i64>(0)))? >= MAX_QUIET_WORKERS as i64 {
        return Err(StoredWorkers::too_many_quiet());
    }
    const WRITE: &str = "INSERT INTO quiet_worker VALUES (?1, ?2)";
    db.run(WRITE, |s| s.execute(params![name, db.now as i64]))?;
    Ok(())
}

pub(super) fn read(db: &mut Database, which: &WhichWorkers) -> Result<StoredWorkers> {
    let (now, life) = (db.now as i64, ms(WORKER_LIFE) as i64);
    let after = which.after.as_ref().and_then(WorkerEntry::name);
    let (after, instance) = match (&after, &which.name) {
        (Some(after), _) => (&*after.name, &*after.instance),
        (None, Some(name)) => (&**name, ""),
        (None, None) => ("", ""),
    };
    const COLUMNS: &str = "SELECT worker, name, instance, expires, length(body) FROM worker";
    let read = |row: &Row<'_>| {
        let worker = StoredName { name: row.get(1)?, instance: row.get(2)? };
        Ok((row.get(0)?, worker, row.get(3)?, row.get(4)?))
    };
    let limit = which.limit as i64;
    let entries: Vec<(i64, StoredName, i64, i64)> = match &which.name {
        Some(name) => {
            let sql =
                format!("{COLUMNS} WHERE name = ?1 AND instance > ?2 ORDER BY instance LIMIT ?3");
            db.rows(&sql, params![name, instance, limit], read)?
        }
        None => {
            let order = "ORDER BY name, instance LIMIT ?3";
            let sql = format!("{COLUMNS} WHERE (name, instance) > (?1, ?2) {order}");
            db.rows(&sql, params![after, instance, limit], read)?
        }
    };
    let full = entries.len() == which.limit;
    let mut answer = StoredWorkers { found: Vec::new(), next: None };
    let (mut room, mut last) = (MAX_BATCH_BYTES as i64, None);
    for (number, worker, expires, length) in entries {
        if expires > now {
            room -= length;
            if room < 0 && !answer.found.is_empty() {
                answer.next = last.as_ref().map(WorkerEntry::from);
                return Ok(answer);
            }
            let body: Vec<u8> = db.run("SELECT body FROM worker WHERE worker = ?1", |s| {
                s.query_row([number], |row| row.get(0))
            })?;
            answer.found.push(StoredWorker {
                entry: (&worker).into(),
                beat_ms: (expires - life).max(0) as u64,
                body: body.into(),
                quiet: is_quiet(db, &worker.name)?,
                commands: commands(db, number)?,
            });
        }
        last = Some(worker);
    }
    answer.next = last.filter(|_| full).as_ref().map(WorkerEntry::from);
    Ok(answer)
}
