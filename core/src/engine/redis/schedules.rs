//! Schedules.

use redis::{Cmd, Value};

use super::follow_ups::Left;
use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::stored_id::{restore_id, store_id};
use super::{add, number, reply};
use crate::Result;
use crate::engine::{RequestId, Schedules, StoredSchedule, Swap, Swapped, WhichSchedules};
use crate::item::Item;
use crate::name::QueueName;
use crate::options::MAX_SCHEDULES;

pub(super) async fn read_schedules(
    engine: &RedisEngine,
    queue: &QueueName,
    which: &WhichSchedules,
    with_data: bool,
) -> Result<Schedules> {
    let (word, name) = match which {
        WhichSchedules::Named(name) => ("named", &**name),
        WhichSchedules::Due => ("due", ""),
        WhichSchedules::After(name) => ("after", &**name),
    };
    let fill = |command: &mut Cmd| {
        command.arg(word).arg(name).arg(u8::from(with_data));
    };
    let reply = engine.query(queue, Script::ReadSchedules, fill).await?;
    let mut values = reply::list(reply)?.into_iter();
    let mut next = || values.next().unwrap_or(Value::Nil);
    let now_ms = reply::number(next())?;
    let next_ms = reply::text(next())?.parse().ok();
    let left = Left::read(next())?;
    let deferred = left.notes || left.entries && engine.outboxes.may_forward(queue);
    let mut found = Vec::new();
    while let Some(name) = values.next() {
        let mut next = || values.next().unwrap_or(Value::Nil);
        let (version, last, due, body) = (next(), reply::bytes(next())?, next(), next());
        let Ok(name) = reply::text(name) else { continue };
        found.push(StoredSchedule {
            name,
            version: reply::text(version).unwrap_or_default(),
            last_id: (!last.is_empty()).then(|| restore_id(&last)),
            next_ms: reply::text(due)?.parse().ok(),
            body: reply::bytes(body)?,
        });
    }
    Ok(Schedules { deferred, now_ms, found, next_ms })
}

pub(super) async fn swap_schedule(
    engine: &RedisEngine,
    queue: &QueueName,
    swap: &Swap,
    request_id: &RequestId,
) -> Result<Swapped> {
    let items: Vec<&Item> = swap.items.iter().collect();
    let ids: Vec<_> = items.iter().map(|item| store_id(&item.id)).collect();
    let script = if items.is_empty() { Script::SetSchedule } else { Script::Tick };
    let fill = |command: &mut Cmd| {
        if items.is_empty() {
            command.arg(&number::salt(request_id)[..]).arg(MAX_SCHEDULES);
        } else {
            add::fill(command, queue, &ids, &items, &[], true, request_id);
        }
        command.arg(&*swap.name).arg(&*swap.expected).arg(&*swap.version).arg(&*swap.body);
        match swap.next_ms {
            Some(next) => command.arg(next),
            None => command.arg(""),
        };
        command.arg(u8::from(swap.unless_live));
    };
    let reply = engine.run(queue, script, request_id, fill).await?;
    match &*reply::text(reply)? {
        "-" => Ok(Swapped::Refused),
        "s" => Ok(Swapped::Skipped),
        "f" => Ok(Swapped::Full),
        answers => {
            if answers.ends_with('n') {
                engine.announce(queue).await;
            }
            let added = match items.is_empty() {
                true => Vec::new(),
                false => reply::bools(answers.trim_end_matches('n'), items.len())?,
            };
            Ok(Swapped::Done { added })
        }
    }
}
