//! How long the worker waits for the answer of a queue before the slots that it is asked for go to others.

use std::time::Duration;

/// For a queue of which nothing is known, and at least.
pub(super) const LEAST: Duration = Duration::from_millis(250);
/// At most: a queue that hangs holds up others for so long, however slow it was before.
const MOST: Duration = Duration::from_secs(5);

/// Twice the time that the queue usually takes. With less, a queue that is always slow would hardly get a slot beside a
/// fast one that always has jobs: what it leases late, the worker gives back.
#[derive(Debug, Default)]
pub(super) struct Patience {
    usual: Duration,
}

impl Patience {
    pub(super) fn time(&self) -> Duration {
        (self.usual * 2).clamp(LEAST, MOST)
    }

    /// The queue has taken so long. One answer changes little, so that a queue that has hung once is not waited for.
    pub(super) fn learn(&mut self, taken: Duration) {
        self.usual = (self.usual * 3 + taken.min(MOST)) / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_what_the_queue_usually_takes() {
        let mut patience = Patience::default();
        let mut after = |millis, times| {
            for _ in 0..times {
                patience.learn(Duration::from_millis(millis));
            }
            patience.time()
        };
        assert_eq!(after(1, 100), LEAST);
        // It has hung once.
        assert!(after(60_000, 1) < Duration::from_secs(3));
        assert_eq!(after(1, 10), LEAST);
        // It is slow.
        for slow in [300, 1_000, 2_000] {
            assert!(after(slow, 5) > Duration::from_millis(slow), "{slow} ms");
        }
        assert_eq!(after(60_000, 100), MOST);
        assert_eq!(after(1, 20), LEAST);
    }
}
