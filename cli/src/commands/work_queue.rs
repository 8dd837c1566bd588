//! Takes over a queue of redis-work-queue after its last client has left.
//!
//! Its keys, in all its languages: `NAME:queue` and `NAME:processing` are lists of ids, new ones at the left;
//! `NAME:cleaning` has ids that a cleaner was moving; `NAME:item:ID` is the data; `NAME:leased_by_session:ID` is a
//! lease, in Rust `NAME:lease:ID`.

use std::time::Duration;

use leaseq::{Item, WorkQueue};
use redis::aio::MultiplexedConnection;
use serde_json::json;

use crate::failure::{Ended, Failure, NO, PARTLY};
use crate::global::Shared;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::text;

const STEP: usize = 500;
/// How long an interrupted import may wait to be repeated without adding an item again that was completed since.
const REMEMBERED: Duration = Duration::from_secs(86_400);
/// How long to wait for an answer of the old queue.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Report {
    moved: u64,
    /// Ids of other items of the new queue.
    conflicts: Vec<String>,
}

/// Moves the items in the order in which they would have been leased: those that were leased first.
pub(crate) async fn import(shared: &Shared, queue: &WorkQueue, name: &str, url: &str) -> Ended {
    let mut old = connect(url).await?;
    let stop = Stop::listen()?;
    let lists = ["cleaning", "processing", "queue"].map(|list| format!("{name}:{list}"));
    let mut total: u64 = 0;
    for list in &lists {
        total += ask::<u64>(&mut old, redis::cmd("LLEN").arg(list)).await?;
    }
    if total == 0 {
        return Err(Failure::no(format_args!(
            "there is nothing in a redis-work-queue named {name}"
        )));
    }
    let progress = Progress::new("moved", total);
    let mut report = Report::default();
    for list in &lists {
        let before = report.conflicts.len();
        loop {
            // Those in conflict stay at the end of their list.
            let skip = (report.conflicts.len() - before) as i64;
            let step = step(&mut old, queue, name, list, skip, &mut report).await;
            let moved = report.moved;
            match step {
                Ok(0) => break,
                Ok(count) => progress.add(count),
                Err(failure) => {
                    let failure = if moved > 0 { failure.partly() } else { failure };
                    return Err(
                        failure.hint(format_args!("moved {moved} items; repeat the command"))
                    );
                }
            }
            if stop.within(Duration::ZERO).await {
                return Err(Failure::interrupted("interrupted")
                    .hint(format_args!("moved {moved} items; repeat the command within a day")));
            }
        }
    }
    progress.end();
    let Report { moved, conflicts } = report;
    if shared.output.json {
        shared.output.document(&json!({ "moved": moved, "conflicts": conflicts }))?;
    } else {
        shared.output.line(&format!("moved {moved} items"))?;
        for id in &conflicts {
            shared.output.note(&format!("left: the queue has another item with the id {id}"));
        }
    }
    Ok(match (moved, conflicts.is_empty()) {
        (_, false) => PARTLY,
        (0, true) => NO,
        _ => 0,
    })
}

/// Moves the items at the end of a list. Returns how many entries it has removed; 0 at the end.
async fn step(
    old: &mut MultiplexedConnection,
    queue: &WorkQueue,
    name: &str,
    list: &str,
    skip: i64,
    report: &mut Report,
) -> Result<u64, Failure> {
    let (first, last) = (-(STEP as i64) - skip, -1 - skip);
    let mut ids: Vec<Vec<u8>> =
        ask(old, redis::cmd("LRANGE").arg(list).arg(first).arg(last)).await?;
    ids.reverse();
    if ids.is_empty() {
        return Ok(0);
    }
    let key = |id: &[u8]| [format!("{name}:item:").as_bytes(), id].concat();
    let mut read = redis::cmd("MGET");
    for id in &ids {
        read.arg(key(id));
    }
    let data: Vec<Option<Vec<u8>>> = ask(old, &read).await?;
    // Without data it was completed, or removed, before its client was killed.
    let present = || ids.iter().zip(&data).filter_map(|(id, data)| Some((id, data.as_ref()?)));
    let item = |(id, data): (&Vec<u8>, &Vec<u8>)| {
        // Remembered after its completion too, so that a repeated import does not add it again.
        let unique = [b"redis-work-queue:", name.as_bytes(), b":", id].concat();
        let unique = leaseq_unique(&unique);
        Item::new(data).with_id(id).unique(unique).unique_for(REMEMBERED)
    };
    let added = queue.add_items(present().map(item)).await?;
    let known: Vec<_> =
        present().zip(&added).filter(|(_, added)| !**added).map(|(item, _)| item).collect();
    let found = queue.get_many(known.iter().map(|(id, _)| id)).await?;
    let mut conflicts = Vec::new();
    for ((id, data), info) in known.iter().zip(found) {
        if info.is_some_and(|info| info.data != data[..]) {
            conflicts.push((*id).clone());
        }
    }
    // All at once, so that nothing is left behind if this process is killed. From the right, where they are.
    let mut remove = redis::pipe();
    remove.atomic();
    for id in ids.iter().filter(|id| !conflicts.contains(id)) {
        remove.cmd("LREM").arg(list).arg(-1).arg(id).ignore();
        remove.cmd("DEL").arg(key(id)).ignore();
        for lease in ["leased_by_session", "lease"] {
            let lease = [format!("{name}:{lease}:").as_bytes(), id].concat();
            remove.cmd("DEL").arg(lease).ignore();
        }
    }
    timed(remove.query_async::<()>(old)).await?;
    report.moved += added.iter().filter(|added| **added).count() as u64;
    report.conflicts.extend(conflicts.iter().map(|id| text::id(id)));
    Ok(ids.len() as u64)
}

/// A unique key within its limit of 512 bytes: the ids of redis-work-queue are UUIDs, but may be anything.
fn leaseq_unique(key: &[u8]) -> &[u8] {
    &key[key.len().saturating_sub(leaseq::options::MAX_UNIQUE)..]
}

async fn connect(url: &str) -> Result<MultiplexedConnection, Failure> {
    // The part behind ? is leaseq's.
    let plain = url.split('?').next().unwrap_or(url);
    let client = redis::Client::open(plain).map_err(|_| {
        Failure::usage(format_args!("{} is no server of redis-work-queue", leaseq::redact_url(url)))
            .hint("name it with --from-url redis://host:6379/0")
    })?;
    timed(client.get_multiplexed_async_connection()).await
}

async fn ask<T: redis::FromRedisValue>(
    old: &mut MultiplexedConnection,
    command: &redis::Cmd,
) -> Result<T, Failure> {
    timed(command.query_async(old)).await
}

async fn timed<T>(answer: impl Future<Output = redis::RedisResult<T>>) -> Result<T, Failure> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Failure::usage(format_args!("the old queue: {error}"))),
        Err(_) => Err(Failure::usage("the old queue: no answer for 10 s")),
    }
}
