//! Limits of single keys.

use bytes::Bytes;
use redis::Cmd;

use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::{number, reply};
use crate::Result;
use crate::engine::{KeyLimit, RequestId};
use crate::item::KeyInfo;
use crate::name::QueueName;

pub(super) async fn set_key_limits(
    engine: &RedisEngine,
    queue: &QueueName,
    limits: &[KeyLimit],
    request_id: &RequestId,
) -> Result<()> {
    let fill = |command: &mut Cmd| {
        command.arg(&number::salt(request_id)[..]);
        for one in limits {
            command.arg(&*one.key).arg(one.limit.unwrap_or(0));
        }
    };
    let reply = engine.run(queue, Script::SetKeyLimits, request_id, fill).await?;
    if reply::text(reply)? == "n" {
        engine.announce(queue).await;
    }
    if limits.iter().any(|one| one.limit.is_some()) {
        engine.context.keys(queue).set_extended();
    }
    Ok(())
}

pub(super) async fn get_keys(
    engine: &RedisEngine,
    queue: &QueueName,
    keys: &[Bytes],
) -> Result<Vec<KeyInfo>> {
    let mut found = Vec::with_capacity(keys.len());
    // A step answers for as many as it may look at.
    while found.len() < keys.len() {
        let rest = &keys[found.len()..];
        let fill = |command: &mut Cmd| {
            command.arg(rest.iter().map(|key| &**key).collect::<Vec<_>>());
        };
        let reply = engine.query(queue, Script::GetKeys, fill).await?;
        let reply = reply::list(reply)?;
        let numbers = reply.into_iter().map(reply::number::<u64>).collect::<Result<Vec<_>>>()?;
        let (answers, []) = numbers.as_chunks::<3>() else {
            return Err(reply::unexpected("get_keys"));
        };
        if answers.is_empty() || answers.len() > rest.len() {
            return Err(reply::unexpected("get_keys"));
        }
        for (key, [limit, own, leased]) in rest.iter().zip(answers) {
            found.push(KeyInfo {
                key: key.clone(),
                limit: *limit as u32,
                own_limit: *own == 1,
                leased: *leased,
            });
        }
    }
    Ok(found)
}
