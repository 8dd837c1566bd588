//! What was asked for, and what was seen of it. Items are known by their data, which names them.

use std::collections::BTreeMap;

use super::super::history::{Outcome, Span, Time};

/// How an item or a group ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Completed,
    Dead,
    Ended,
}

impl On {
    pub(super) fn word(self) -> &'static str {
        match self {
            On::Completed => "completed",
            On::Dead => "dead",
            On::Ended => "ended",
        }
    }
}

/// An item that is to be added when another one, or a group, ends so.
#[derive(Debug, Clone)]
pub(super) struct Fire {
    pub(super) on: On,
    pub(super) name: String,
}

/// An item that may be added.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) queue: String,
    /// What the add said. `None`: something else adds it.
    pub(super) added: Option<Outcome>,
    /// Whether its attempts are limited, so that it may die by itself.
    pub(super) limited: bool,
    pub(super) fires: Vec<Fire>,
}

/// A group that was sealed.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) members: Vec<String>,
    pub(super) fires: Vec<Fire>,
}

/// How a holder has ended an item, or may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) span: Span,
    /// Completed, or dead.
    pub(super) on: On,
    /// `Yes` or `Unknown`.
    pub(super) outcome: Outcome,
}

/// A lease that somebody received.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) queue: String,
    pub(super) id: String,
    pub(super) generation: String,
    /// When its answer was there.
    pub(super) at: Time,
    /// The id of what has added it, and the result of that.
    pub(super) trigger: Option<(String, Option<String>)>,
    /// What was done with it.
    pub(super) ends: Vec<End>,
}

/// What is left of an item in the end.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) name: String,
    pub(super) queue: String,
    pub(super) id: String,
    pub(super) is_dead: bool,
}

#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) plans: BTreeMap<String, Plan>,
    pub(super) groups: Vec<Group>,
    pub(super) seen: BTreeMap<String, Vec<Seen>>,
    pub(super) left: Vec<Left>,
    /// How many items all queues have counted; `None` if they may have lost count.
    pub(super) added: Option<u64>,
}

/// The result with which the item of this name is completed.
pub(super) fn result_of(name: &str) -> String {
    format!("result of {name}")
}
