//! What the pages of a queue have in common.

use leaseq::{Counts, State};

use crate::app::App;
use crate::format::number;
use crate::links;

/// The title of a queue, its states and the ways to its pages.
pub(crate) struct QueueHead {
    pub(crate) name: String,
    /// The address of the queue; those of its pages begin so.
    pub(crate) path: String,
    pub(crate) paused: bool,
    pub(crate) rate_limited: bool,
    /// Which of its pages this is.
    pub(crate) tab: &'static str,
    pub(crate) states: Vec<StateTile>,
}

pub(crate) struct StateTile {
    pub(crate) state: &'static str,
    pub(crate) count: String,
    pub(crate) empty: bool,
    pub(crate) current: bool,
}

impl QueueHead {
    pub(crate) fn new(app: &App, name: &str, counts: &Counts, tab: &'static str) -> QueueHead {
        let tile = |state: State| {
            let count = counts.of(state);
            StateTile {
                state: state.as_str(),
                count: number(count),
                empty: count == 0,
                current: false,
            }
        };
        QueueHead {
            name: name.into(),
            path: app.link_to(&links::queue(name)),
            paused: counts.paused,
            rate_limited: counts.rate_limited,
            tab,
            states: State::ALL.into_iter().map(tile).collect(),
        }
    }

    /// Marks the state that the page shows.
    pub(crate) fn at(mut self, state: State) -> Self {
        for tile in &mut self.states {
            tile.current = tile.state == state.as_str();
        }
        self
    }
}
