//! The operations of operators and cleaners: remove, requeue, bury, revise, purge, light clean, drop. Also the
//! end of a client's use of a queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Cmd, ToRedisArgs, Value, cmd};

use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::stored_id::store_id;
use super::{acl, follow_ups, names, number, record, reply};
use crate::clean::LightReport;
use crate::engine::{Bury, Purged, RequestId, Revise, Target};
use crate::item::State;
use crate::name::QueueName;
use crate::{Error, Result};

/// Most items of each kind that one step of a light clean moves.
const LIGHT_STEP: usize = 500;

pub(super) async fn remove(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Target],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    let fill = |command: &mut Cmd| name_items(command, items.iter());
    let reply = engine.run(queue, Script::Remove, request_id, fill).await?;
    let digits = follow_ups::added(engine, queue, reply::text(reply)?).await;
    reply::bools(&digits, items.len())
}

pub(super) async fn requeue(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Target],
    request_id: &RequestId,
) -> Result<Vec<Option<bool>>> {
    let fill = |command: &mut Cmd| name_items(command, items.iter());
    let reply = engine.run(queue, Script::Requeue, request_id, fill).await?;
    answers(&follow_ups::added(engine, queue, reply::text(reply)?).await, items.len())
}

pub(super) async fn bury(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Bury],
    request_id: &RequestId,
) -> Result<Vec<Option<bool>>> {
    let reply = engine
        .run(queue, Script::Bury, request_id, |command| {
            command.arg(&number::salt(request_id)[..]);
            name_items(command, items.iter().map(|item| &item.target));
            for item in items {
                command.arg(&*item.error);
            }
        })
        .await?;
    answers(&follow_ups::added(engine, queue, reply::text(reply)?).await, items.len())
}

pub(super) async fn revise(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Revise],
    request_id: &RequestId,
) -> Result<Vec<Option<bool>>> {
    let reply = engine
        .run(queue, Script::Revise, request_id, |command| {
            command.arg(&number::salt(request_id)[..]);
            name_items(command, items.iter().map(|item| &item.target));
            for item in items {
                let data = item.data.as_ref().map(|data| [b"=", &**data].concat());
                command.arg(data.unwrap_or_default());
                or_unchanged(command, item.priority);
                or_unchanged(command, item.due.map(record::delay));
                or_unchanged(command, item.max_attempts);
            }
        })
        .await?;
    answers(&reply::text(reply)?, items.len())
}

fn or_unchanged(command: &mut Cmd, value: Option<impl ToRedisArgs>) {
    match value {
        Some(value) => command.arg(value),
        None => command.arg(""),
    };
}

/// Adds the arguments that `scripts/parts/named.lua` reads.
pub(super) fn name_items<'a>(
    command: &mut Cmd,
    items: impl ExactSizeIterator<Item = &'a Target> + Clone,
) {
    command.arg(items.len());
    for item in items.clone() {
        command.arg(&*store_id(&item.id));
    }
    for item in items {
        match item.generation {
            Some(generation) => command.arg(generation),
            None => command.arg(""),
        };
    }
}

/// The answers of a script that may leave items to another step, which are `None`.
pub(super) fn answers(digits: &str, count: usize) -> Result<Vec<Option<bool>>> {
    let answers = digits.bytes().map(|digit| (digit != b'-').then_some(digit == b'1'));
    reply::same_length(answers, count)
}

pub(super) async fn purge(
    engine: &RedisEngine,
    queue: &QueueName,
    state: State,
    limit: u64,
    from: Option<&str>,
    request_id: &RequestId,
) -> Result<Purged> {
    let reply = engine
        .run(queue, Script::Purge, request_id, |command| {
            command.arg(state.as_str()).arg(limit).arg(from.unwrap_or_default());
        })
        .await?;
    let answer = follow_ups::added(engine, queue, reply::text(reply)?).await;
    let (removed, next) = answer.split_once(' ').unwrap_or((&answer, ""));
    let [removed] = reply::numbers(removed)?;
    Ok(Purged { removed, next: (!next.is_empty()).then(|| next.to_owned()) })
}

pub(super) async fn light_clean(
    engine: &RedisEngine,
    queue: &QueueName,
    request_id: &RequestId,
) -> Result<(LightReport, bool)> {
    let reply = engine
        .run(queue, Script::LightClean, request_id, |command| {
            command.arg(LIGHT_STEP);
        })
        .await?;
    let [promoted, expired, died, removed, unfinished, next]: [i64; 6] =
        reply::numbers(&reply::text(reply)?)?;
    let report = LightReport {
        promoted: promoted as u64,
        expired: expired as u64,
        died: died as u64,
        removed: removed as u64,
        next_in: u64::try_from(next).ok().map(Duration::from_millis),
    };
    let more = promoted.max(expired) >= LIGHT_STEP as i64 || unfinished == 1;
    Ok((report, more))
}

/// Deletes the queue. Each step names the incarnation, so it can be repeated, also by a copy that is
/// late: it never touches a queue that was made since.
pub(super) async fn drop_queue(
    engine: &RedisEngine,
    queue: &QueueName,
    force: bool,
    purged: bool,
) -> Result<Option<bool>> {
    let dropped = drop_incarnation(engine, queue, force, purged).await;
    engine.forget(queue);
    dropped
}

async fn drop_incarnation(
    engine: &RedisEngine,
    queue: &QueueName,
    force: bool,
    purged: bool,
) -> Result<Option<bool>> {
    let context = &engine.context;
    for script in [Script::Drop, Script::Register] {
        acl::check(context, queue, script).await?;
    }
    if !force || purged {
        deliver(engine, queue).await;
    }
    let mut command = cmd("HGET");
    command.arg(context.keys(queue).meta()).arg("incarnation");
    let incarnation = reply::bytes(context.command(queue, command).await?)?;
    let drop = || {
        engine.query(queue, Script::Drop, |command| {
            command.arg(&*incarnation).arg(u8::from(force)).arg(u8::from(purged));
        })
    };
    let mut reply = drop().await?;
    if reply == Value::Int(-1) && force && !purged {
        // Reports to groups are delivered even so.
        deliver(engine, queue).await;
        reply = drop().await?;
    }
    if reply == Value::Int(-2) {
        return Ok(None);
    }
    if reply == Value::Int(-1) {
        return Err(match force {
            true => Error::holds_reports(queue),
            false => Error::holds_follow_ups(queue),
        });
    }
    // The queue is gone even if its name stays: the next client that looks sets the list right.
    if let Err(error) = names::register(context, queue, context.until()).await {
        tracing::warn!(%queue, %error, "dropped; its name is still on the list of queues");
    }
    // 0 for an incarnation: somebody else, or an earlier attempt of this call, has dropped it.
    Ok(Some(!incarnation.is_empty() || reply == Value::Int(1)))
}

async fn deliver(engine: &RedisEngine, queue: &QueueName) {
    if let Err(error) = follow_ups::distribute_all(engine, queue).await {
        tracing::debug!(%queue, %error, "follow-ups could not be added before the drop");
    }
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
