//! How follow-ups are written, as `scripts/parts/unpack.lua` reads them.

use redis::Cmd;

use super::keys::ALL;
use super::number;
use super::record::{NAME, TriggerPlace, delay, write_record};
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use super::stored_id::store_id;
use crate::Result;
use crate::item::{FollowUp, Item, On};
use crate::name::QueueName;
use crate::options::ms;
use crate::random;

/// Flag of a name, its first byte: what it names has a follow-up that wants the result of the completion.
const WANTS_RESULT: u8 = 1;

/// Packed items, and the name under which they are stored: a byte of flags, the length of what it names (4 bytes) and
/// random bytes.
pub(super) struct Packed {
    pub(super) name: [u8; NAME],
    pub(super) bytes: Vec<u8>,
}

/// The follow-ups of an item; `None` if it has none.
pub(super) fn pack_follow_ups(item: &Item) -> Option<Packed> {
    if item.follow_ups.is_empty() {
        return None;
    }
    let all = item
        .follow_ups
        .iter()
        .map(|FollowUp { on, item, with_trigger }| (*on, item, *with_trigger));
    Some(pack(&item.id, all))
}

/// What a completion or failure of the item with this id adds; `None` if nothing.
pub(super) fn pack_added(id: &[u8], items: &[Item]) -> Option<Vec<u8>> {
    if items.is_empty() {
        return None;
    }
    let Packed { name, bytes } = pack(id, items.iter().map(|item| (On::Completed, item, false)));
    Some([&name[..], &bytes].concat())
}

fn pack<'a>(id: &[u8], items: impl Iterator<Item = (On, &'a Item, bool)>) -> Packed {
    let (mut bytes, mut flags) = (Vec::new(), 0);
    let id = store_id(id);
    bytes.extend_from_slice(&(id.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&id);
    for (on, item, with_trigger) in items {
        flags |= if with_trigger { WANTS_RESULT } else { 0 };
        let at = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        pack_one(&mut bytes, on, item, with_trigger);
        let length = (bytes.len() - at - 4) as u32;
        bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
    let mut name = [0; NAME];
    name[0] = flags;
    name[1..5].copy_from_slice(&(bytes.len() as u32).to_be_bytes());
    random::bytes(1, |random| name[5..].copy_from_slice(&random));
    Packed { name, bytes }
}

fn pack_one(bytes: &mut Vec<u8>, on: On, item: &Item, with_trigger: bool) {
    let id = store_id(&item.id);
    let nested = pack_follow_ups(item);
    let mut record = Vec::new();
    let place = if with_trigger { TriggerPlace::Wanted } else { TriggerPlace::None };
    let trigger_at = write_record(&mut record, &id, item, nested.as_ref().map(|p| &p.name), place);
    bytes.extend_from_slice(&[
        on.bit(),
        item.priority,
        u8::from(item.replace),
        u8::from(item.key.is_some()),
    ]);
    let six =
        |bytes: &mut Vec<u8>, number: u64| bytes.extend_from_slice(&number.to_be_bytes()[2..]);
    six(bytes, delay(item.due()));
    six(bytes, ms(item.unique_for));
    six(bytes, item.expires_in.map_or(0, ms));
    let unique = item.unique.as_deref().unwrap_or_default();
    for length in [item.max_attempts.unwrap_or(0) as usize, id.len(), unique.len(), trigger_at] {
        bytes.extend_from_slice(&(length as u16).to_be_bytes());
    }
    let nested_len = nested.as_ref().map_or(0, |nested| nested.bytes.len());
    bytes.extend_from_slice(&(nested_len as u32).to_be_bytes());
    bytes.extend_from_slice(&id);
    bytes.extend_from_slice(unique);
    if let Some(nested) = nested {
        bytes.extend_from_slice(&nested.name);
        bytes.extend_from_slice(&nested.bytes);
    }
    bytes.extend_from_slice(&record);
}

/// Adds follow-ups of items that have ended, in one step. Returns whether some are left.
pub(super) async fn distribute(engine: &RedisEngine, queue: &QueueName) -> Result<bool> {
    let fill = |command: &mut Cmd| {
        command.arg(&number::random_salt()[..]);
    };
    let reply = engine.query_briefly(queue, Script::Distribute, ALL, fill).await?;
    Ok(reply::number::<u8>(reply)? == 1)
}

/// How many steps whoever has ended items works off at once.
const STEPS: usize = 32;
/// Behind the answers of a script that has left follow-ups to add.
const DEFERRED: char = 'o';

/// The answers of a script that may have ended items, after their follow-ups were added. Whatever is left, others add: who
/// leases from the queue, or cleans it.
pub(super) async fn added(engine: &RedisEngine, queue: &QueueName, mut answers: String) -> String {
    if !answers.ends_with(DEFERRED) {
        return answers;
    }
    answers.pop();
    if let Err(error) = distribute_all(engine, queue).await {
        tracing::debug!(%queue, %error, "follow-ups are left to others");
    }
    answers
}

/// Adds what is to be added, unless it is very much.
pub(super) async fn distribute_all(engine: &RedisEngine, queue: &QueueName) -> Result<()> {
    for _ in 0..STEPS {
        if !distribute(engine, queue).await? {
            break;
        }
    }
    Ok(())
}
