//! Completing, extending, reporting progress, releasing and failing.

use bytes::Bytes;
use redis::Cmd;

use super::follow_ups::{self, pack_added};
use super::key_names::READY_LISTS;
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use super::stored_id::store_id;
use crate::Result;
use crate::engine::{AddedWith, Complete, Extend, Fail, Progress, Release, RequestId};
use crate::item::State;
use crate::name::QueueName;

pub(super) async fn complete(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Complete],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    let script = match are_extended(leases) {
        true => Script::CompleteExtended,
        false => Script::Complete,
    };
    let fill = |command: &mut Cmd| add_completes(command, queue, leases);
    // Follow-ups and successors are added by the same step.
    let keys = engine.context.keys(queue);
    let adds = keys.have_successors() || leases.iter().any(fires);
    let ready_lists = if adds { READY_LISTS } else { 0 };
    let reply = engine.run_with(ready_lists, queue, script, request_id, fill).await?;
    let mut answers = reply::text(reply)?;
    if answers == "~" {
        keys.set_have_successors();
        let reply = engine.run_with(READY_LISTS, queue, script, request_id, fill).await?;
        answers = reply::text(reply)?;
    }
    let answers = follow_ups::added(engine, queue, answers).await;
    reply::bools(&answers, leases.len())
}

/// Whether the completion adds something, as far as the client knows.
fn fires(lease: &Complete) -> bool {
    !lease.add.is_empty() || lease.added_with.as_ref().is_some_and(|with| with.follow_ups.is_some())
}

/// Whether the completion of some needs more than that of plain items.
pub(super) fn are_extended(leases: &[Complete]) -> bool {
    let more = |one: &Complete| {
        let adds = !one.add.is_empty();
        adds || one.retain_ms.is_some() || one.result.is_some() || one.added_with.is_some()
    };
    leases.iter().any(more)
}

/// The leases of a batch, with their indexes in a script.
fn indexed(leases: &[Complete]) -> impl Iterator<Item = (usize, &Complete)> {
    leases.iter().enumerate().map(|(i, lease)| (i + 1, lease))
}

/// Adds the arguments that `scripts/parts/complete.lua` reads, or `complete_extended.lua`.
pub(super) fn add_completes(command: &mut Cmd, queue: &QueueName, leases: &[Complete]) {
    command.arg(leases.len());
    for lease in leases {
        command.arg(lease.token.generation);
    }
    for lease in leases {
        command.arg(&*store_id(&lease.id));
    }
    let later = || indexed(leases).filter(|(_, lease)| lease.token.delivery > 0);
    command.arg(later().count());
    for (i, lease) in later() {
        command.arg(i).arg(lease.token.delivery);
    }
    let strict = || indexed(leases).filter(|(_, lease)| lease.strict);
    command.arg(strict().count());
    for (i, _) in strict() {
        command.arg(i);
    }
    if !are_extended(leases) {
        return;
    }
    // What the completion says, or else the item; or else the settings of the queue decide.
    let own = |lease: &Complete| Some(lease.added_with.as_ref()?.retain_ms).filter(|ms| *ms > 0);
    let retain =
        |lease: &Complete| lease.retain_ms.or_else(|| own(lease)).map_or(-1, |ms| ms as i64);
    let usual = retain(&leases[0]);
    command.arg(usual);
    let differing = || indexed(leases).filter(|(_, lease)| retain(lease) != usual);
    command.arg(differing().count());
    for (i, lease) in differing() {
        command.arg(i).arg(retain(lease));
    }
    let results = || indexed(leases).filter_map(|(i, lease)| lease.result.as_ref().map(|r| (i, r)));
    let count = results().count();
    command.arg(count);
    for (i, result) in results() {
        if count < leases.len() {
            command.arg(i);
        }
        command.arg(&**result);
    }
    add_keys(command, leases, |added_with| added_with.unique.as_ref());
    add_keys(command, leases, |added_with| added_with.key.as_ref());
    add_keys(command, leases, |added_with| added_with.follow_ups.as_ref());
    let added =
        indexed(leases).filter_map(|(i, one)| Some((i, pack_added(queue, &one.id, &one.add)?)));
    let added: Vec<_> = added.collect();
    command.arg(added.len());
    for (i, packed) in added {
        command.arg(i).arg(packed);
    }
}

/// Adds how many leases have a key, and the keys: if some have none, each behind the index of its lease.
fn add_keys(command: &mut Cmd, leases: &[Complete], key: fn(&AddedWith) -> Option<&Bytes>) {
    let keys =
        || indexed(leases).filter_map(|(i, lease)| Some((i, key(lease.added_with.as_ref()?)?)));
    let count = keys().count();
    command.arg(count);
    for (i, key) in keys() {
        if count < leases.len() {
            command.arg(i);
        }
        command.arg(&**key);
    }
}

pub(super) async fn extend(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Extend],
    request_id: &RequestId,
) -> Result<Vec<Option<u64>>> {
    let reply = engine
        .run(queue, Script::Extend, request_id, |command| {
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

pub(super) async fn set_progress(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Progress],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    let reply = engine
        .run(queue, Script::SetProgress, request_id, |command| {
            for lease in leases {
                command.arg(lease.token.generation).arg(lease.token.delivery).arg(&*lease.value);
            }
        })
        .await?;
    reply::bools(&reply::text(reply)?, leases.len())
}

pub(super) async fn release(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Release],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    let reply = engine
        .run(queue, Script::Release, request_id, |command| {
            for lease in leases {
                command.arg(lease.token.generation).arg(lease.token.delivery);
                let reason = lease.reason.as_ref().map(|reason| format!("={reason}"));
                command.arg(lease.delay_ms).arg(reason.unwrap_or_default());
            }
        })
        .await?;
    let answers = follow_ups::added(engine, queue, reply::text(reply)?).await;
    reply::bools(&answers, leases.len())
}

pub(super) async fn fail(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Fail],
    request_id: &RequestId,
) -> Result<Vec<Option<State>>> {
    let script = match leases.iter().any(|lease| !lease.add.is_empty()) {
        true => Script::FailExtended,
        false => Script::Fail,
    };
    let reply = engine
        .run(queue, script, request_id, |command| {
            for lease in leases {
                command.arg(lease.token.generation).arg(lease.token.delivery);
                let delay = if lease.dead { -1 } else { lease.delay_ms as i64 };
                match pack_added(queue, &lease.id, &lease.add) {
                    None => command.arg(delay).arg(&lease.error),
                    Some(added) => command
                        .arg(format!("{delay} {}", lease.error.len()))
                        .arg([lease.error.as_bytes(), &added].concat()),
                };
            }
        })
        .await?;
    let answers = follow_ups::added(engine, queue, reply::text(reply)?).await;
    let states = answers.bytes().zip(leases).map(|(answer, lease)| match answer {
        b'0' => None,
        b'2' => Some(State::Dead),
        b'3' => Some(State::Cancelled),
        _ if lease.delay_ms > 0 => Some(State::Delayed),
        _ => Some(State::Ready),
    });
    reply::same_length(states, leases.len())
}
