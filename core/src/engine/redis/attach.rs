//! Attaching follow-ups to items.

use super::admin::name_items;
use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::{follow_ups, reply};
use crate::Result;
use crate::engine::{Attach, Attached, RequestId};
use crate::name::QueueName;

pub(super) async fn attach(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Attach],
    request_id: &RequestId,
) -> Result<Vec<Attached>> {
    let reply = engine
        .run(queue, Script::Attach, request_id, |command| {
            name_items(command, items.iter().map(|attach| &attach.target));
            for Attach { target, follow_up } in items {
                command.arg(follow_ups::pack_follow_up(queue, &target.id, follow_up));
            }
        })
        .await?;
    let answers = follow_ups::added(engine, queue, reply::text(reply)?).await;
    let answers = answers.bytes().map(|answer| match answer {
        b'1' => Attached::Yes,
        b'f' => Attached::Full,
        _ => Attached::No,
    });
    reply::same_length(answers, items.len())
}
