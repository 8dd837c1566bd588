//! An event as a line.

use std::collections::{HashMap, VecDeque};
use std::time::SystemTime;

use bytes::Bytes;
use leaseq::{Event, EventKind, EventsPage};
use leaseq_report::escaped;
use serde_json::{Map, Value, json};

use crate::output::{Cell, Output};
use crate::text;

/// Ids that are remembered.
pub(super) const MOST_IDS: usize = 20_000;

/// The ids of generations, for events that do not have them. It forgets the first ones.
#[derive(Debug, Default)]
pub(super) struct Ids {
    known: HashMap<(usize, String), Bytes>,
    order: VecDeque<(usize, String)>,
}

impl Ids {
    /// Remembers the ids of the events of this queue.
    pub(super) fn see(&mut self, queue: usize, page: &EventsPage) {
        for event in &page.events {
            let Some(id) = &event.id else { continue };
            let key = (queue, event.generation.clone());
            if self.known.insert(key.clone(), id.clone()).is_none() {
                self.order.push_back(key);
            }
            if self.order.len() > MOST_IDS
                && let Some(first) = self.order.pop_front()
            {
                self.known.remove(&first);
            }
        }
    }

    pub(super) fn of(&self, queue: usize, event: &Event) -> Option<Bytes> {
        let known = || self.known.get(&(queue, event.generation.clone()));
        event.id.as_ref().or_else(known).cloned()
    }
}

/// Writes lines for people, pipes or programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) output: Output,
    /// The width of the longest name of a queue.
    pub(super) width: usize,
}

impl Form {
    pub(super) fn event(&self, queue: &str, event: &Event, id: Option<&Bytes>) -> String {
        if self.output.json {
            return object(queue, event, id);
        }
        if self.output.table {
            let id = match id {
                Some(id) => text::id(id),
                None => format!("(generation {})", escaped(&event.generation)),
            };
            let attempt = event.attempt.map_or(String::new(), |attempt| attempt.to_string());
            let bad =
                matches!(event.kind, EventKind::Failed | EventKind::Expired | EventKind::Dead);
            return self.for_people(event.at, queue, event.kind.as_str(), bad, &attempt, &id);
        }
        let cells = [
            Cell::Time(event.at),
            Cell::text(queue),
            Cell::Number(event.number),
            Cell::word(event.kind.as_str()),
            event.attempt.map_or(Cell::Empty, |attempt| Cell::Number(attempt.into())),
            id.map_or(Cell::Empty, |id| Cell::Id(id.to_vec())),
            Cell::text(&event.generation),
        ];
        cells.iter().map(Cell::exact).collect::<Vec<_>>().join("\t") + "\n"
    }

    /// Events are missing here.
    pub(super) fn gap(&self, queue: &str) -> String {
        if self.output.json {
            return json!({ "queue": queue, "gap": true }).to_string() + "\n";
        }
        if self.output.table {
            let why = "events before the next one are not kept any more";
            return self.for_people(SystemTime::now(), queue, "gap", true, "", why);
        }
        format!("\t{queue}\t\tgap\t\t\t\n")
    }

    fn for_people(
        &self,
        at: SystemTime,
        queue: &str,
        kind: &str,
        bad: bool,
        attempt: &str,
        rest: &str,
    ) -> String {
        let (at, width) = (text::local_time_ms(at), self.width);
        let kind = format!("{kind:<9}");
        let kind = match bad && self.output.color {
            true => format!("\x1b[31m{kind}\x1b[0m"),
            false => kind,
        };
        format!("{at}  {queue:<width$}  {kind}  {attempt:>3}  {rest}\n")
    }
}

/// The names of the fields are those of events everywhere; bytes are as the command line writes them.
fn object(queue: &str, event: &Event, id: Option<&Bytes>) -> String {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| drop(object.insert(name.into(), value));
    put("queue", json!(queue));
    put("number", json!(event.number));
    put("kind", json!(event.kind.as_str()));
    put("at", json!(text::exact_time(event.at)));
    put("generation", json!(event.generation));
    if let Some(attempt) = event.attempt {
        put("attempt", json!(attempt));
    }
    if let Some(id) = id {
        text::put_bytes(&mut object, "id", id);
    }
    escaped(&Value::Object(object).to_string()).into_owned() + "\n"
}
