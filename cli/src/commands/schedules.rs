//! `schedules`: what is added at certain times.

use clap::Args;
use leaseq::{GetOptions, Missed, ScheduleInfo};
use leaseq_report::{item_options, pause_note};
use serde_json::{Map, Value, json};

use crate::failure::{Ended, NO};
use crate::global::Shared;
use crate::output::Cell;
use crate::text::{exact_time, put_bytes, whole_ms};

#[derive(Debug, Args)]
pub(crate) struct SchedulesArgs {
    /// The queue [default: all queues]
    pub(crate) queue: Option<String>,
    /// With --json: show the data of their items, too
    #[arg(long, requires = "json")]
    data: bool,
}

pub(crate) async fn schedules(shared: &Shared, args: SchedulesArgs) -> Ended {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    let mut options = GetOptions::new();
    options.data = args.data;
    for name in shared.names(args.queue.as_slice()).await? {
        for info in shared.queue(&name).await?.schedules_with(options.clone()).await? {
            rows.push(row(&name, &info));
            values.push(value(&name, &info, args.data));
        }
    }
    if shared.output.json {
        shared.output.document(&Value::Array(values))?;
    } else {
        let headings = ["QUEUE", "NAME", "RULE", "NEXT", "", "OWNER", "LAST ITEM", "ITEM OPTIONS"];
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
        match info.paused {
            true => {
                let note = pause_note(&info.paused_by, &info.pause_reason);
                Cell::Word(format!("paused{note}"), true)
            }
            false => Cell::word(""),
        },
        Cell::text(&info.owner),
        info.last_id.as_ref().map_or(Cell::Empty, |id| Cell::Id(id.to_vec())),
        Cell::text(item_options(info)),
    ]
}

fn value(queue: &str, info: &ScheduleInfo, with_data: bool) -> Value {
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
    put("paused_at", json!(info.paused_at.map(exact_time)));
    put("paused_by", json!(info.paused_by));
    put("pause_reason", json!(info.pause_reason));
    put("owner", json!(info.owner));
    put("revision", json!(info.revision));
    put("missed", missed);
    put("grace_ms", json!(info.grace.map(whole_ms)));
    put("overlap", json!(info.overlap));
    put("priority", json!(info.priority));
    put("delay_ms", json!(whole_ms(info.delay)));
    put("max_attempts", json!(info.max_attempts));
    put("retain_ms", json!(whole_ms(info.retain)));
    put("unique_for_ms", json!(whole_ms(info.unique_for)));
    put("replace", json!(info.replace));
    put("successor", json!(info.successor));
    put("expires_in_ms", json!(info.expires_in.map(whole_ms)));
    let data = with_data.then_some(&info.data);
    for (name, bytes) in [
        ("last_id", info.last_id.as_ref()),
        ("unique", info.unique.as_ref()),
        ("key", info.key.as_ref()),
        ("data", data),
    ] {
        if let Some(bytes) = bytes {
            put_bytes(&mut object, name, bytes);
        }
    }
    Value::Object(object)
}
