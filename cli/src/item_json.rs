//! An item as JSON. The names are an interface: add some, change none.

use std::time::Duration;

use leaseq::{Counts, ItemInfo};
use serde_json::{Map, Value, json};

use crate::follow_ups;
use crate::text::{exact_time, put_bytes, whole_ms};

/// An item with everything that is known of it. Without data if it was read without.
pub(crate) fn item(info: &ItemInfo, with_data: bool) -> Value {
    let mut object = Map::new();
    put_bytes(&mut object, "id", &info.id);
    let time = |time: Option<_>| time.map_or(Value::Null, |time| json!(exact_time(time)));
    let mut put = |name: &str, value: Value| drop(object.insert(name.into(), value));
    put("state", json!(info.state));
    put("priority", info.priority.into());
    put("failures", info.failures.into());
    put("expiries", info.expiries.into());
    put("max_attempts", json!(info.max_attempts));
    put("last_error", json!(info.last_error));
    put("generation", json!(info.generation));
    put("added_at", time(Some(info.added_at)));
    put("at", time(info.at));
    put("ended_at", time(info.ended_at));
    put("expires_at", time(info.expires_at));
    put("retain_ms", whole_ms(info.retain).into());
    put("cancel_requested", info.cancel_requested.into());
    let endings: Vec<_> = info
        .endings
        .iter()
        .map(|ending| json!({ "at": exact_time(ending.at), "kind": ending.kind }))
        .collect();
    put("endings", json!(endings));
    if let Some(releases) = &info.releases {
        let first_at = exact_time(releases.first_at);
        let (reason, count) = (&releases.reason, releases.count);
        put("releases", json!({ "reason": reason, "count": count, "first_at": first_at }));
    }
    for (name, bytes) in
        [("unique", &info.unique), ("key", &info.key), ("progress", &info.progress)]
    {
        if let Some(bytes) = bytes {
            put_bytes(&mut object, name, bytes);
        }
    }
    if with_data {
        put_bytes(&mut object, "data", &info.data);
        if let Some(result) = &info.result {
            put_bytes(&mut object, "result", result);
        }
        if !info.follow_ups.is_empty() {
            object.insert("follow_ups".into(), follow_ups::to_json(&info.follow_ups));
        }
    }
    Value::Object(object)
}

/// The counts of a queue.
pub(crate) fn counts(queue: &str, counts: &Counts) -> Value {
    let mut value = json!(leaseq_report::QueueCounts::from(counts));
    value["queue"] = json!(queue);
    value
}

/// A duration as JSON: whole milliseconds.
pub(crate) fn ms(duration: Option<Duration>) -> Value {
    duration.map_or(Value::Null, |duration| whole_ms(duration).into())
}
