//! What operators can do with items.

use leaseq::{ItemRef, State, WorkQueue};

/// What operators can do with items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Makes dead items ready again.
    Requeue,
    /// Ends waiting items, and tells the holders of leased ones.
    Cancel,
    /// Makes waiting items dead.
    Bury,
    /// Deletes items.
    Remove,
}

impl Action {
    /// The verb, as commands and pages name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Requeue => "requeue",
            Action::Cancel => "cancel",
            Action::Bury => "bury",
            Action::Remove => "remove",
        }
    }

    /// Whether it changes items of this state; of others it changes none.
    pub fn suits(self, state: State) -> bool {
        match self {
            Action::Requeue => state == State::Dead,
            Action::Cancel => !matches!(state, State::Completed | State::Cancelled | State::Dead),
            Action::Bury => matches!(state, State::Ready | State::Delayed | State::Held),
            Action::Remove => true,
        }
    }

    /// Does it. `reason` is the error that is kept with buried items. Returns which items it has changed.
    ///
    /// # Errors
    /// Those of the queue's method.
    pub async fn apply<T: Into<ItemRef>>(
        self,
        queue: &WorkQueue,
        items: impl IntoIterator<Item = T>,
        reason: &str,
    ) -> leaseq::Result<Vec<bool>> {
        match self {
            Action::Requeue => queue.requeue(items).await,
            Action::Cancel => queue.cancel_many(items).await,
            Action::Bury => queue.bury(items, reason).await,
            Action::Remove => queue.remove_many(items).await,
        }
    }
}
