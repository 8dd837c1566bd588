//! Reading the events of a queue.

use redis::{Cmd, Value};

use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use super::stored_id::restore_id;
use crate::Result;
use crate::engine::{EventEntry, FoundEvents, Generation, StoredEvent, WhichEvents};
use crate::event::{EventKind, EventsPage, Place};
use crate::name::QueueName;

pub(super) async fn read(
    engine: &RedisEngine,
    queue: &QueueName,
    which: &WhichEvents,
) -> Result<EventsPage> {
    let fill = |command: &mut Cmd| {
        match which.after {
            Place::Start => command.arg("").arg(""),
            Place::Now => command.arg("now").arg(""),
            Place::After { number, at } => command.arg(number).arg(at),
        };
        command.arg(which.limit);
    };
    let reply = engine.query(queue, Script::ReadEvents, fill).await?;
    let mut values = reply::list(reply)?.into_iter();
    let Some(gap) = values.next() else { return Ok(which.nothing()) };
    let mut next = || reply::number(values.next().unwrap_or(Value::Nil));
    let from = (next()?, next()?);
    let mut entries = Vec::new();
    while let (Some(id), Some(fields)) = (values.next(), values.next()) {
        // Something else may have written it.
        entries.extend(read_entry(id, fields));
    }
    Ok(which.page(FoundEvents { gap: reply::number::<u8>(gap)? == 1, from, entries }))
}

/// See `scripts/parts/event_entry.lua`.
fn read_entry(id: Value, fields: Value) -> Option<EventEntry> {
    let id = reply::text(id).ok()?;
    let (last, at) = id.split_once('-')?;
    let mut fields = reply::list(fields).ok()?.into_iter().map(reply::bytes);
    let kind = EventKind::from_letter(*fields.next()?.ok()?.first()?)?;
    let named = fields.next()?.ok()?;
    let mut ids = match (fields.next(), fields.next()) {
        (Some(_), Some(ids)) => read_ids(&ids.ok()?)?.into_iter(),
        _ => Vec::new().into_iter(),
    };
    let named = named.split(|byte| *byte == b' ').map(|entry| {
        let mut parts = entry.splitn(2, |byte| *byte == b':');
        let generation = Generation::read(parts.next()?)?.to_string();
        let attempt = match parts.next() {
            Some(text) => std::str::from_utf8(text).ok()?.parse().ok()?,
            None => 1,
        };
        let attempt = kind.has_attempt().then_some(attempt);
        Some(StoredEvent { kind, generation, id: ids.next(), attempt })
    });
    let events = named.collect::<Option<_>>()?;
    Some(EventEntry { last: last.parse().ok()?, at: at.parse().ok()?, events })
}

/// Ids behind their lengths.
fn read_ids(packed: &[u8]) -> Option<Vec<bytes::Bytes>> {
    let colon = packed.iter().position(|byte| *byte == b':')?;
    let lengths = std::str::from_utf8(&packed[..colon]).ok()?;
    let lengths: Vec<usize> =
        lengths.split(',').map(|length| length.parse().ok()).collect::<Option<_>>()?;
    let mut rest = &packed[colon + 1..];
    let mut ids = Vec::new();
    while !rest.is_empty() {
        let length = *lengths.get(ids.len()).or(lengths.first().filter(|_| lengths.len() == 1))?;
        let (id, behind) = rest.split_at_checked(length).filter(|(id, _)| !id.is_empty())?;
        ids.push(restore_id(id));
        rest = behind;
    }
    Some(ids)
}
