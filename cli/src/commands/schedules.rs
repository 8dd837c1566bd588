//! `schedules`: what is added at certain times.

use clap::Args;
use leaseq::{Missed, ScheduleInfo};
use serde_json::{Map, Value, json};

use crate::failure::{Ended, NO};
use crate::global::Shared;
use crate::output::Cell;
use crate::text::{exact_time, put_bytes, whole_ms};

#[derive(Debug, Args)]
pub(crate) struct SchedulesArgs {
    /// The queue [default: all queues]
    pub(crate) queue: Option<String>,
}

pub(crate) async fn schedules(shared: &Shared, args: SchedulesArgs) -> Ended {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for name in shared.names(args.queue.as_slice()).await? {
        for info in shared.queue(&name).await?.schedules().await? {
            rows.push(row(&name, &info));
            values.push(value(&name, &info));
        }
    }
    if shared.output.json {
        shared.output.document(&Value::Array(values))?;
    } else {
        let headings = ["QUEUE", "NAME", "RULE", "NEXT", "", "OWNER", "LAST ITEM"];
        shared.output.rows(&headings, &rows)?;
    }
    Ok(if rows.is_empty() { NO } else { 0 })
}

fn row(queue: &str, info: &ScheduleInfo) -> Vec<Cell> {
    vec![
        Cell::text(queue),
        Cell::text(&info.name),
        Cell::text(info.rule.to_string()),
        Cell::time(info.next),
        if info.paused { Cell::Word("paused".into(), true) } else { Cell::word("") },
        Cell::text(&info.owner),
        info.last_id.as_ref().map_or(Cell::Empty, |id| Cell::Id(id.to_vec())),
    ]
}

fn value(queue: &str, info: &ScheduleInfo) -> Value {
    let missed = match info.missed {
        Missed::Skip => json!("skip"),
        Missed::One => json!("one"),
        Missed::All(most) => json!(most),
        _ => Value::Null,
    };
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| drop(object.insert(name.into(), value));
    put("queue", json!(queue));
    put("name", json!(info.name));
    put("rule", json!(info.rule.to_string()));
    put("next_at", json!(info.next.map(exact_time)));
    put("paused", json!(info.paused));
    put("owner", json!(info.owner));
    put("revision", json!(info.revision));
    put("missed", missed);
    put("grace_ms", json!(info.grace.map(whole_ms)));
    put("overlap", json!(info.overlap));
    if let Some(id) = &info.last_id {
        put_bytes(&mut object, "last_id", id);
    }
    put_bytes(&mut object, "data", info.item.data());
    Value::Object(object)
}
