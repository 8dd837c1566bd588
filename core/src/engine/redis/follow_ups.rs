//! How follow-ups are written, as `scripts/parts/unpack_items.lua` reads them, and who adds them.

use std::collections::{BTreeSet, VecDeque};

use redis::{Cmd, Value};

use super::outbox::{self, Patience};
use super::record::{NAME, TriggerPlace, delay, write_record};
use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::stored_id::store_id;
use super::{number, reply};
use crate::Result;
use crate::item::{FollowUp, GroupPlace, Item, On};
use crate::name::QueueName;
use crate::options::ms;
use crate::random;

/// Flag of a name, its first byte: what it names has a follow-up that wants the result of the completion. All flags stand in
/// `scripts/parts/fire.lua`.
const WANTS_RESULT: u8 = 1;
/// It has the place of a member of a group.
const IS_MEMBER: u8 = 2;
/// It has one follow-up, which a completion fires, for its own queue, and which is as plain items are, but perhaps for follow-ups
/// of its own and the trigger: a step of a chain.
const IS_PLAIN: u8 = 4;
/// The fields of a packed item: what comes behind its length and before its id.
const FIELDS: usize = 35;

/// Packed items, and the name under which they are stored: a byte of flags, the length of what it names (4 bytes) and
/// random bytes.
pub(super) struct Packed {
    pub(super) name: [u8; NAME],
    pub(super) bytes: Vec<u8>,
}

/// The follow-ups of an item; `None` if it has none.
pub(super) fn pack_follow_ups(queue: &QueueName, item: &Item) -> Option<Packed> {
    if item.follow_ups.is_empty() && item.group.is_none() {
        return None;
    }
    let all = item
        .follow_ups
        .iter()
        .map(|FollowUp { on, item, with_trigger }| (*on, item, *with_trigger));
    Some(pack(queue, &item.id, item.group.as_ref(), all))
}

/// What a completion or failure of the item with this id adds; `None` if nothing.
pub(super) fn pack_added(queue: &QueueName, id: &[u8], items: &[Item]) -> Option<Vec<u8>> {
    if items.is_empty() {
        return None;
    }
    let all = items.iter().map(|item| (On::Completed, item, false));
    let Packed { name, bytes } = pack(queue, id, None, all);
    Some([&name[..], &bytes].concat())
}

/// A follow-up of the item with this id.
pub(super) fn pack_follow_up(queue: &QueueName, id: &[u8], follow_up: &FollowUp) -> Vec<u8> {
    let FollowUp { on, item, with_trigger } = follow_up;
    let Packed { name, bytes } = pack(queue, id, None, std::iter::once((*on, item, *with_trigger)));
    [&name[..], &bytes].concat()
}

/// `queue`: that of the item with this id.
fn pack<'a>(
    queue: &QueueName,
    id: &[u8],
    place: Option<&GroupPlace>,
    items: impl Iterator<Item = (On, &'a Item, bool)>,
) -> Packed {
    let (mut bytes, mut flags) = (Vec::new(), 0);
    let id = store_id(id);
    bytes.extend_from_slice(&(id.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&id);
    if let Some(place) = place {
        flags |= IS_MEMBER;
        pack_place(&mut bytes, place);
    }
    for (on, item, with_trigger) in items {
        flags |= if with_trigger { WANTS_RESULT } else { 0 };
        let at = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        pack_one(queue, &mut bytes, on, item, with_trigger);
        let length = (bytes.len() - at - 4) as u32;
        bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
    if flags & IS_MEMBER == 0 && is_plain(&bytes[2 + id.len()..]) {
        flags |= IS_PLAIN;
    }
    let mut name = [0; NAME];
    name[0] = flags;
    name[1..5].copy_from_slice(&(bytes.len() as u32).to_be_bytes());
    random::bytes(1, |random| name[5..].copy_from_slice(&random));
    Packed { name, bytes }
}

/// Whether this is one item that a completion fires, without options but perhaps with follow-ups, for the queue of its trigger.
fn is_plain(packed: &[u8]) -> bool {
    let Some((length, one)) = packed.split_first_chunk::<4>() else { return false };
    let is_one = u32::from_be_bytes(*length) as usize == one.len();
    // Of the fields, only what fires it, where the trigger comes, and the lengths of its id and its follow-ups are not 0.
    let is_plain = |fields: &[u8; FIELDS]| {
        fields[0] != On::Dead.bit()
            && fields[1..25].iter().chain(&fields[27..29]).all(|byte| *byte == 0)
    };
    is_one && one.first_chunk().is_some_and(is_plain)
}

/// As `scripts/parts/reports.lua` reads it.
fn pack_place(bytes: &mut Vec<u8>, GroupPlace { group, place }: &GroupPlace) {
    let (queue, id) = (group.queue.as_str().as_bytes(), store_id(&group.id));
    let generation = group.generation();
    let length = 1 + 4 + 1 + queue.len() + 2 + id.len() + generation.len();
    bytes.extend_from_slice(&(length as u32).to_be_bytes());
    bytes.push(0);
    bytes.extend_from_slice(&place.to_be_bytes());
    bytes.push(queue.len() as u8);
    bytes.extend_from_slice(queue);
    bytes.extend_from_slice(&(id.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&id);
    bytes.extend_from_slice(generation.as_bytes());
}

fn pack_one(queue: &QueueName, bytes: &mut Vec<u8>, on: On, item: &Item, with_trigger: bool) {
    let id = store_id(&item.id);
    let target = item.queue.as_ref().filter(|target| *target != queue);
    let nested = pack_follow_ups(target.unwrap_or(queue), item);
    let target = target.map_or("", QueueName::as_str);
    let mut record = Vec::new();
    let place = if with_trigger { TriggerPlace::Wanted } else { TriggerPlace::None };
    let trigger_at = write_record(&mut record, &id, item, nested.as_ref().map(|p| &p.name), place);
    bytes.extend_from_slice(&[
        on.bit(),
        item.priority,
        item.replaces(),
        u8::from(item.key.is_some()),
        target.len() as u8,
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
    bytes.extend_from_slice(target.as_bytes());
    bytes.extend_from_slice(&record);
}

/// What is left to do for a queue: see `scripts/parts/what_is_left.lua`.
pub(super) struct Left {
    pub(super) notes: bool,
    /// The outbox has some.
    pub(super) entries: bool,
    /// The first note is about members of a cancelled group.
    cancels: bool,
}

impl Left {
    pub(super) fn read(reply: Value) -> Result<Left> {
        let bits = reply::number::<u8>(reply)?;
        Ok(Left { notes: bits & 1 != 0, entries: bits & 2 != 0, cancels: bits & 4 != 0 })
    }
}

/// Adds follow-ups of items that have ended, in one step, and those for other queues in a few. Returns whether more are to be
/// added at once.
pub(super) async fn distribute(engine: &RedisEngine, queue: &QueueName) -> Result<bool> {
    let left = step(engine, queue).await?;
    let mut told = BTreeSet::new();
    let has_more =
        left.entries && outbox::forward(engine, queue, Patience::Full, &mut told).await?;
    for other in told {
        distribute_of(engine, other).await;
    }
    Ok(left.notes || has_more)
}

async fn step(engine: &RedisEngine, queue: &QueueName) -> Result<Left> {
    let fill = |command: &mut Cmd| {
        command.arg(&number::random_salt()[..]);
    };
    let left = Left::read(engine.query_briefly(queue, Script::Distribute, fill).await?)?;
    if !left.cancels {
        return Ok(left);
    }
    let fill = |command: &mut Cmd| {
        command.arg("cancel").arg("members").arg(&number::random_salt()[..]);
    };
    Left::read(engine.query_briefly(queue, Script::CancelMembers, fill).await?)
}

/// How many steps whoever has ended items works off at once.
const STEPS: usize = 32;

/// The answers of a script that may have ended items, after their follow-ups were added. Whatever is left, others add: who
/// leases from the queue, or cleans it.
pub(super) async fn added(engine: &RedisEngine, queue: &QueueName, mut answers: String) -> String {
    if !reply::take_deferred(&mut answers) {
        return answers;
    }
    if let Err(error) = distribute_all(engine, queue).await {
        tracing::debug!(%queue, %error, "follow-ups are left to others");
    }
    answers
}

/// Adds what is to be added, unless it is very much.
pub(super) async fn distribute_all(engine: &RedisEngine, queue: &QueueName) -> Result<()> {
    for other in distribute_one(engine, queue).await? {
        distribute_of(engine, other).await;
    }
    Ok(())
}

/// Adds what the queues have to add that got reports of another one: groups that have ended. Whatever is left, others add.
async fn distribute_of(engine: &RedisEngine, first: QueueName) {
    let mut queues = VecDeque::from([first]);
    for _ in 0..STEPS {
        let Some(queue) = queues.pop_front() else { break };
        match distribute_one(engine, &queue).await {
            Ok(others) => queues.extend(others),
            Err(error) => tracing::debug!(%queue, %error, "follow-ups are left to others"),
        }
    }
}

/// Returns the queues that have something to add now, because of what they were sent.
async fn distribute_one(engine: &RedisEngine, queue: &QueueName) -> Result<BTreeSet<QueueName>> {
    let mut told = BTreeSet::new();
    for _ in 0..STEPS {
        let left = step(engine, queue).await?;
        if !left.notes {
            if left.entries {
                outbox::forward(engine, queue, Patience::Brief, &mut told).await?;
            }
            break;
        }
    }
    Ok(told)
}
