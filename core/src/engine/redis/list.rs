//! Listing the items of a state.

use super::query::item_info;
use super::record::read_record;
use super::redis_engine::RedisEngine;
use super::reply;
use super::scripts::Script;
use crate::engine::{ListStep, Listed};
use crate::item::State;
use crate::name::QueueName;
use crate::{Error, Result};

pub(super) async fn list(
    engine: &RedisEngine,
    queue: &QueueName,
    step: &ListStep,
) -> Result<Listed> {
    let (state, reverse) = (step.state, step.reverse);
    let cursor = step.cursor.as_ref();
    if let Some(cursor) = cursor.filter(|cursor| !is_place(state, &cursor.place)) {
        let what = format_args!("queue {queue}: a cursor of another engine: {cursor}");
        return Err(Error::invalid(what));
    }
    let since = step.since_ms.map_or("(-inf".into(), |ms| format!("({ms}"));
    let until = step.until_ms.map_or("+inf".into(), |ms| format!("({ms}"));
    let reply = engine
        .query(queue, Script::List, |command| {
            command.arg(state.as_str()).arg(u8::from(reverse)).arg(step.limit);
            command.arg(u8::from(step.with_data)).arg(&since).arg(&until);
            command.arg(cursor.map_or("", |cursor| &cursor.place));
        })
        .await?;
    let mut parts = reply::list(reply)?.into_iter();
    let (Some(_now), Some(rest)) = (parts.next(), parts.next()) else {
        return Err(reply::unexpected("list"));
    };
    // Damaged numbers may be no text.
    let place = |value| Ok(String::from_utf8_lossy(&reply::bytes(value)?).into_owned());
    let rest = place(rest)?;
    let mut listed =
        Listed { entries: Vec::new(), cursor: (!rest.is_empty()).then(|| step.cursor_at(rest)) };
    while let (Some(at), Some(number), Some(record), Some(details), Some(score)) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    {
        let (number, record) = (reply::bytes(number)?, read_record(reply::bytes(record)?));
        // Skips damaged items.
        let info = item_info(state, &number, record, [details, score], &mut parts, None)?;
        listed.entries.push((info, step.cursor_at(place(at)?)));
    }
    Ok(listed)
}

/// Whether the script can go on after it.
fn is_place(state: State, place: &str) -> bool {
    let is_index = |part: &str| part.len() <= 10 && part.bytes().all(|c| c.is_ascii_digit());
    match (state, &place.split(':').collect::<Vec<_>>()[..]) {
        (State::Ready, [priority, _anchor, index, distance, _delivery]) => {
            priority.len() == 1
                && [priority, index, distance].into_iter().all(|part| is_index(part))
        }
        (State::Ready, _) => false,
        (_, [score, _number]) => score.parse::<f64>().is_ok_and(|score| !score.is_nan()),
        _ => false,
    }
}
