//! The history of a queue.

use redis::{Cmd, Value};

use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use crate::Result;
use crate::engine::{RequestId, read_row};
use crate::history::{HistoryKind, HistoryRow, Measured};
use crate::name::QueueName;

/// Rows that one request reads.
const STEP: u64 = 360;

pub(super) async fn record(
    engine: &RedisEngine,
    queue: &QueueName,
    measured: &Measured,
    request_id: &RequestId,
) -> Result<bool> {
    let fill = |command: &mut Cmd| {
        let text = if measured.is_empty() { String::new() } else { measured.write() };
        command.arg(text);
        for kind in HistoryKind::ALL {
            command.arg(letter(kind)).arg(kind.ms()).arg(kind.count());
        }
    };
    let reply = engine.run(queue, Script::RecordHistory, request_id, fill).await?;
    Ok(reply::number::<u8>(reply)? == 1)
}

pub(super) async fn read(
    engine: &RedisEngine,
    queue: &QueueName,
    kind: HistoryKind,
    since_ms: u64,
) -> Result<Vec<HistoryRow>> {
    let mut rows = Vec::new();
    let mut next = Some(since_ms / kind.ms());
    while let Some(first) = next {
        let fill = |command: &mut Cmd| {
            command.arg(letter(kind)).arg(kind.ms()).arg(kind.count()).arg(first).arg(STEP);
        };
        let values = reply::list(engine.query(queue, Script::ReadHistory, fill).await?)?;
        let mut values = values.into_iter();
        let now = reply::number(values.next().unwrap_or(Value::Nil))?;
        next = reply::text(values.next().unwrap_or(Value::Nil))?.parse().ok();
        while let (Some(numbers), Some(measured)) = (values.next(), values.next()) {
            // Something else may have written it.
            let (Ok(numbers), Ok(measured)) = (reply::text(numbers), reply::text(measured)) else {
                continue;
            };
            rows.extend(read_row(kind, &numbers, &measured, now));
        }
    }
    rows.sort_by_key(|row| row.at);
    Ok(rows)
}

fn letter(kind: HistoryKind) -> &'static str {
    match kind {
        HistoryKind::Minutes => "m",
        HistoryKind::Hours => "h",
    }
}
