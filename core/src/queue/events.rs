//! The events of the queue.

use std::time::{Duration, Instant};

use super::work_queue::WorkQueue;
use crate::Result;
use crate::engine::WhichEvents;
use crate::event::{EventsOptions, EventsPage};

/// The pauses between two looks of a call that waits.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

impl WorkQueue {
    /// Reads what has changed in the queue, in order, if its [settings](crate::SettingsChange::events) keep that. A page
    /// begins behind the cursor of the one before it; without a cursor, with the oldest event that is kept. Each event
    /// is in exactly one page of a reader that goes on from cursor to cursor, unless there is a
    /// [gap](EventsPage::gap): the reader was slower than the queue, the queue was dropped, or its events were switched
    /// off in between.
    ///
    /// With [`wait`](EventsOptions::wait) a call waits until there is an event: it looks up to four times a second. An
    /// empty page means that there was none. A queue that keeps no events has none.
    ///
    /// # Errors
    /// `Invalid` for a limit outside 1 to 1,000; see [`WorkQueue`].
    pub async fn events(&self, options: EventsOptions) -> Result<EventsPage> {
        let mut after = options.validate()?;
        let dispatch = &self.dispatch;
        // A time that is too long for the clock is without a limit.
        let until = Instant::now().checked_add(options.wait);
        let mut pause = FIRST_PAUSE;
        loop {
            let which = WhichEvents { after, limit: options.limit };
            let page =
                dispatch.look(dispatch.context.engine.read_events(&dispatch.queue, &which)).await?;
            let left =
                until.map_or(LONGEST_PAUSE, |at| at.saturating_duration_since(Instant::now()));
            if !page.events.is_empty() || page.gap || left.is_zero() {
                return Ok(page);
            }
            after = page.cursor.0;
            tokio::time::sleep(pause.min(left)).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}
