//! Groups.

use bytes::Bytes;
use redis::Cmd;

use super::follow_ups::{self, pack_follow_ups};
use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::stored_id::store_id;
use super::{number, reply};
use crate::Result;
use crate::engine::groups::read_state;
use crate::engine::{ChangeGroup, Generation, GroupChange, StoredGroup};
use crate::name::QueueName;

pub(super) async fn change(
    engine: &RedisEngine,
    queue: &QueueName,
    change: &ChangeGroup,
) -> Result<Option<Generation>> {
    let id = store_id(&change.id);
    let (salt, follow_ups) = match &change.change {
        GroupChange::Create(item) => (number::random_salt(), pack_follow_ups(queue, item)),
        _ => Default::default(),
    };
    let fill = |command: &mut Cmd| {
        match &change.change {
            GroupChange::Create(_) => {
                command.arg("create").arg(&*id).arg(&salt[..]);
                if let Some(packed) = &follow_ups {
                    command.arg(&packed.name[..]).arg(&*packed.bytes);
                }
            }
            GroupChange::Seal { generation, places } => {
                command.arg("seal").arg(&*id).arg(*generation).arg(*places);
            }
            GroupChange::Cancel { generation } => {
                command.arg("cancel").arg(&*id).arg(*generation);
            }
            GroupChange::Remove { generation } => {
                command.arg("remove").arg(&*id).arg(*generation);
            }
        };
    };
    let reply = engine.query(queue, Script::ChangeGroup, fill).await?;
    let answer = follow_ups::added(engine, queue, reply::text(reply)?).await;
    if answer.ends_with('n') {
        engine.announce(queue).await;
    }
    Ok(answer.split(' ').next().and_then(|number| number::read(number.as_bytes())))
}

pub(super) async fn read(
    engine: &RedisEngine,
    queue: &QueueName,
    id: &Bytes,
    from: u32,
    most: u32,
) -> Result<Option<StoredGroup>> {
    let fill = |command: &mut Cmd| {
        command.arg(&*store_id(id)).arg(from).arg(most);
    };
    let reply = reply::list(engine.query(queue, Script::ReadGroup, fill).await?)?;
    if reply.is_empty() {
        return Ok(None);
    }
    let [generation, places, ended, completed, has_ended, changed, states] =
        reply.try_into().map_err(reply::unexpected)?;
    let generation = reply::bytes(generation)?;
    Ok(Some(StoredGroup {
        generation: number::read(&generation).ok_or_else(|| reply::unexpected(&generation))?,
        places: reply::number(places)?,
        ended: reply::number(ended)?,
        completed: reply::number(completed)?,
        has_ended: reply::number::<u8>(has_ended)? == 1,
        changed_ms: reply::number(changed)?,
        states: reply::bytes(states)?.iter().map(|letter| read_state(Some(letter))).collect(),
    }))
}
