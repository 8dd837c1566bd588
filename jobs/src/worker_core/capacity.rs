//! How many of the slots can be used: those of a worker with child processes can while their children live.

use std::sync::Arc;

use super::settlement::Settlement;
use super::settler;
use super::state::{Finished, Shared};

impl Shared {
    /// One slot more can be used.
    pub(super) fn open_slot(&self) {
        self.lock().capacity += 1;
        self.fetch.notify_one();
    }

    /// One slot less can be used. A job that waits for it goes back to its queue.
    pub(super) fn close_slot(self: &Arc<Self>) {
        let mut state = self.lock();
        state.capacity = state.capacity.saturating_sub(1);
        if state.occupied() > state.capacity + state.completing
            && let Some(running) = state.ready.pop_back()
        {
            running.claim();
            state.started -= 1;
            let settlement = Settlement::GiveBack;
            settler::spawn(self, Finished { running, settlement, reply: None });
        }
        drop(state);
        self.fetch.notify_one();
    }
}
