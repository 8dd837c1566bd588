//! Random choices, reproducible by a printed seed.

use std::ops::Range;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

pub(super) struct SeededRng(StdRng);

impl SeededRng {
    /// A generator that depends only on seed and name.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        SeededRng(StdRng::seed_from_u64(digest(name.as_bytes()) ^ seed))
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    pub(super) fn number(&mut self, range: Range<u64>) -> u64 {
        self.0.random_range(range)
    }

    pub(super) fn ms(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.number(range))
    }

    /// A random entry of a slice that is not empty.
    pub(super) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.0.random_range(0..among.len())]
    }
}

/// FNV-1a: distinguishes data and names.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
