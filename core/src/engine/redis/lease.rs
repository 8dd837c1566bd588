//! Leasing, also with completing before it.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};

use super::details::read_details;
use super::follow_ups;
use super::number;
use super::record::read_record;
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use super::settle::{add_completes, are_extended};
use crate::Result;
use crate::engine::{
    AddedWith, Complete, CompleteAndLeaseReply, LeaseRequest, Leased, LeasedItem, RequestId, Token,
};
use crate::name::QueueName;

pub(super) async fn lease(
    engine: &RedisEngine,
    queue: &QueueName,
    wanted: &[LeaseRequest],
    poll_interval: Duration,
    request_id: &RequestId,
) -> Result<Leased> {
    let fill = |command: &mut Cmd| add_wanted(command, wanted, poll_interval);
    let reply = engine.run(queue, Script::Lease, request_id, fill).await?;
    read(engine, queue, wanted, reply::array(reply)?)
}

pub(super) async fn complete_and_lease(
    engine: &RedisEngine,
    queue: &QueueName,
    leases: &[Complete],
    wanted: &[LeaseRequest],
    poll_interval: Duration,
    request_id: &RequestId,
) -> Result<CompleteAndLeaseReply> {
    let script = match are_extended(leases) {
        true => Script::CompleteAndLeaseExtended,
        false => Script::CompleteAndLease,
    };
    let fill = |command: &mut Cmd| {
        // What is leased comes first, because its length is known.
        command.arg(4 + 2 * wanted.len().max(1));
        add_wanted(command, wanted, poll_interval);
        if !leases.is_empty() {
            add_completes(command, queue, leases);
        }
    };
    let reply = engine.run(queue, script, request_id, fill).await?;
    let [now, look_in, numbers, records, details, completed] = reply::array(reply)?;
    let completed = follow_ups::added(engine, queue, reply::text(completed)?).await;
    // A request for a lost reply names nothing to complete.
    let completed = match leases {
        [] => Vec::new(),
        leases => reply::bools(&completed, leases.len())?,
    };
    let leased = read(engine, queue, wanted, [now, look_in, numbers, records, details]);
    Ok(CompleteAndLeaseReply { completed, leased })
}

/// Adds the arguments that `scripts/parts/lease.lua` reads.
fn add_wanted(command: &mut Cmd, wanted: &[LeaseRequest], poll_interval: Duration) {
    command.arg(poll_interval.as_millis() as u64);
    for group in wanted {
        command.arg(group.count).arg(group.duration_ms);
    }
    if wanted.is_empty() {
        command.arg(0).arg(0);
    }
}

fn read(
    engine: &RedisEngine,
    queue: &QueueName,
    wanted: &[LeaseRequest],
    reply: [Value; 5],
) -> Result<Leased> {
    let [now, look_in, numbers, records, details] = reply;
    let now: u64 = reply::number(now)?;
    let look_in: i64 = reply::number(look_in)?;
    let mut all_details = reply::list(details)?.into_iter();
    let mut durations =
        wanted.iter().flat_map(|group| std::iter::repeat_n(group.duration_ms, group.count));
    let mut items = Vec::new();
    let mut unreadable = None;
    for (number, record) in reply::list(numbers)?.into_iter().zip(reply::list(records)?) {
        let packed = all_details.next().map(reply::bytes).transpose()?.unwrap_or_default();
        let duration_ms = durations.next().unwrap_or(0);
        let record = reply::bytes(record)?;
        if record.is_empty() {
            continue;
        }
        let number = reply::bytes(number)?;
        // An unreadable item must not keep the others from their caller.
        let (Some(generation), Some((head, data))) = (number::read(&number), read_record(record))
        else {
            unreadable = Some(number);
            continue;
        };
        let details = read_details(&packed);
        let added_at_ms = || details.added_at_ms.unwrap_or_else(|| number::added_at_ms(generation));
        let ready_at_ms = details.ready_at_ms.unwrap_or_else(added_at_ms);
        items.push(LeasedItem {
            token: Token { generation, delivery: details.deliveries },
            id: head.id,
            data,
            added_with: (head.added_with != AddedWith::default())
                .then(|| Arc::new(head.added_with)),
            trigger: head.trigger,
            priority: details.priority,
            max_attempts: details.max_attempts,
            failures: details.failures,
            expiries: details.expiries,
            last_error: details.error,
            history: details.history,
            ready_at_ms,
            duration_ms,
            deadline_ms: now + duration_ms,
        });
    }
    if let Some(number) = unreadable {
        let error = reply::bad_record(queue, &number);
        tracing::warn!(%error, "an item was leased to nobody");
        if items.is_empty() {
            return Err(error);
        }
    }
    // See `parts/lease.lua`.
    let (is_to_tick, look_in) = match look_in {
        -1.. => (false, look_in),
        both if both % 2 == 0 => (true, (-2 - both) / 2),
        both => (engine.outboxes.may_forward(queue), (-3 - both) / 2),
    };
    let look_in = u64::try_from(look_in).ok().map(Duration::from_millis);
    Ok(Leased { items, look_in, is_to_tick })
}
