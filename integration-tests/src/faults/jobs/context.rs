//! What the faults of workers work with.

use std::time::Instant;

use super::fleet::Fleet;
use super::load::Load;
use crate::error::Error;
use crate::faults::place::Place;
use crate::faults::rng::SeededRng;

/// What a fault of workers can use.
pub(in crate::faults) struct JobContext<'a> {
    pub(super) place: &'a mut Place,
    pub(super) fleet: &'a mut Fleet,
    pub(super) load: &'a mut Load,
    pub(super) rng: SeededRng,
    pub(super) until: Instant,
    /// How often something was broken.
    pub(super) times: u64,
}

impl JobContext<'_> {
    /// False when the time is over and something was broken.
    pub(super) fn goes_on(&self) -> bool {
        self.times == 0 || Instant::now() < self.until
    }

    /// Adds jobs for so long.
    pub(super) async fn rest(&mut self, ms: std::ops::Range<u64>) -> Result<(), Error> {
        let end = Instant::now() + self.rng.ms(ms);
        self.load.run_until(end).await
    }
}
