//! Delivering what the outbox of a queue has for other queues. The steps, and why nothing is added twice or lost, are those of
//! `model/delivery.pml`.

use std::collections::BTreeSet;

use bytes::Bytes;
use redis::{Cmd, Value};

use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::{number, reply};
use crate::name::QueueName;
use crate::{ErrorKind, Result};

/// How many forwards one call makes.
const FORWARDS: usize = 32;

/// How long a step may take.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    /// A caller waits for something else, and others go on.
    Brief,
    Full,
}

/// Sends the entries of the outbox, queue by queue. Those that a queue does not accept now, because it is full or this user has
/// no rights on it, stay: this client tries again later, and others may have more success. Returns whether it has sent so many
/// that there may be more, and through `told` the queues that have follow-ups to add now, because groups of theirs have ended.
pub(super) async fn forward(
    engine: &RedisEngine,
    source: &QueueName,
    patience: Patience,
    told: &mut BTreeSet<QueueName>,
) -> Result<bool> {
    let (mut after, mut delivered) = (String::new(), Vec::new());
    let mut has_sent = false;
    for _ in 0..FORWARDS {
        let Some(batch) = read(engine, source, &after, &delivered).await? else {
            if !has_sent {
                engine.outboxes.prune(source);
                return Ok(false);
            }
            // Once more from the first queue on.
            (has_sent, after) = (false, String::new());
            delivered.clear();
            continue;
        };
        delivered.clear();
        after = batch.target.clone();
        match send(engine, source, &batch, patience, told).await {
            Ok(handled) => {
                engine.outboxes.accept(source, &batch.target);
                delivered.extend(batch.entries.into_iter().take(handled).map(|(entry, _)| entry));
                has_sent = true;
            }
            Err(error) => {
                let pause = engine.outboxes.block(source, &batch.target);
                let target = &batch.target;
                match error.kind() {
                    ErrorKind::Invalid => {
                        tracing::debug!(queue = %source, target, %error, "its follow-ups are left to others");
                    }
                    _ => {
                        tracing::warn!(queue = %source, target, ?pause, %error, "it does not accept follow-ups now");
                    }
                }
            }
        }
    }
    if !delivered.is_empty() {
        read(engine, source, &after, &delivered).await?;
    }
    Ok(true)
}

/// The first entries for one queue, each with its packed item.
struct Batch {
    incarnation: Bytes,
    target: String,
    entries: Vec<(Bytes, Bytes)>,
}

/// Deletes entries that were delivered, and reads those for the next queue. `None`: there are none that this client may send now.
async fn read(
    engine: &RedisEngine,
    source: &QueueName,
    after: &str,
    delivered: &[Bytes],
) -> Result<Option<Batch>> {
    let blocked = engine.outboxes.blocked(source);
    let fill = |command: &mut Cmd| {
        command.arg(after).arg(blocked.len()).arg(&blocked[..]);
        for entry in delivered {
            command.arg(&**entry);
        }
    };
    let reply = engine.query_briefly(source, Script::Outbox, fill).await?;
    let mut values = reply::list(reply)?.into_iter();
    let Some(incarnation) = values.next() else { return Ok(None) };
    let target = reply::text(values.next().unwrap_or(Value::Nil))?;
    let mut entries = Vec::new();
    while let (Some(entry), Some(packed)) = (values.next(), values.next()) {
        entries.push((reply::bytes(entry)?, reply::bytes(packed)?));
    }
    Ok(Some(Batch { incarnation: reply::bytes(incarnation)?, target, entries }))
}

/// Returns how many entries were handled, which are the first ones.
async fn send(
    engine: &RedisEngine,
    source: &QueueName,
    batch: &Batch,
    patience: Patience,
    told: &mut BTreeSet<QueueName>,
) -> Result<usize> {
    if batch.entries.is_empty() {
        return Ok(0);
    }
    let target = QueueName::new(&batch.target)?;
    let lane = [source.as_str().as_bytes(), b" ", &batch.incarnation].concat();
    let fill = |command: &mut Cmd| {
        command.arg(&number::random_salt()[..]).arg(&lane);
        for (entry, packed) in &batch.entries {
            // `queue number size`
            let number = entry.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
            command.arg(number).arg(&**packed);
        }
    };
    let reply = match patience {
        Patience::Brief => engine.query_briefly(&target, Script::Forward, fill).await?,
        Patience::Full => engine.query(&target, Script::Forward, fill).await?,
    };
    let mut answers = reply::text(reply)?;
    if reply::take_deferred(&mut answers) {
        told.insert(target.clone());
    }
    if let Some(forgotten) = answers.strip_prefix('!') {
        let fill = |command: &mut Cmd| {
            command.arg(&number::random_salt()[..]).arg(&batch.target).arg(forgotten);
        };
        engine.query_briefly(source, Script::Renumber, fill).await?;
        return Ok(0);
    }
    if answers.ends_with('n') {
        engine.announce(&target).await;
    }
    let handled = answers.trim_end_matches('n');
    let unreadable = handled.bytes().filter(|letter| *letter == b'x').count();
    if unreadable > 0 {
        tracing::warn!(queue = %source, %target, unreadable, "follow-ups that cannot be read are dropped");
    }
    Ok(handled.len())
}
