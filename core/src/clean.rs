//! The reports of cleans.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::serialize;

/// What a light clean did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LightReport {
    /// Delayed items that became ready.
    pub promoted: u64,
    /// Expired leases that were reclaimed.
    pub expired: u64,
    /// How many of those items are dead now, at their limit of attempts.
    pub died: u64,
    /// Dead and retained items that were removed because the settings of the queue allow no more, or none so old.
    pub removed: u64,
    /// When the next item is due or the next lease expires; `None` if there is neither.
    #[serde(rename = "next_in_ms", serialize_with = "serialize::ms")]
    pub next_in: Option<Duration>,
}

/// The result of a deep clean that may not have been due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeepClean {
    /// It was done.
    Done(DeepReport),
    /// Another cleaner is doing it, or has done it within the interval. Try again after this time.
    NotYet(Duration),
}

/// One way in which a queue can be damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Damage {
    /// An item without a state, as when a script died half-way. Mended: ready, at the front.
    Stray,
    /// An item in several states. Mended: keeps the first of leased, delayed, dead, completed, cancelled, held, ready.
    SeveralStates,
    /// An item that is ready twice. Mended: once.
    Doubled,
    /// An entry of a state whose item does not exist. Mended: dropped.
    Dangling,
    /// An id without an item. Mended: dropped.
    DanglingId,
    /// An item that its id does not point to. Mended: the id points to it again. If the id points to a later
    /// item, it is only reported; without a state, the item was never acknowledged, and is dropped.
    LostId,
    /// Details (priority, failures, …) kept for no item. Mended: dropped.
    DanglingDetails,
    /// Unreadable details. Mended: dropped.
    BadDetails,
    /// A lease or a delay that ends later than possible. Mended: ends now.
    BadTime,
    /// An unreadable item. Not mended: inspect it by hand.
    BadRecord,
    /// A count that differs from the number of items. Mended.
    BadCount,
    /// Settings that cannot be read, or are out of range. Mended: dropped.
    BadSettings,
    /// A unique key that its item has lost, or that nobody owns any more. Mended.
    BadUnique,
    /// What is kept for a key does not agree with its items. Mended.
    BadKey,
    /// An item of a queue that does not exist. Mended: deleted.
    Orphan,
    /// A key of a type that this library does not write. Not mended: inspect it by hand.
    WrongType,
}

impl Damage {
    /// The damage in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Damage::Stray => "items in no state",
            Damage::SeveralStates => "items in several states",
            Damage::Doubled => "items twice ready",
            Damage::Dangling => "entries without an item",
            Damage::DanglingId => "ids without an item",
            Damage::LostId => "items without their id",
            Damage::DanglingDetails => "details without an item",
            Damage::BadDetails => "unreadable details",
            Damage::BadTime => "deadlines out of range",
            Damage::BadRecord => "unreadable items",
            Damage::BadCount => "wrong counts",
            Damage::BadSettings => "unreadable settings",
            Damage::BadUnique => "unique keys of wrong items",
            Damage::BadKey => "keys that do not agree with their items",
            Damage::Orphan => "items of no queue",
            Damage::WrongType => "keys of a wrong type",
        }
    }
}

impl Serialize for Damage {
    /// As its [words](Damage::as_str).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a deep clean, or a check, found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeepReport {
    /// How many items were checked.
    pub items: u64,
    /// Idle lanes of clients that are gone. They are not damage.
    pub idle_lanes: u64,
    /// How often each damage was found; empty for a sound queue.
    pub found: BTreeMap<Damage, u64>,
    /// How often each damage was mended; always empty for a check.
    pub mended: BTreeMap<Damage, u64>,
    /// The first findings, one line each, at most 100.
    pub details: Vec<String>,
}

impl DeepReport {
    /// True if nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn note(
        &mut self,
        damage: Damage,
        times: u64,
        mended: bool,
        what: impl fmt::Display,
    ) {
        if times == 0 {
            return;
        }
        *self.found.entry(damage).or_default() += times;
        if mended {
            *self.mended.entry(damage).or_default() += times;
        }
        if self.details.len() < 100 {
            self.details.push(format!("{}: {what}", damage.as_str()));
        }
    }
}

impl Serialize for DeepReport {
    /// With [`is_sound`](DeepReport::is_sound) as `sound`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_struct("DeepReport", 6)?;
        report.serialize_field("sound", &self.is_sound())?;
        report.serialize_field("items", &self.items)?;
        report.serialize_field("idle_lanes", &self.idle_lanes)?;
        report.serialize_field("found", &self.found)?;
        report.serialize_field("mended", &self.mended)?;
        report.serialize_field("details", &self.details)?;
        report.end()
    }
}
