//! Reading counts and items.

use std::time::Duration;

use bytes::Bytes;
use redis::Value;

use super::details::read_details;
use super::number;
use super::packed_items;
use super::record::{Head, read_record};
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use super::stored_id::store_id;
use crate::Result;
use crate::item::{Counts, ItemInfo, State, Totals};
use crate::name::QueueName;
use crate::unix_time::from_ms;

pub(super) async fn counts(engine: &RedisEngine, queue: &QueueName) -> Result<Counts> {
    let reply = engine.query(queue, Script::Counts, |_| ()).await?;
    let numbers = reply::list(reply)?;
    let numbers: Vec<i64> = numbers.into_iter().map(reply::number).collect::<Result<_>>()?;
    let Ok(numbers) = <[i64; 29]>::try_from(numbers) else {
        return Err(reply::unexpected("counts"));
    };
    let [leased, delayed, dead, completed, cancelled, held, paused, limited, age, rest @ ..] =
        numbers.map(|n| n.max(-1));
    let n = |i: usize| rest[i].max(0) as u64;
    let ready_by_priority: [u64; 10] = std::array::from_fn(n);
    Ok(Counts {
        ready: ready_by_priority.iter().sum(),
        ready_by_priority,
        delayed: delayed.max(0) as u64,
        leased: leased.max(0) as u64,
        dead: dead.max(0) as u64,
        completed: completed.max(0) as u64,
        cancelled: cancelled.max(0) as u64,
        held: held.max(0) as u64,
        oldest_ready: u64::try_from(age).ok().map(Duration::from_millis),
        paused: paused == 1,
        rate_limited: limited == 1,
        totals: Totals {
            added: n(10),
            leased: n(11),
            completed: n(12),
            expired: n(13),
            failed: n(14),
            died: n(15),
            removed: n(16),
            replaced: n(17),
            expired_unleased: n(18),
            cancelled: n(19),
        },
    })
}

pub(super) async fn get(
    engine: &RedisEngine,
    queue: &QueueName,
    ids: &[Bytes],
    with_data: bool,
) -> Result<Vec<Option<ItemInfo>>> {
    let reply = engine
        .query(queue, Script::Get, |command| {
            command.arg(u8::from(with_data));
            for id in ids {
                command.arg(&*store_id(id));
            }
        })
        .await?;
    let mut parts = reply::list(reply)?.into_iter();
    let now = reply::number(parts.next().unwrap_or(Value::Nil))?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(number) = parts.next() else { break };
        let number = reply::bytes(number)?;
        if number.is_empty() {
            found.push(None);
            continue;
        }
        let (Some(record), Some(details), Some(state), Some(score)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(reply::unexpected("get"));
        };
        let state = reply::text(state)?;
        let state = State::ALL.into_iter().find(|known| known.as_str() == state);
        let state = state.ok_or_else(|| reply::unexpected("state"))?;
        let record = read_record(reply::bytes(record)?);
        // Without data, its id is enough.
        let only_id = || (Head::new(id.clone()), Bytes::new());
        let record = record.or_else(|| (!with_data).then(only_id));
        let info = item_info(state, &number, record, [details, score], &mut parts, Some(now))?;
        let info = info.ok_or_else(|| reply::bad_record(queue, &number))?;
        found.push(Some(info));
    }
    Ok(found)
}

/// `record`: its head, and data if they were asked for. `extras`: what `parts/extras.lua` reads. `now`: in ms; `None` for an item as it is
/// stored, although it may have expired. `None` is returned if the number or the record cannot be read.
pub(super) fn item_info(
    state: State,
    number: &[u8],
    record: Option<(Head, Bytes)>,
    [details, score]: [Value; 2],
    extras: &mut impl Iterator<Item = Value>,
    now: Option<u64>,
) -> Result<Option<ItemInfo>> {
    let [ended, result, expires, mark, follow_ups] =
        [(); 5].map(|()| extras.next().unwrap_or(Value::Nil));
    let Some((generation, (head, data))) = number::read(number).zip(record) else {
        return Ok(None);
    };
    let details = read_details(&reply::bytes(details)?);
    let result = reply::bytes(result)?;
    // What cannot be read is left out.
    let ms = |value| -> Result<Option<u64>> {
        Ok(std::str::from_utf8(&reply::bytes(value)?).ok().and_then(|ms| ms.parse().ok()))
    };
    let score = reply::text(score)?.parse::<f64>().ok();
    // Negative if it has passed while the item was leased; half a millisecond less if the item has expired and another
    // one has its unique key. Then it has expired for good, wherever the clock is set.
    let expires = reply::text(expires)?.parse::<f64>().ok().map(f64::abs);
    let expired_for_good = expires.is_some_and(|ms| ms.fract() != 0.0);
    let info = ItemInfo {
        id: head.id,
        data,
        state,
        priority: details.priority,
        max_attempts: details.max_attempts,
        failures: details.failures,
        expiries: details.expiries,
        last_error: details.error,
        endings: details.history.endings,
        releases: details.history.releases,
        generation: generation.to_string(),
        added_at: from_ms(details.added_at_ms.unwrap_or_else(|| number::added_at_ms(generation))),
        at: score.map(|ms| from_ms(ms.max(0.0) as u64)),
        ended_at: ms(ended)?.map(from_ms),
        result: (!result.is_empty()).then(|| result.slice(1..)),
        retain: Duration::from_millis(head.added_with.retain_ms),
        expires_at: expires.map(|ms| from_ms(ms.ceil() as u64)),
        unique: head.added_with.unique,
        key: head.added_with.key,
        progress: details.progress.filter(|_| state != State::Completed),
        cancel_requested: !reply::bytes(mark)?.is_empty(),
        follow_ups: packed_items::unpack(reply::bytes(follow_ups)?).unwrap_or_default(),
    };
    Ok(Some(match now {
        Some(_) if expired_for_good => info.expired(),
        Some(now) => info.seen_at(now),
        None => info,
    }))
}
