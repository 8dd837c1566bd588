//! When to clean, and turns at deep cleans.

use std::time::Duration;

use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use crate::Result;
use crate::engine::Turn;
use crate::name::QueueName;

pub(super) async fn next_due(
    engine: &RedisEngine,
    queue: &QueueName,
    rest: Duration,
) -> Result<Option<Duration>> {
    let reply = engine
        .query(queue, Script::NextDue, |command| {
            command.arg(rest.as_millis() as u64);
        })
        .await?;
    let [ms, is_to_forward] = reply::array(reply)?;
    let due = u64::try_from(reply::number::<i64>(ms)?).ok().map(Duration::from_millis);
    let forward = (reply::number::<u8>(is_to_forward)? == 1).then(|| engine.outboxes.next(queue));
    Ok(due.into_iter().chain(forward).min())
}

pub(super) async fn deep_turn(
    engine: &RedisEngine,
    queue: &QueueName,
    turn: Turn,
) -> Result<Duration> {
    let (word, interval) = match turn {
        Turn::Take { interval } => ("take", interval),
        Turn::Keep => ("keep", Duration::ZERO),
        Turn::Done => ("done", Duration::ZERO),
        Turn::Drop => ("drop", Duration::ZERO),
    };
    let reply = engine
        .query(queue, Script::DeepTurn, |command| {
            command.arg(word).arg(interval.as_millis() as u64).arg(Turn::LASTS.as_millis() as u64);
        })
        .await?;
    Ok(Duration::from_millis(reply::number(reply)?))
}
