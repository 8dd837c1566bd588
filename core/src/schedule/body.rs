//! What a schedule is stored as: JSON, a line feed, and the data of its item. Engines do not read it.

use std::time::Duration;

use bytes::Bytes;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use serde::{Deserialize, Serialize};

use super::rule::ScheduleRule;
use super::types::{Missed, Schedule, ScheduleInfo};
use crate::engine::StoredSchedule;
use crate::item::Item;
use crate::options::ms;
use crate::pause::Begun;
use crate::unix_time::from_ms;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    Active,
    Paused,
    /// Removed: only its revision is kept, so that an older deployment cannot put it again.
    Removed,
}

/// A schedule as it is stored. Times are in ms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) standing: Standing,
    /// When it was removed, on the engine's clock.
    pub(super) removed: Option<u64>,
    /// When it was paused, by whom and why, as [`PauseNote::at`](crate::pause::PauseNote::at) has written it.
    pub(super) pause: Option<String>,
    /// When it would have been due when it was paused: so it keeps its phase.
    pub(super) due: Option<u64>,
    pub(super) schedule: Schedule,
}

#[derive(Serialize, Deserialize)]
struct Head {
    standing: Standing,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    removed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due: Option<u64>,
    rule: String,
    owner: String,
    revision: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grace: Option<u64>,
    missed: StoredMissed,
    overlap: bool,
    item: ItemHead,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredMissed {
    Skip,
    One,
    All(u32),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ItemHead {
    priority: u8,
    delay: u64,
    max_attempts: Option<u32>,
    retain: u64,
    /// Percent-encoded: it may be any bytes.
    unique: Option<String>,
    /// As `unique`.
    key: Option<String>,
    unique_for: u64,
    replace: bool,
    successor: bool,
    expires_in: Option<u64>,
}

impl Body {
    /// A schedule that is put for the first time.
    pub(super) fn active(schedule: Schedule) -> Self {
        Body { standing: Standing::Active, removed: None, pause: None, due: None, schedule }
    }

    pub(super) fn write(&self) -> Bytes {
        let Schedule { name: _, rule, item, owner, revision, missed, grace, overlap } =
            &self.schedule;
        let head = Head {
            standing: self.standing,
            removed: self.removed,
            pause: self.pause.clone(),
            due: self.due,
            rule: rule.to_string(),
            owner: owner.clone(),
            revision: *revision,
            grace: grace.map(ms),
            missed: match missed {
                Missed::Skip => StoredMissed::Skip,
                Missed::One => StoredMissed::One,
                Missed::All(most) => StoredMissed::All(*most),
            },
            overlap: *overlap,
            item: ItemHead {
                priority: item.priority,
                delay: ms(item.delay),
                max_attempts: item.max_attempts,
                retain: ms(item.retain),
                unique: item.unique.as_ref().map(encode),
                key: item.key.as_ref().map(encode),
                unique_for: ms(item.unique_for),
                replace: item.replace,
                successor: item.successor,
                expires_in: item.expires_in.map(ms),
            },
        };
        // Numbers and texts can always be written.
        let mut body = serde_json::to_vec(&head).unwrap_or_default();
        body.push(b'\n');
        body.extend_from_slice(&item.data);
        body.into()
    }

    /// `None` if it cannot be read.
    pub(super) fn read(stored: &StoredSchedule) -> Option<Body> {
        let end = memchr::memchr(b'\n', &stored.body)?;
        let head: Head = serde_json::from_slice(&stored.body[..end]).ok()?;
        let mut item = Item::new([]);
        item.data = stored.body.slice(end + 1..);
        item.priority = head.item.priority;
        item.delay = Duration::from_millis(head.item.delay);
        item.max_attempts = head.item.max_attempts;
        item.retain = Duration::from_millis(head.item.retain);
        item.unique = head.item.unique.as_deref().map(decode);
        item.key = head.item.key.as_deref().map(decode);
        item.unique_for = Duration::from_millis(head.item.unique_for);
        item.replace = head.item.replace;
        item.successor = head.item.successor;
        item.expires_in = head.item.expires_in.map(Duration::from_millis);
        let schedule = Schedule {
            name: stored.name.clone(),
            rule: head.rule.parse().ok()?,
            item,
            owner: head.owner,
            revision: head.revision,
            missed: match head.missed {
                StoredMissed::Skip => Missed::Skip,
                StoredMissed::One => Missed::One,
                StoredMissed::All(most) => Missed::All(most),
            },
            grace: head.grace.map(Duration::from_millis),
            overlap: head.overlap,
        };
        let Head { standing, removed, pause, due, .. } = head;
        Some(Body { standing, removed, pause, due, schedule })
    }

    pub(super) fn rule(&self) -> &ScheduleRule {
        &self.schedule.rule
    }

    /// Whether this and the other one are the same, whatever the ids of their items.
    pub(super) fn is_same(&self, other: &Body) -> bool {
        self.write() == other.write()
    }

    pub(super) fn info(self, stored: StoredSchedule) -> ScheduleInfo {
        let Schedule { name, rule, item, owner, revision, missed, grace, overlap } = self.schedule;
        let begun = self.pause.as_deref().map(Begun::read).unwrap_or_default();
        ScheduleInfo {
            name,
            rule,
            data: item.data,
            priority: item.priority,
            delay: item.delay,
            max_attempts: item.max_attempts,
            retain: item.retain,
            unique: item.unique,
            unique_for: item.unique_for,
            replace: item.replace,
            successor: item.successor,
            key: item.key,
            expires_in: item.expires_in,
            owner,
            revision,
            missed,
            grace,
            overlap,
            paused: self.standing == Standing::Paused,
            paused_at: begun.at,
            paused_by: begun.by,
            pause_reason: begun.reason,
            next: stored.next_ms.map(from_ms),
            last_id: stored.last_id,
        }
    }
}

fn encode(key: &Bytes) -> String {
    percent_encode(key, NON_ALPHANUMERIC).to_string()
}

fn decode(key: &str) -> Bytes {
    percent_decode_str(key).collect::<Vec<u8>>().into()
}
