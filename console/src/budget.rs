//! How much a page reads: its viewer does not wait for long, and the server has others to serve.

use std::time::{Duration, Instant};

/// How many entries or events a page examines at most, and in how many steps.
const MAX_EXAMINED: u64 = 20_000;
const MAX_STEPS: u32 = 20;
/// For how long it examines them at most, as far as that can be foreseen.
const MAX_TIME: Duration = Duration::from_millis(30);

/// What a page has spent. It reads in steps, and always makes the first one.
pub(crate) struct Budget {
    began: Instant,
    step: Instant,
    longest: Duration,
    steps: u32,
    pub(crate) examined: u64,
}

impl Budget {
    pub(crate) fn new() -> Budget {
        Budget::at(Instant::now())
    }

    fn at(now: Instant) -> Budget {
        Budget { began: now, step: now, longest: Duration::ZERO, steps: 0, examined: 0 }
    }

    /// Notes that a step has ended. Returns whether another one may begin.
    pub(crate) fn spend(&mut self, examined: u64) -> bool {
        self.spend_at(Instant::now(), examined)
    }

    fn spend_at(&mut self, now: Instant, examined: u64) -> bool {
        self.examined += examined;
        self.steps += 1;
        self.longest = self.longest.max(now - self.step);
        self.step = now;
        // The next step may take as long as the longest one.
        let is_quick = now - self.began + self.longest <= MAX_TIME;
        is_quick && self.examined < MAX_EXAMINED && self.steps < MAX_STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(each: Duration, examined: u64) -> u32 {
        let began = Instant::now();
        let mut budget = Budget::at(began);
        let mut steps = 1;
        while budget.spend_at(began + steps * each, examined) {
            steps += 1;
        }
        assert_eq!(budget.examined, u64::from(steps) * examined);
        steps
    }

    #[test]
    fn no_step_begins_that_may_end_too_late() {
        assert_eq!(steps(Duration::from_millis(7), 10), 4);
        assert_eq!(steps(Duration::from_millis(10), 10), 3);
        assert_eq!(steps(Duration::from_millis(16), 10), 1);
        assert_eq!(steps(Duration::from_secs(9), 10), 1, "there is always one");
    }

    #[test]
    fn a_quick_server_is_not_asked_for_more_than_that() {
        assert_eq!(steps(Duration::from_micros(1), 2_000), 10);
        assert_eq!(steps(Duration::from_micros(1), 30_000), 1);
        assert_eq!(steps(Duration::from_micros(1), 3), 20);
    }
}
