//! What a fault can use while the load runs.

use std::sync::Arc;
use std::time::Instant;

use super::history::Time;
use super::load::Load;
use super::place::Place;
use super::recorder::Recorder;
use super::rng::SeededRng;
use super::worker_pool::WorkerPool;

pub(super) struct FaultContext<'a> {
    pub(super) place: &'a mut Place,
    pub(super) pool: &'a WorkerPool,
    pub(super) load: Arc<Load>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) rng: SeededRng,
    /// When the fault must end.
    pub(super) until: Instant,
    /// How often something was broken.
    pub(super) times: u64,
}

impl FaultContext<'_> {
    /// False when the time is over and something was broken.
    pub(super) fn goes_on(&self) -> bool {
        self.times == 0 || Instant::now() < self.until
    }

    pub(super) async fn rest(&mut self, ms: std::ops::Range<u64>) {
        tokio::time::sleep(self.rng.ms(ms)).await;
    }

    /// Operations that were executed from then to now may be lost or repeated.
    pub(super) fn lost_since(&self, from: Time) {
        self.recorder.window_since(from);
        self.load.forget_backlog();
    }

    /// The same; two servers may also both have acted as master.
    pub(super) fn two_masters_since(&self, from: Time) {
        self.recorder.history().two_masters = true;
        self.lost_since(from);
    }

    /// What looks have shown since then may not be confirmed, or may come from the former master.
    pub(super) fn looks_are_vague_since(&self, from: Time) {
        let now = self.now();
        self.recorder.history().vague_looks.push((from, now));
    }

    /// The present time of the history.
    pub(super) fn now(&self) -> Time {
        self.recorder.now()
    }
}
