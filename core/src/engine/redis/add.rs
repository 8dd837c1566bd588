//! Adding items.

use std::collections::HashSet;

use redis::Cmd;

use super::follow_ups::{self, Packed, pack_follow_ups};
use super::number;
use super::record::{TriggerPlace, delay, write_record};
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use super::stored_id::{StoredId, store_id};
use crate::Result;
use crate::engine::RequestId;
use crate::item::Item;
use crate::name::QueueName;
use crate::options::ms;

pub(super) async fn add(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Item],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    // Of items with the same id in one batch only the first can be added.
    let mut seen = HashSet::with_capacity(items.len());
    let (first, again): (Vec<&Item>, Vec<&Item>) =
        items.iter().partition(|item| seen.insert(&item.id));
    // The places of members have ended then.
    let refused: Vec<&Item> = again.into_iter().filter(|item| item.group.is_some()).collect();
    let ids: Vec<_> = first.iter().map(|item| store_id(&item.id)).collect();
    let highest = first.iter().map(|item| item.priority).max().unwrap_or(0);
    let extended = !refused.is_empty() || first.iter().any(|item| has_more_options(item));
    let script = if extended { Script::AddExtended } else { Script::Add };
    let reply = engine
        .run_with(usize::from(highest) + 1, queue, script, request_id, |command| {
            fill(command, queue, &ids, &first, &refused, extended, request_id);
        })
        .await?;
    // A member of a group that was replaced or refused reports its end.
    let answers = follow_ups::added(engine, queue, reply::text(reply)?).await;
    if answers.ends_with('n') {
        engine.announce(queue).await;
    }
    let mut answers = reply::bools(answers.trim_end_matches('n'), first.len())?.into_iter();
    if first.len() == items.len() {
        return Ok(answers.collect());
    }
    let mut seen = HashSet::new();
    let mut answer = |item: &Item| seen.insert(item.id.clone()) && answers.next().unwrap_or(false);
    Ok(items.iter().map(&mut answer).collect())
}

/// Adds the arguments that `scripts/add.lua` reads. `refused`: members that have the id of one of the items, and are not added.
pub(super) fn fill(
    command: &mut Cmd,
    queue: &QueueName,
    ids: &[StoredId<'_>],
    items: &[&Item],
    refused: &[&Item],
    extended: bool,
    request_id: &RequestId,
) {
    command.arg(&number::salt(request_id)[..]).arg(ids.len());
    for id in ids {
        command.arg(&**id);
    }
    let mut record = Vec::new();
    let mut follow_ups = Vec::new();
    for (i, (id, item)) in ids.iter().zip(items).enumerate() {
        let packed = pack_follow_ups(queue, item);
        let name = packed.as_ref().map(|packed| &packed.name);
        write_record(&mut record, id, item, name, TriggerPlace::None);
        command.arg(&*record);
        follow_ups.extend(packed.map(|packed| (i + 1, packed)));
    }
    let refused = refused.iter().filter_map(|item| pack_follow_ups(queue, item));
    follow_ups.extend((items.len() + 1..).zip(refused));
    add_options(command, items);
    if extended {
        add_more_options(command, items, &follow_ups);
    }
}

fn add_options(command: &mut Cmd, items: &[&Item]) {
    let options = |item: &Item| (item.priority, delay(item.due()), item.max_attempts.unwrap_or(0));
    let with_options = || items.iter().enumerate().filter(|(_, item)| options(item) != (0, 0, 0));
    command.arg(with_options().count());
    for (i, item) in with_options() {
        let (priority, delay, max_attempts) = options(item);
        command.arg(i + 1).arg(priority).arg(delay).arg(max_attempts);
    }
}

/// Whether the item has options that make a queue extended, or that only extended queues know.
fn has_more_options(item: &Item) -> bool {
    let has_key = item.unique.is_some() || item.key.is_some();
    let has_more = has_key || !item.follow_ups.is_empty() || item.group.is_some();
    has_more || item.replace || !item.retain.is_zero() || item.expires_in.is_some()
}

fn add_more_options(command: &mut Cmd, items: &[&Item], follow_ups: &[(usize, Packed)]) {
    let more = |item: &Item| {
        let expires_in = item.expires_in.map_or(0, ms);
        (ms(item.unique_for), item.replaces(), expires_in)
    };
    let usual = more(items[0]);
    command.arg(usual.0).arg(usual.1).arg(usual.2);
    let differing = || items.iter().enumerate().filter(|(_, item)| more(item) != usual);
    command.arg(differing().count());
    for (i, item) in differing() {
        let (unique_for, replace, expires_in) = more(item);
        command.arg(i + 1).arg(unique_for).arg(replace).arg(expires_in);
    }
    // Without indexes the script stores them as they come. It looks at each member of a group.
    let without_indexes = follow_ups.len() == items.len()
        && items.iter().all(|item| !item.follow_ups.is_empty() && item.group.is_none());
    if without_indexes {
        command.arg("*");
    } else {
        command.arg(follow_ups.len());
    }
    for (i, packed) in follow_ups {
        if !without_indexes {
            command.arg(i);
        }
        command.arg(&packed.name[..]).arg(&*packed.bytes);
    }
    let keys = || items.iter().enumerate().filter_map(|(i, item)| Some((i, item.unique.as_ref()?)));
    let count = keys().count();
    let mut seen = HashSet::with_capacity(count);
    let twice = keys().any(|(_, key)| !seen.insert(key));
    let keyed = items.iter().any(|item| item.key.is_some());
    command.arg(u8::from(keyed)).arg(u8::from(twice)).arg(count);
    for (i, key) in keys() {
        if count < items.len() {
            command.arg(i + 1);
        }
        command.arg(&**key);
    }
}
