//! The pauses of every loop that retries, so that none of them retries without a pause.

use std::time::Duration;

use rand::Rng;

/// The first pause.
const MIN: Duration = Duration::from_millis(2);

/// Pauses between attempts: 2 ms first, doubled each time up to a maximum. Each is multiplied by a
/// random factor between 0.5 and 1.5, so that many clients do not retry at the same moment.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    max: Duration,
}

impl Backoff {
    /// `max`: the longest pause, before its random factor.
    pub fn up_to(max: Duration) -> Backoff {
        Backoff { next: MIN, max }
    }

    /// How long to pause before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next.min(self.max);
        self.next = self.next.saturating_mul(2).min(self.max);
        pause.mul_f64(rand::rng().random_range(0.5..1.5))
    }

    /// An attempt has succeeded: the next failure starts with the shortest pause.
    pub fn reset(&mut self) {
        self.next = MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_maximum_and_start_anew_after_a_success() {
        let mut backoff = Backoff::up_to(Duration::from_millis(250));
        let around = |pause: Duration, middle_ms: u64| {
            let middle = Duration::from_millis(middle_ms);
            assert!(pause >= middle / 2 && pause <= middle * 3 / 2, "{pause:?}, not {middle:?}");
        };
        for expected in [2, 4, 8, 16, 32, 64, 128, 250, 250] {
            around(backoff.pause(), expected);
        }
        backoff.reset();
        around(backoff.pause(), 2);
    }
}
