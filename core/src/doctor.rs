//! How durable a queue is, and what to change about it.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// What a crash of the server may lose. `docs/guarantees.md` explains the guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Durability {
    /// Nothing that was acknowledged.
    Full,
    /// The operations of the last window: with `appendfsync everysec` or `synchronous=normal`, or
    /// when another server takes over.
    Window,
    /// Unknown: the server does not show its settings.
    Unknown,
    /// All operations since the last snapshot.
    Snapshot,
    /// Everything.
    Nothing,
}

impl Durability {
    /// The level as a word: `full`, `window`, `unknown`, `snapshot`, `nothing`.
    pub fn as_str(self) -> &'static str {
        match self {
            Durability::Full => "full",
            Durability::Window => "window",
            Durability::Unknown => "unknown",
            Durability::Snapshot => "snapshot",
            Durability::Nothing => "nothing",
        }
    }

    /// The level as a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Durability::Full => "guarantees 1–5 hold across a crash of the server",
            Durability::Window => {
                "after a crash of the server, or when another takes over, at most the operations of \
                 the last window are lost or repeated"
            }
            Durability::Unknown => {
                "the server does not tell how often it writes to the disk, so nothing can be said"
            }
            Durability::Snapshot => {
                "a crash of the server loses or repeats all operations since its last snapshot"
            }
            Durability::Nothing => "a crash or restart of the server loses everything",
        }
    }
}

/// A finding, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// True if a guarantee is at risk; false for a hint.
    pub problem: bool,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub change: String,
}

/// What [`Client::doctor`](crate::Client::doctor) found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The engine and its version: `Redis 7.0.15`. On a Cluster, that of its first node.
    pub engine: String,
    /// What a crash may lose: the worst of all servers.
    pub durability: Durability,
    /// The settings that were read, by name. Never a password.
    pub settings: BTreeMap<String, String>,
    /// What to change, the worst first; empty if nothing.
    pub advice: Vec<Advice>,
}

impl Diagnosis {
    pub(crate) fn new(engine: String) -> Self {
        let (settings, advice) = (BTreeMap::new(), Vec::new());
        Diagnosis { engine, durability: Durability::Full, settings, advice }
    }

    /// True if no guarantee is at risk.
    pub fn is_fine(&self) -> bool {
        self.advice.iter().all(|advice| !advice.problem)
    }

    pub(crate) fn at_most(&mut self, durability: Durability) {
        self.durability = self.durability.max(durability);
    }

    pub(crate) fn problem(&mut self, found: impl Into<String>, change: impl Into<String>) {
        let (found, change) = (found.into(), change.into());
        self.advice.push(Advice { problem: true, found, change });
    }

    pub(crate) fn hint(&mut self, found: impl Into<String>, change: impl Into<String>) {
        let (found, change) = (found.into(), change.into());
        self.advice.push(Advice { problem: false, found, change });
    }

    pub(crate) fn sort(&mut self) {
        self.advice.sort_by_key(|advice| !advice.problem);
    }
}

impl Serialize for Diagnosis {
    /// With [`Durability::meaning`] as `meaning` and [`is_fine`](Diagnosis::is_fine) as `fine`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut diagnosis = serializer.serialize_struct("Diagnosis", 6)?;
        diagnosis.serialize_field("engine", &self.engine)?;
        diagnosis.serialize_field("durability", &self.durability)?;
        diagnosis.serialize_field("meaning", self.durability.meaning())?;
        diagnosis.serialize_field("fine", &self.is_fine())?;
        diagnosis.serialize_field("settings", &self.settings)?;
        diagnosis.serialize_field("advice", &self.advice)?;
        diagnosis.end()
    }
}
