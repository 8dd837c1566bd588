//! Cancelling items, and asking which leases it concerns.

use super::admin::{answers, name_items};
use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::{follow_ups, number, reply};
use crate::Result;
use crate::engine::{Cancellations, LeaseStatus, RequestId, Target, Token};
use crate::name::QueueName;

pub(super) async fn cancel(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Target],
    request_id: &RequestId,
) -> Result<Vec<Option<bool>>> {
    let reply = engine
        .run(queue, Script::Cancel, request_id, |command| {
            command.arg(&number::salt(request_id)[..]);
            name_items(command, items.iter());
        })
        .await?;
    answers(&follow_ups::added(engine, queue, reply::text(reply)?).await, items.len())
}

pub(super) async fn cancellations(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Token],
) -> Result<Cancellations> {
    let reply = engine
        .query(queue, Script::Cancellations, |command| {
            for token in leases {
                command.arg(token.generation).arg(token.delivery);
            }
        })
        .await?;
    let [counter, found] = reply::array(reply)?;
    let found = reply::text(found)?;
    let found = found.bytes().map(|answer| match answer {
        b'0' => LeaseStatus::Current,
        b'1' => LeaseStatus::Cancelled,
        _ => LeaseStatus::Lost,
    });
    let leases = reply::same_length(found, leases.len())?;
    Ok(Cancellations { counter: reply::number(counter)?, leases })
}
