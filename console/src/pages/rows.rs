//! Items in lists. They show no data.

use leaseq::{ItemInfo, State};
use leaseq_report::{escaped, text};

use crate::app::App;
use crate::format::Moment;
use crate::links;

/// The longest error in a list, in characters.
const MAX_ERROR: usize = 160;

pub(crate) struct ItemRow {
    pub(crate) id: String,
    pub(crate) link: String,
    /// What a form sends to name exactly this generation.
    pub(crate) value: String,
    pub(crate) priority: u8,
    pub(crate) attempts: u32,
    pub(crate) max_attempts: Option<u32>,
    /// The time by which the state is ordered.
    pub(crate) at: Moment,
    pub(crate) error: String,
    pub(crate) key: Option<String>,
    pub(crate) cancel_requested: bool,
}

impl ItemRow {
    pub(crate) fn new(app: &App, queue: &str, info: &ItemInfo) -> ItemRow {
        let error = app.redaction.error(&info.last_error, &info.data);
        let line: String =
            error.lines().next().unwrap_or_default().chars().take(MAX_ERROR).collect();
        ItemRow {
            id: text::id(&info.id),
            link: app.link_to(&links::item(queue, &info.id)),
            value: format!("{} {}", info.generation, text::id(&info.id)),
            priority: info.priority,
            attempts: info.failures + info.expiries,
            max_attempts: info.max_attempts,
            at: Moment::new(info.at.unwrap_or(info.added_at)),
            error: escaped(&line).into_owned(),
            key: info.key.as_ref().map(|key| text::id(key)),
            cancel_requested: info.cancel_requested,
        }
    }
}

/// What the time of a state means.
pub(crate) fn time_heading(state: State) -> &'static str {
    match state {
        State::Delayed => "Due",
        State::Leased => "Lease ends",
        State::Dead => "Died",
        State::Completed | State::Cancelled => "Kept until",
        _ => "Added",
    }
}

/// What comes first in a list of this state.
pub(crate) fn order_name(state: State, reverse: bool) -> &'static str {
    match (state, reverse) {
        (State::Ready | State::Held, false) => "Next in line first",
        (State::Ready | State::Held, true) => "Last in line first",
        (State::Delayed | State::Leased, false) => "Soonest first",
        (_, false) => "Oldest first",
        (_, true) => "Latest first",
    }
}
