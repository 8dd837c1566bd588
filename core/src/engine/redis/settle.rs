//! Completing, extending, releasing and failing.

use redis::Cmd;

use super::keys::{ALL, UP_TO_DEAD, UP_TO_DETAILS};
use super::record::store_id;
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use crate::Result;
use crate::engine::{Complete, Extend, Fail, Release, RequestId};
use crate::item::State;
use crate::name::QueueName;

pub(super) async fn complete(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Complete],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    let reply = engine
        .run(queue, Script::Complete, UP_TO_DEAD, request_id, |command| {
            add_completes(command, leases);
        })
        .await?;
    reply::bools(&reply::text(reply)?, leases.len())
}

/// Adds the arguments that `scripts/parts/complete.lua` reads.
pub(super) fn add_completes(command: &mut Cmd, leases: &[Complete]) {
    command.arg(leases.len());
    for lease in leases {
        command.arg(lease.token.generation);
    }
    for lease in leases {
        command.arg(&*store_id(&lease.id));
    }
    let later = || leases.iter().enumerate().filter(|(_, lease)| lease.token.delivery > 0);
    command.arg(later().count());
    for (i, lease) in later() {
        command.arg(i + 1).arg(lease.token.delivery);
    }
    for (i, _) in leases.iter().enumerate().filter(|(_, lease)| lease.strict) {
        command.arg(i + 1);
    }
}

/// Counts the arguments that [`add_completes`] adds.
pub(super) fn count_completes(leases: &[Complete]) -> usize {
    let later = leases.iter().filter(|lease| lease.token.delivery > 0).count();
    2 + 2 * (leases.len() + later) + leases.iter().filter(|lease| lease.strict).count()
}

pub(super) async fn extend(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Extend],
    request_id: &RequestId,
) -> Result<Vec<Option<u64>>> {
    let reply = engine
        .run(queue, Script::Extend, UP_TO_DETAILS, request_id, |command| {
            for lease in leases {
                command
                    .arg(lease.token.generation)
                    .arg(lease.token.delivery)
                    .arg(lease.duration_ms);
            }
        })
        .await?;
    let answers = reply::text(reply)?;
    reply::same_length(answers.split(' ').map(|deadline| deadline.parse().ok()), leases.len())
}

pub(super) async fn release(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Release],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    let reply = engine
        .run(queue, Script::Release, ALL, request_id, |command| {
            for lease in leases {
                command.arg(lease.token.generation).arg(lease.token.delivery);
                let reason = lease.reason.as_ref().map(|reason| format!("={reason}"));
                command.arg(lease.delay_ms).arg(reason.unwrap_or_default());
            }
        })
        .await?;
    reply::bools(&reply::text(reply)?, leases.len())
}

pub(super) async fn fail(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Fail],
    request_id: &RequestId,
) -> Result<Vec<Option<State>>> {
    let reply = engine
        .run(queue, Script::Fail, ALL, request_id, |command| {
            for lease in leases {
                command.arg(lease.token.generation).arg(lease.token.delivery);
                match lease.dead {
                    true => command.arg(-1),
                    false => command.arg(lease.delay_ms),
                };
                command.arg(&lease.error);
            }
        })
        .await?;
    let answers = reply::text(reply)?;
    let states = answers.bytes().zip(leases).map(|(answer, lease)| match answer {
        b'0' => None,
        b'2' => Some(State::Dead),
        _ if lease.delay_ms > 0 => Some(State::Delayed),
        _ => Some(State::Ready),
    });
    reply::same_length(states, leases.len())
}
