//! The registry of workers. It is about no queue, so it has keys of its own.

use bytes::Bytes;
use redis::{Cmd, Value};

use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use crate::Result;
use crate::engine::{
    BeatAnswer, StoredBeat, StoredCommand, StoredName, StoredWorker, StoredWorkers, WhichWorkers,
    WorkerEntry,
};
use crate::name::QueueName;
use crate::options::{COMMAND_LIFE, MAX_QUIET_WORKERS, MAX_WORKER_COMMANDS, WORKER_LIFE, ms};

async fn query(
    engine: &RedisEngine,
    script: Script,
    fill: impl Fn(&mut Cmd) + Send + Sync,
) -> Result<Value> {
    engine.query(&QueueName::registry(), script, fill).await
}

pub(super) async fn beat(engine: &RedisEngine, beat: &StoredBeat) -> Result<BeatAnswer> {
    let fill = |command: &mut Cmd| {
        command.arg(&beat.worker.name).arg(&*entry(&beat.worker)).arg(&*beat.body);
        command.arg(ms(WORKER_LIFE)).arg(ms(COMMAND_LIFE)).arg(&beat.acknowledged);
    };
    let mut values = reply::list(query(engine, Script::Beat, fill).await?)?.into_iter();
    let quiet = reply::number::<u8>(values.next().unwrap_or(Value::Nil))? == 1;
    Ok(BeatAnswer { quiet, commands: commands(&mut values, usize::MAX)? })
}

pub(super) async fn command(
    engine: &RedisEngine,
    worker: &StoredName,
    stored: &StoredCommand,
) -> Result<bool> {
    let fill = |command: &mut Cmd| {
        command.arg(&*entry(worker)).arg(stored.number).arg(&*stored.text);
        command.arg(ms(COMMAND_LIFE)).arg(MAX_WORKER_COMMANDS);
    };
    match reply::number(query(engine, Script::CommandWorker, fill).await?)? {
        -1 => Err(StoredCommand::too_many(worker)),
        answer => Ok(answer == 1),
    }
}

pub(super) async fn set_quiet(engine: &RedisEngine, name: &str, quiet: bool) -> Result<()> {
    let fill = |command: &mut Cmd| {
        command.arg(name).arg(u8::from(quiet)).arg(MAX_QUIET_WORKERS);
    };
    match reply::number(query(engine, Script::SetQuiet, fill).await?)? {
        -1 => Err(StoredWorkers::too_many_quiet()),
        _ => Ok(()),
    }
}

pub(super) async fn read(engine: &RedisEngine, which: &WhichWorkers) -> Result<StoredWorkers> {
    let after = which.after.as_ref().map(|entry| entry.0.clone()).unwrap_or_default();
    let fill = |command: &mut Cmd| {
        command.arg(&*after).arg(which.name.as_deref().unwrap_or_default()).arg(which.limit);
    };
    let mut values = reply::list(query(engine, Script::ReadWorkers, fill).await?)?.into_iter();
    let next = reply::bytes(values.next().unwrap_or(Value::Nil))?;
    let next = (!next.is_empty()).then_some(WorkerEntry(next));
    let mut found = Vec::new();
    while let Some(entry) = values.next() {
        let entry = WorkerEntry(reply::bytes(entry)?);
        let mut next = || values.next().unwrap_or(Value::Nil);
        let expires: u64 = reply::number(next())?;
        let (body, quiet) = (reply::bytes(next())?, reply::number::<u8>(next())? == 1);
        let count = reply::number(next())?;
        let commands = commands(&mut values, count)?;
        let beat_ms = expires.saturating_sub(ms(WORKER_LIFE));
        found.push(StoredWorker { entry, beat_ms, body, quiet, commands });
    }
    Ok(StoredWorkers { found, next })
}

/// At most `most` commands.
fn commands(values: &mut impl Iterator<Item = Value>, most: usize) -> Result<Vec<StoredCommand>> {
    let mut commands = Vec::new();
    while commands.len() < most
        && let Some(number) = values.next()
    {
        let text = reply::bytes(values.next().unwrap_or(Value::Nil))?;
        commands.push(StoredCommand { number: reply::number(number)?, text });
    }
    Ok(commands)
}

fn entry(worker: &StoredName) -> Bytes {
    WorkerEntry::from(worker).0
}
