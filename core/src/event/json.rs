//! Events as JSON, for other languages and for logs.

use jiff::Timestamp;
use serde::Serialize;

use super::{Event, EventCursor, EventsOptions, EventsPage};
use crate::registry::id_fields;
use crate::unix_time::to_ms;
use crate::{Error, Result, WorkQueue};

#[derive(Serialize)]
struct EventFields<'a> {
    number: u64,
    kind: &'static str,
    at: Timestamp,
    generation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Of an id that is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    id_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
}

#[derive(Serialize)]
struct PageFields<'a> {
    events: Vec<EventFields<'a>>,
    cursor: String,
    gap: bool,
}

impl<'a> From<&'a Event> for EventFields<'a> {
    fn from(event: &'a Event) -> Self {
        let (id, id_hex) = event.id.as_ref().map_or((None, None), id_fields);
        EventFields {
            number: event.number,
            kind: event.kind.as_str(),
            at: Timestamp::from_millisecond(to_ms(event.at) as i64).unwrap_or_default(),
            generation: &event.generation,
            id,
            id_hex,
            attempt: event.attempt,
        }
    }
}

fn write(fields: &impl Serialize) -> Result<String> {
    serde_json::to_string(fields)
        .map_err(|error| Error::internal(format_args!("events cannot be written: {error}")))
}

impl Event {
    /// A JSON object on one line: `number`, `kind`, `at`, `generation`, and `id` (or `id_hex`, if it is no text) and
    /// `attempt` if it has them.
    ///
    /// # Errors
    /// None is known.
    pub fn to_json(&self) -> Result<String> {
        write(&EventFields::from(self))
    }
}

impl WorkQueue {
    /// [`events`](WorkQueue::events) with a cursor as text, and a page as a JSON object.
    ///
    /// # Errors
    /// `Invalid` for text that is no cursor; as for [`events`](WorkQueue::events).
    #[doc(hidden)]
    pub async fn events_json(&self, after: Option<&str>, options: EventsOptions) -> Result<String> {
        let after: Option<EventCursor> = after.map(str::parse).transpose()?;
        let page: EventsPage = self.events(options.after(after)).await?;
        write(&PageFields {
            events: page.events.iter().map(EventFields::from).collect(),
            cursor: page.cursor.to_string(),
            gap: page.gap,
        })
    }
}
