//! What the pages of a queue have in common.

use std::time::SystemTime;

use leaseq::{Counts, Settings, State, WorkQueue};
use leaseq_report::pause_note;

use crate::app::App;
use crate::failure::Failure;
use crate::format::{Moment, number};
use crate::links;

/// The title of a queue, its states and the ways to its pages.
pub(crate) struct QueueHead {
    pub(crate) name: String,
    /// The address of the queue; those of its pages begin so.
    pub(crate) path: String,
    pub(crate) paused: bool,
    /// Since when, until when, by whom and why; empty if it is not paused.
    pub(crate) pause: String,
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
    pub(crate) async fn of(
        app: &App,
        queue: &WorkQueue,
        counts: &Counts,
        tab: &'static str,
    ) -> Result<QueueHead, Failure> {
        let name = queue.name();
        let pause = match counts.paused {
            true => {
                let Settings { paused_at, paused_until, paused_by, pause_reason, .. } =
                    queue.settings().await?;
                pause(paused_at, paused_until, &paused_by, &pause_reason)
            }
            false => String::new(),
        };
        let tile = |state: State| {
            let count = counts.of(state);
            StateTile {
                state: state.as_str(),
                count: number(count),
                empty: count == 0,
                current: false,
            }
        };
        Ok(QueueHead {
            name: name.into(),
            path: app.link_to(&links::queue(name)),
            paused: counts.paused,
            pause,
            rate_limited: counts.rate_limited,
            tab,
            states: State::ALL.into_iter().map(tile).collect(),
        })
    }

    /// Marks the state that the page shows.
    pub(crate) fn at(mut self, state: State) -> Self {
        for tile in &mut self.states {
            tile.current = tile.state == state.as_str();
        }
        self
    }
}

/// `since 2027-01-15 08:00:00 UTC by ada@web-1: the disk is full`. Empty if nothing is known.
pub(crate) fn pause(
    at: Option<SystemTime>,
    until: Option<SystemTime>,
    by: &str,
    reason: &str,
) -> String {
    let time = |word: &str, at: Option<SystemTime>| {
        at.map_or(String::new(), |at| format!(" {word} {} UTC", Moment::new(at).exact()))
    };
    let shown = format!("{}{}{}", time("since", at), time("until", until), pause_note(by, reason));
    shown.trim_start().to_owned()
}
