//! What has happened to an item: from the events of its queue where they are kept, else from what the item keeps.

use std::collections::HashSet;

use leaseq::options::MAX_EVENTS_PAGE;
use leaseq::{
    Event, EventCursor, EventKind, EventsOptions, ItemInfo, RunningItem, State, WorkQueue,
    WorkerInfo,
};
use leaseq_report::escaped;
use leaseq_report::text::rough;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::format::{Moment, number};

/// A line of the timeline.
pub(super) struct Entry {
    /// How it looks, and what it says.
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) at: Option<Moment>,
}

impl Entry {
    fn new(kind: &'static str, text: impl Into<String>, at: Option<Moment>) -> Entry {
        Entry { kind, text: text.into(), at }
    }
}

/// The events of an item.
pub(super) struct ItemEvents {
    events: Vec<Event>,
    pub(super) examined: u64,
    /// Where reading can go on.
    pub(super) next: Option<EventCursor>,
}

impl ItemEvents {
    /// Reads the events behind the cursor; without one, from the oldest that is kept on. `None`: the queue keeps none.
    /// A queue may keep a million, and they are not found by item, so it may not read all.
    pub(super) async fn read(
        queue: &WorkQueue,
        info: &ItemInfo,
        after: Option<EventCursor>,
    ) -> Result<Option<ItemEvents>, Failure> {
        let mut generations = HashSet::from([info.generation.clone()]);
        let mut found = ItemEvents { events: Vec::new(), examined: 0, next: after };
        let mut budget = Budget::new();
        let goes_on = found.next.is_some();
        loop {
            let options = EventsOptions::new().limit(MAX_EVENTS_PAGE).after(found.next.take());
            let page = queue.events(options).await?;
            let count = page.events.len() as u64;
            let has_time = budget.spend(count);
            for event in page.events {
                // Events of leases have only the generation, which an event before them has with the id.
                let is_named = event.id.as_ref() == Some(&info.id);
                if is_named {
                    generations.insert(event.generation.clone());
                }
                if is_named || generations.contains(&event.generation) {
                    found.events.push(event);
                }
            }
            if count == 0 {
                break;
            }
            found.next = Some(page.cursor);
            found.examined = budget.examined;
            if !has_time {
                return Ok(Some(found));
            }
        }
        found.next = None;
        // Whoever goes on may find that the last page had reached the end.
        Ok((goes_on || found.examined > 0).then_some(found))
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        self.events.iter().map(|event| {
            let (kind, text) = match event.kind {
                EventKind::Added => ("added", "Added"),
                EventKind::Leased => ("leased", "Leased"),
                EventKind::Completed => ("completed", "Completed"),
                EventKind::Failed => ("failed", "Lease failed"),
                EventKind::Expired => ("expired", "Lease expired"),
                EventKind::Released => ("released", "Lease released"),
                EventKind::Dead => ("dead", "Dead"),
                EventKind::Requeued => ("added", "Requeued"),
                EventKind::Removed => ("cancelled", "Removed"),
                EventKind::Replaced => ("cancelled", "Replaced"),
                EventKind::Cancelled => ("cancelled", "Cancelled"),
                EventKind::Revised => ("added", "Revised"),
                _ => ("added", "An event of a newer version"),
            };
            let text = match event.attempt {
                Some(attempt) => format!("{text}, attempt {attempt}"),
                None => text.to_owned(),
            };
            Entry::new(kind, text, Some(Moment::new(event.at)))
        })
    }

    fn ends_with(&self, kind: EventKind) -> bool {
        self.events.last().is_some_and(|event| event.kind == kind)
    }
}

pub(super) fn timeline(
    info: &ItemInfo,
    events: Option<&ItemEvents>,
    holder: Option<(&WorkerInfo, &RunningItem)>,
) -> Vec<Entry> {
    let events = events.filter(|events| !events.events.is_empty());
    let mut entries = Vec::new();
    if events.is_none_or(|events| events.events[0].kind != EventKind::Added) {
        entries.push(Entry::new("added", "Added", Some(Moment::new(info.added_at))));
    }
    match events {
        Some(events) => {
            if !entries.is_empty() {
                entries.push(Entry::new("more", "Earlier events are not kept, or not read", None));
            }
            entries.extend(events.entries());
        }
        None => entries.extend(kept(info)),
    }
    if info.cancel_requested {
        entries.push(Entry::new("cancelled", "Cancellation requested", None));
    }
    let is_last = |kind| events.is_some_and(|events| events.ends_with(kind));
    let at = info.at.map(Moment::new);
    let ended = info.ended_at.map(Moment::new);
    entries.extend(match info.state {
        State::Leased => {
            let by = holder.map_or_else(String::new, |(worker, item)| {
                let name = escaped(worker.beat.worker.name()).into_owned();
                format!(" by {name}, running for {}", rough(item.elapsed))
            });
            Some(Entry::new("leased", format!("Leased{by}; the lease ends"), at))
        }
        State::Dead => (!is_last(EventKind::Dead)).then(|| Entry::new("dead", "Dead", at)),
        State::Completed => {
            (!is_last(EventKind::Completed)).then(|| Entry::new("completed", "Completed", ended))
        }
        State::Cancelled => {
            (!is_last(EventKind::Cancelled)).then(|| Entry::new("cancelled", "Cancelled", ended))
        }
        State::Delayed => Some(Entry::new("delayed", "Waits; due", at)),
        State::Ready => Some(Entry::new("ready", "Ready to be leased", None)),
        _ => Some(Entry::new("held", "Held until fewer items of its key are leased", None)),
    });
    entries
}

/// What the item itself keeps.
fn kept(info: &ItemInfo) -> Vec<Entry> {
    let mut entries = Vec::new();
    let earlier = u64::from(info.failures) + u64::from(info.expiries);
    let kept = info.endings.len() as u64;
    if earlier > kept {
        let text = format!("{} earlier leases, which are not kept", number(earlier - kept));
        entries.push(Entry::new("more", text, None));
    }
    for ending in &info.endings {
        let (kind, text) = match ending.kind.as_str() {
            "expired" => ("expired", "Lease expired"),
            _ => ("failed", "Lease failed"),
        };
        entries.push(Entry::new(kind, text, Some(Moment::new(ending.at))));
    }
    if let Some(releases) = &info.releases {
        let reason = match releases.reason.is_empty() {
            true => String::new(),
            false => format!(": {}", escaped(&releases.reason)),
        };
        let text = format!("Released {} times{reason}, since", releases.count);
        entries.push(Entry::new("released", text, Some(Moment::new(releases.first_at))));
    }
    entries
}
