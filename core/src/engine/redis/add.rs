//! Adding items.

use std::collections::HashSet;

use super::keys::UP_TO_READY;
use super::number;
use super::record::{store_id, write_record};
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use crate::Result;
use crate::engine::RequestId;
use crate::item::{Due, Item};
use crate::name::QueueName;
use crate::options::MAX_DELAY;

pub(super) async fn add(
    engine: &RedisEngine,
    queue: &QueueName,
    items: &[Item],
    request_id: &RequestId,
) -> Result<Vec<bool>> {
    // Of items with the same id in one batch only the first can be added.
    let mut seen = HashSet::with_capacity(items.len());
    let first: Vec<&Item> = items.iter().filter(|item| seen.insert(&item.id)).collect();
    let ids: Vec<_> = first.iter().map(|item| store_id(&item.id)).collect();
    let highest = first.iter().map(|item| item.priority).max().unwrap_or(0);
    let key_count = UP_TO_READY + highest as usize;
    let reply = engine
        .run(queue, Script::Add, key_count, request_id, |command| {
            command.arg(&number::salt(request_id)[..]).arg(ids.len());
            for id in &ids {
                command.arg(&**id);
            }
            let mut record = Vec::new();
            for (id, item) in ids.iter().zip(&first) {
                write_record(&mut record, id, &item.data);
                command.arg(&*record);
            }
            for (i, item) in first.iter().enumerate() {
                let max_attempts = item.max_attempts.unwrap_or(0);
                let delay = delay(item.due());
                if item.priority > 0 || delay > 0 || max_attempts > 0 {
                    command.arg(i + 1).arg(item.priority).arg(delay).arg(max_attempts);
                }
            }
        })
        .await?;
    let answers = reply::text(reply)?;
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

/// As the script reads it: a delay, or a time, which is more than the longest delay.
pub(super) fn delay(due: Due) -> u64 {
    match due {
        Due::After(ms) => ms,
        Due::At(time) if u128::from(time) > MAX_DELAY.as_millis() => time,
        // It has passed, whatever the server's clock says.
        Due::At(_) => 0,
    }
}
