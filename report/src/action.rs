//! What can be done with items.

use leaseq::{ItemRef, State, WorkQueue};

/// What can be done with items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Requeue,
    Cancel,
    Bury,
    Remove,
}

impl Action {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Action::Requeue => "requeue",
            Action::Cancel => "cancel",
            Action::Bury => "bury",
            Action::Remove => "remove",
        }
    }

    /// Whether it can be done with items of this state.
    pub(crate) fn suits(self, state: State) -> bool {
        match self {
            Action::Requeue => state == State::Dead,
            Action::Cancel => !matches!(state, State::Completed | State::Cancelled | State::Dead),
            Action::Bury => matches!(state, State::Ready | State::Delayed | State::Held),
            Action::Remove => true,
        }
    }

    pub(crate) async fn apply<T: Into<ItemRef>>(
        self,
        queue: &WorkQueue,
        items: impl IntoIterator<Item = T>,
        who: &str,
    ) -> leaseq::Result<Vec<bool>> {
        match self {
            Action::Requeue => queue.requeue(items).await,
            Action::Cancel => queue.cancel_many(items).await,
            Action::Bury if who.is_empty() => queue.bury(items, "buried in the console").await,
            Action::Bury => queue.bury(items, &format!("buried in the console by {who}")).await,
            Action::Remove => queue.remove_many(items).await,
        }
    }
}
