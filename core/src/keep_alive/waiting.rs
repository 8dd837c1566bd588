//! Leases that need no extension yet.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::OnceLock;
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep_until;

/// Fewer waiting leases than this are not searched for settled ones.
pub(super) const MIN_SEARCHED: usize = 1_024;

/// The background extension of a lease.
pub(crate) trait Extension: Send {
    /// When the lease is to be extended for the first time.
    fn due(&self) -> Instant;
    /// False: the lease was settled, dropped or lost.
    fn is_needed(&self) -> bool;
    /// Extends the lease from now on.
    fn start(self: Box<Self>);
}

pub(super) type New = UnboundedReceiver<Vec<Box<dyn Extension>>>;

/// The way to the task that starts the extensions of a client. That task owns them, so they do not keep the client alive
/// when its runtime has ended.
#[derive(Default)]
pub(crate) struct KeepAlives(OnceLock<UnboundedSender<Vec<Box<dyn Extension>>>>);

impl KeepAlives {
    /// Starts these extensions when they are due, of those that are still needed. `begin` runs the task.
    pub(super) fn wait(&self, extensions: Vec<Box<dyn Extension>>, begin: impl FnOnce(New)) {
        let sender = self.0.get_or_init(|| {
            let (sender, receiver) = unbounded_channel();
            begin(receiver);
            sender
        });
        // It fails if the client was closed.
        _ = sender.send(extensions);
    }
}

/// Starts extensions when they are due, until the client is dropped.
pub(super) async fn run(mut new: New) {
    let mut waiting: BinaryHeap<Waiting> = BinaryHeap::new();
    let mut search_at = MIN_SEARCHED;
    loop {
        let first = waiting.peek().map(|first| first.due);
        tokio::select! {
            extensions = new.recv() => match extensions {
                Some(extensions) => waiting.extend(extensions.into_iter().map(Waiting::from)),
                None => return,
            },
            () = sleep_until(first.unwrap_or_else(Instant::now).into()), if first.is_some() => {}
        }
        let now = Instant::now();
        while waiting.peek().is_some_and(|first| first.due <= now) {
            let first = waiting.pop().map(|first| first.extension);
            if let Some(extension) = first.filter(|extension| extension.is_needed()) {
                extension.start();
            }
        }
        // A search takes time in proportion to what waits, so the next one waits until there is twice as much.
        if waiting.len() >= search_at {
            waiting.retain(|waiting| waiting.extension.is_needed());
            search_at = MIN_SEARCHED.max(2 * waiting.len());
        }
    }
}

/// The earliest is the greatest.
struct Waiting {
    due: Instant,
    extension: Box<dyn Extension>,
}

impl From<Box<dyn Extension>> for Waiting {
    fn from(extension: Box<dyn Extension>) -> Waiting {
        Waiting { due: extension.due(), extension }
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        other.due.cmp(&self.due)
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.due == other.due
    }
}

impl Eq for Waiting {}
