//! Asking how items have ended, and whether groups have.

use std::time::Duration;

use bytes::Bytes;

use super::endings::{place_text, read_outcomes};
use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::stored_id::store_id;
use super::stored_subject::store_subject;
use crate::Result;
use crate::engine::{Awaited, EndingPlace, Outcomes};
use crate::name::QueueName;

pub(super) async fn outcomes(
    engine: &RedisEngine,
    queue: &QueueName,
    ids: &[Bytes],
) -> Result<Outcomes> {
    let reply = engine
        .query(queue, Script::Outcomes, |command| {
            for id in ids {
                command.arg(&*store_id(id));
            }
        })
        .await?;
    read_outcomes(reply, ids.len())
}

pub(super) async fn await_outcomes(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Awaited],
    lasts: Duration,
    read_to: Option<EndingPlace>,
) -> Result<Outcomes> {
    let expected: Vec<u8> =
        items.iter().map(|item| if item.expect { b'1' } else { b'0' }).collect();
    let reply = engine
        .query(queue, Script::AwaitOutcomes, |command| {
            let read_to = read_to.map(place_text).unwrap_or_default();
            command.arg(lasts.as_millis() as u64).arg(&*expected).arg(read_to);
            for item in items {
                command.arg(&*store_subject(&item.subject));
            }
        })
        .await?;
    read_outcomes(reply, items.len())
}
