//! The states of an item.

use std::str::FromStr;

use serde::Serialize;

use crate::error::show_id;
use crate::{Error, Result};

/// The state an item is in; exactly one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// Can be leased.
    Ready,
    /// Will be ready when its delay ends.
    Delayed,
    /// Leased, or expired and not yet reclaimed.
    Leased,
    /// Out of attempts, or failed for good; waits for `requeue` or `remove`.
    Dead,
    /// Completed, and kept for the time that it is retained.
    Completed,
    /// Cancelled, and kept for the time that it is retained.
    Cancelled,
    /// Would be ready, but as many items of its [key](crate::Item::key) are leased as may be.
    Held,
}

impl State {
    /// Every state.
    pub const ALL: [State; 7] = [
        State::Ready,
        State::Delayed,
        State::Leased,
        State::Dead,
        State::Completed,
        State::Cancelled,
        State::Held,
    ];

    /// Whether an item in this state has ended, and is only kept.
    pub fn is_retained(self) -> bool {
        matches!(self, State::Completed | State::Cancelled)
    }

    /// The state's name: `ready`, `delayed`, `leased`, `dead`, `completed`, `cancelled` or `held`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Delayed => "delayed",
            State::Leased => "leased",
            State::Dead => "dead",
            State::Completed => "completed",
            State::Cancelled => "cancelled",
            State::Held => "held",
        }
    }
}

impl FromStr for State {
    type Err = Error;

    /// The state of this name. `Invalid` if there is none.
    fn from_str(name: &str) -> Result<Self> {
        State::ALL.into_iter().find(|state| state.as_str() == name).ok_or_else(|| {
            let names = State::ALL.map(State::as_str).join(", ");
            Error::invalid(format_args!("state {} is not one of {names}", show_id(name.as_bytes())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_state_is_read_from_its_name() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse::<State>().unwrap(), state);
        }
        for name in ["", "Ready", " dead", "lost"] {
            let error = name.parse::<State>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
            assert!(
                error
                    .to_string()
                    .contains("ready, delayed, leased, dead, completed, cancelled, held"),
                "{error}"
            );
        }
    }
}
