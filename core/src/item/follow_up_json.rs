//! Follow-ups as JSON, for other languages and for files.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::new_item::{FollowUp, Item, On};
use crate::name::QueueName;
use crate::options::ms;
use crate::registry::{from_hex, id_fields};
use crate::{Error, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    on: On,
    #[serde(default)]
    with_trigger: bool,
    item: ItemFields,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemFields {
    id: Option<String>,
    id_hex: Option<String>,
    data: Option<String>,
    data_hex: Option<String>,
    queue: Option<String>,
    #[serde(default)]
    priority: u8,
    #[serde(default)]
    delay_ms: u64,
    due_at: Option<Timestamp>,
    max_attempts: Option<u32>,
    #[serde(default)]
    retain_ms: u64,
    unique: Option<String>,
    unique_hex: Option<String>,
    #[serde(default)]
    unique_for_ms: u64,
    #[serde(default)]
    replace: bool,
    #[serde(default)]
    successor: bool,
    key: Option<String>,
    key_hex: Option<String>,
    expires_in_ms: Option<u64>,
    #[serde(default)]
    follow_ups: Vec<Fields>,
}

impl FollowUp {
    /// Follow-ups as a JSON array: each an object with `on`, `item`, and `with_trigger` if it gives its trigger. The item
    /// has `id` and `data` (`id_hex` and `data_hex` if they are no text) and those of `queue`, `priority`, `delay_ms`,
    /// `due_at`, `max_attempts`, `retain_ms`, `unique`, `unique_for_ms`, `replace`, `successor`, `key`, `expires_in_ms`
    /// and `follow_ups` that it was given.
    pub fn all_to_json(follow_ups: &[FollowUp]) -> String {
        array(follow_ups).to_string()
    }

    /// Reads what [`all_to_json`](FollowUp::all_to_json) has written.
    ///
    /// # Errors
    /// `Invalid` for other text. Limits are checked when the item that has them is added.
    pub fn all_from_json(text: &str) -> Result<Vec<FollowUp>> {
        let wrong = |error| Error::invalid(format_args!("follow-ups cannot be read: {error}"));
        let fields: Vec<Fields> = serde_json::from_str(text).map_err(wrong)?;
        fields.into_iter().map(read).collect()
    }
}

fn array(follow_ups: &[FollowUp]) -> Value {
    let one = |FollowUp { on, item, with_trigger }: &FollowUp| {
        let mut fields = json!({ "on": on, "item": object(item) });
        if *with_trigger {
            fields["with_trigger"] = true.into();
        }
        fields
    };
    follow_ups.iter().map(one).collect()
}

fn object(item: &Item) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    let (unique, key) = (item.unique.as_ref(), item.key.as_ref());
    let all =
        [("id", Some(&item.id)), ("data", Some(&item.data)), ("unique", unique), ("key", key)];
    for (name, bytes) in all {
        match bytes.map(id_fields) {
            Some((Some(text), _)) => put(name, text.into()),
            Some((None, hex)) => put(&format!("{name}_hex"), hex.into()),
            None => {}
        }
    }
    let due_at = item.due_at.and_then(|at| Timestamp::try_from(at).ok());
    let times = [
        ("delay_ms", ms(item.delay)),
        ("retain_ms", ms(item.retain)),
        ("unique_for_ms", ms(item.unique_for)),
        ("expires_in_ms", item.expires_in.map_or(0, ms)),
        ("priority", item.priority.into()),
        ("max_attempts", item.max_attempts.unwrap_or(0).into()),
    ];
    for (name, number) in times.into_iter().filter(|(_, number)| *number > 0) {
        put(name, number.into());
    }
    for (name, value) in [
        ("due_at", due_at.map(|at| at.to_string().into())),
        ("queue", item.queue.as_ref().map(|queue| queue.as_str().into())),
        ("replace", item.replace.then_some(Value::Bool(true))),
        ("successor", item.successor.then_some(Value::Bool(true))),
        ("follow_ups", (!item.follow_ups.is_empty()).then(|| array(&item.follow_ups))),
    ] {
        value.into_iter().for_each(|value| put(name, value));
    }
    Value::Object(object)
}

fn read(Fields { on, with_trigger, item: fields }: Fields) -> Result<FollowUp> {
    let needed = |name: &str, text, hex| {
        bytes(name, text, hex)?
            .ok_or_else(|| Error::invalid(format_args!("a follow-up has no {name}")))
    };
    let mut item = Item::new([]);
    item.id = needed("id", fields.id, fields.id_hex)?;
    item.data = needed("data", fields.data, fields.data_hex)?;
    item.unique = bytes("unique", fields.unique, fields.unique_hex)?;
    item.key = bytes("key", fields.key, fields.key_hex)?;
    item.queue = fields.queue.as_deref().map(QueueName::new).transpose()?;
    item.priority = fields.priority;
    item.max_attempts = fields.max_attempts;
    item.replace = fields.replace;
    item.successor = fields.successor;
    item.delay = Duration::from_millis(fields.delay_ms);
    item.due_at = fields.due_at.map(Into::into);
    item.retain = Duration::from_millis(fields.retain_ms);
    item.unique_for = Duration::from_millis(fields.unique_for_ms);
    item.expires_in = fields.expires_in_ms.map(Duration::from_millis);
    item.follow_ups = fields.follow_ups.into_iter().map(read).collect::<Result<_>>()?;
    Ok(FollowUp { on, item, with_trigger })
}

fn bytes(name: &str, text: Option<String>, hex: Option<String>) -> Result<Option<Bytes>> {
    match (text, hex) {
        (text, None) => Ok(text.map(Bytes::from)),
        (None, Some(hex)) => from_hex(&hex)
            .map(Some)
            .ok_or_else(|| Error::invalid(format_args!("{name}_hex {hex:?} is not hexadecimal"))),
        _ => Err(Error::invalid(format_args!("a follow-up has both {name} and {name}_hex"))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn follow_ups_come_back_from_json() {
        let time = Duration::from_millis;
        let last = Item::new([0xff])
            .with_id([0xfe])
            .unique([0xfd])
            .key([0xfc])
            .due_at(SystemTime::UNIX_EPOCH + time(1_800_000_000_001));
        let item = Item::new("data\0").with_id("id").priority(3).max_attempts(7).retain(time(9));
        let item = item
            .unique("u")
            .unique_for(time(5))
            .replace()
            .successor()
            .key("k")
            .queue("q")
            .expires_in(time(70));
        let item = item.delay(time(60)).follow_up(FollowUp::new(On::Dead, last).with_trigger());
        let all = [FollowUp::new(On::Completed, item), FollowUp::new(On::Ended, Item::new(""))];
        let text = FollowUp::all_to_json(&all);
        assert_eq!(FollowUp::all_from_json(&text).unwrap(), all, "{text}");
        assert_eq!(FollowUp::all_to_json(&[]), "[]");
        for wrong in [
            "",
            "{}",
            "[{}]",
            r#"[{"on":"never","item":{"id":"a","data":"b"}}]"#,
            r#"[{"on":"dead","item":{"id":"a"}}]"#,
            r#"[{"on":"dead","item":{"id":"a","id_hex":"61","data":"b"}}]"#,
            r#"[{"on":"dead","item":{"id_hex":"6","data":"b"}}]"#,
            r#"[{"on":"dead","item":{"id":"a","data":"b","colour":1}}]"#,
            r#"[{"on":"dead","item":{"id":"a","data":"b","queue":"{}"}}]"#,
        ] {
            assert!(FollowUp::all_from_json(wrong).is_err(), "{wrong}");
        }
    }
}
