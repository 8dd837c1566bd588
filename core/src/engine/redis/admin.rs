//! The operations of operators and cleaners: remove, requeue, purge, light clean, pause, drop. Also the end
//! of a client's use of a queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use redis::{Cmd, Value, cmd};

use super::keys::{ALL, UP_TO_DEAD, UP_TO_META, UP_TO_WAKE};
use super::record::store_id;
use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::{acl, names, number, reply};
use crate::Result;
use crate::clean::LightReport;
use crate::engine::RequestId;
use crate::item::State;
use crate::name::QueueName;

/// Most items of each kind that one step of a light clean moves.
const LIGHT_STEP: usize = 500;

pub(super) async fn remove(
    engine: &RedisEngine,
    queue: &QueueName,
    ids: &[Bytes],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    by_id(engine, queue, Script::Remove, UP_TO_DEAD, ids, request_id).await
}

pub(super) async fn requeue(
    engine: &RedisEngine,
    queue: &QueueName,
    ids: &[Bytes],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    by_id(engine, queue, Script::Requeue, ALL, ids, request_id).await
}

/// Runs a script with ids, which answers for each of them.
async fn by_id(
    engine: &RedisEngine,
    queue: &QueueName,
    script: Script,
    key_count: usize,
    ids: &[Bytes],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    let reply = engine
        .run(queue, script, key_count, request_id, |command| {
            for id in ids {
                command.arg(&*store_id(id));
            }
        })
        .await?;
    reply::bools(&reply::text(reply)?, ids.len())
}

pub(super) async fn purge(
    engine: &RedisEngine,
    queue: &QueueName,
    state: State,
    limit: u64,
    request_id: &RequestId,
) -> Result<(u64, u64)> {
    let reply = engine
        .run(queue, Script::Purge, ALL, request_id, |command| {
            command.arg(state.as_str()).arg(limit);
        })
        .await?;
    let [removed, seen] = reply::numbers(&reply::text(reply)?)?;
    Ok((removed, seen))
}

pub(super) async fn light_clean(
    engine: &RedisEngine,
    queue: &QueueName,
    request_id: &RequestId,
) -> Result<(LightReport, bool)> {
    let reply = engine
        .run(queue, Script::LightClean, ALL, request_id, |command| {
            command.arg(LIGHT_STEP);
        })
        .await?;
    let [promoted, expired, died, next]: [i64; 4] = reply::numbers(&reply::text(reply)?)?;
    let report = LightReport {
        promoted: promoted as u64,
        expired: expired as u64,
        died: died as u64,
        next_in: u64::try_from(next).ok().map(Duration::from_millis),
    };
    let more = promoted.max(expired) >= LIGHT_STEP as i64;
    Ok((report, more))
}

pub(super) async fn set_paused(
    engine: &RedisEngine,
    queue: &QueueName,
    paused: bool,
) -> Result<()> {
    if paused {
        let salt = number::random_salt();
        let fill = |command: &mut Cmd| {
            command.arg(&salt[..]);
        };
        engine.query(queue, Script::Pause, UP_TO_META, fill).await?;
        // The queue may be new.
        engine.announce(queue).await;
    } else {
        engine.query(queue, Script::Resume, UP_TO_WAKE, |_| ()).await?;
    }
    Ok(())
}

/// Deletes the queue. Each step names the incarnation, so it can be repeated, also by a copy that is
/// late: it never touches a queue that was made since.
pub(super) async fn drop_queue(engine: &RedisEngine, queue: &QueueName) -> Result<bool> {
    let dropped = drop_incarnation(engine, queue).await;
    engine.forget(queue);
    dropped
}

async fn drop_incarnation(engine: &RedisEngine, queue: &QueueName) -> Result<bool> {
    let context = &engine.context;
    for script in [Script::Drop, Script::Register] {
        acl::check(context, queue, script).await?;
    }
    let mut command = cmd("HGET");
    command.arg(context.keys(queue).meta()).arg("incarnation");
    let incarnation = reply::bytes(context.command(queue, command).await?)?;
    let reply = engine
        .query(queue, Script::Drop, ALL, |command| {
            command.arg(&*incarnation);
        })
        .await?;
    // The queue is gone even if its name stays: the next client that looks sets the list right.
    if let Err(error) = names::register(context, queue, context.until()).await {
        tracing::warn!(%queue, %error, "dropped; its name is still on the list of queues");
    }
    // 0 for an incarnation: somebody else, or an earlier attempt of this call, has dropped it.
    Ok(!incarnation.is_empty() || reply == Value::Int(1))
}

/// Deletes lanes that the client does not use any more.
pub(super) async fn retire(
    engine: &RedisEngine,
    queue: &QueueName,
    lanes: &[Arc<str>],
) -> Result<()> {
    let context = &engine.context;
    let keys = context.keys(queue);
    engine.forget(queue);
    for chunk in lanes.chunks(500) {
        let mut command = cmd("HDEL");
        command.arg(keys.lanes());
        for lane in chunk {
            command.arg(&**lane);
        }
        // Short, so that closing does not hang on a server that is gone.
        let until = Instant::now() + context.timeout.min(Duration::from_secs(1));
        context.manager.command(queue, until, command).await?;
    }
    Ok(())
}
