//! Reads the events of one queue, one page after the other.

use std::time::Duration;

use leaseq::{Error, EventCursor, EventsOptions, EventsPage, WorkQueue};
use tokio::sync::mpsc::Sender;

/// Events that are read at once: the most that a page can have.
const PAGE: usize = 1_000;
/// How long to wait for an event before the settings are asked whether there can be one.
const WAIT: Duration = Duration::from_secs(2);
/// Between two attempts to reach a server.
const PAUSE: Duration = Duration::from_millis(500);

/// What a reader has to say.
#[derive(Debug)]
pub(super) enum Read {
    Page(EventsPage),
    /// The queue keeps no events now.
    Off,
    /// The server cannot be reached now.
    Lost(Error),
    /// There is no use in trying again.
    Failed(Error),
}

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) queue: WorkQueue,
    pub(super) cursor: EventCursor,
    /// Whether the queue keeps events.
    pub(super) keeps: bool,
    /// Whether to wait for more events after the last one.
    pub(super) follows: bool,
}

impl Reader {
    /// Hands over what it reads, with this number, until there is no more or nobody takes it.
    pub(super) async fn run(mut self, number: usize, to: Sender<(usize, Read)>) {
        loop {
            let (read, goes_on) = match self.next().await {
                Ok(Some(read)) => (read, true),
                Ok(None) => return,
                Err(error) if error.kind().is_retryable() && self.follows => {
                    (Read::Lost(error), true)
                }
                Err(error) => (Read::Failed(error), false),
            };
            let lost = matches!(read, Read::Lost(_));
            if to.send((number, read)).await.is_err() || !goes_on {
                return;
            }
            if lost {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// `None`: there is no more.
    async fn next(&mut self) -> leaseq::Result<Option<Read>> {
        let wait = if self.follows { WAIT } else { Duration::ZERO };
        loop {
            let options = EventsOptions::new().after(self.cursor.clone()).limit(PAGE).wait(wait);
            let page = self.queue.events(options).await?;
            if !page.events.is_empty() || page.gap {
                self.cursor = page.cursor.clone();
                return Ok(Some(Read::Page(page)));
            }
            if !self.follows {
                return Ok(None);
            }
            // A queue that keeps no events looks like one where nothing happens.
            let keeps = self.queue.settings().await?.events.is_some();
            let switched_off = self.keeps && !keeps;
            self.keeps = keeps;
            if switched_off {
                return Ok(Some(Read::Off));
            }
        }
    }
}

/// Reads what is kept, to learn which generation has which id. Returns where the events end.
pub(super) async fn look_back(
    queue: &WorkQueue,
    most: u64,
    mut see: impl FnMut(&EventsPage),
) -> leaseq::Result<EventCursor> {
    let mut cursor = EventCursor::start();
    // Others add while this reads.
    for _ in 0..=most.div_ceil(PAGE as u64) {
        let options = EventsOptions::new().after(cursor.clone()).limit(PAGE);
        let page = queue.events(options).await?;
        see(&page);
        let is_last = page.events.len() < PAGE;
        cursor = page.cursor;
        if is_last {
            break;
        }
    }
    // Whoever adds all the time is not caught up with.
    let page = queue.events(EventsOptions::new().after(EventCursor::now())).await?;
    Ok(page.cursor)
}
