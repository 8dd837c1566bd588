//! Jobs that this worker cannot run: they come back, but push others aside only to a certain extent.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::settlement::UNHANDLED_DELAY;

/// Each refusal of the last minutes makes the next job wait this much longer. So of N jobs of this kind about
/// sqrt(N / 6) come back in a second: 13 of a thousand, 41 of ten thousand, once most of the memory is about them.
const SPACING: Duration = Duration::from_millis(20);
/// After this time a third of the refusals counts.
const MEMORY: Duration = UNHANDLED_DELAY;
/// Of so many kinds it is remembered that they were logged.
const MOST_KINDS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Refusals {
    recent: f64,
    at: Option<Instant>,
    logged: HashSet<(String, String)>,
}

impl Refusals {
    /// One more. Returns how long the job is to wait, at least this time.
    pub(super) fn pace(&mut self, delay: Duration, now: Instant) -> Duration {
        let ago = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.recent = self.recent * (-ago.as_secs_f64() / MEMORY.as_secs_f64()).exp() + 1.0;
        self.at = Some(now);
        delay.max(SPACING.mul_f64(self.recent).min(UNHANDLED_DELAY))
    }

    /// Whether this is the first job of its name that was refused for this kind of reason.
    pub(super) fn is_new(&mut self, job: &str, reason: &str) -> bool {
        let kind = reason.split(':').next().unwrap_or_default();
        self.logged.len() < MOST_KINDS && self.logged.insert((job.to_owned(), kind.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Jobs that come back when they are due, refused each time; their own delays grow to 300 s.
    fn refused_in_an_hour(jobs: u32) -> Vec<u32> {
        let (mut refusals, begin) = (Refusals::default(), Instant::now());
        let mut due: BTreeSet<_> = (0..jobs).map(|job| (Duration::ZERO, job, 0_u32)).collect();
        let mut of_minute = vec![0; 60];
        while let Some((at, job, times)) = due.pop_first() {
            let Some(minute) = of_minute.get_mut(at.as_secs() as usize / 60) else { break };
            *minute += 1;
            let own = Duration::from_secs(1 << times.min(9)).min(UNHANDLED_DELAY);
            due.insert((at + refusals.pace(own, begin + at), job, times + 1));
        }
        of_minute
    }

    #[test]
    fn thousands_of_them_come_back_a_few_times_a_second() {
        for (jobs, most) in [(1_000, 20), (10_000, 60)] {
            let of_minute = refused_in_an_hour(jobs);
            assert!(of_minute[0] < jobs + 60 * 60, "{jobs} jobs: {of_minute:?}");
            assert!(of_minute[1..].iter().all(|n| *n <= most * 60), "{jobs} jobs: {of_minute:?}");
        }
        // A few come back as their own delays say.
        let mut refusals = Refusals::default();
        let second = Duration::from_secs(1);
        assert_eq!(refusals.pace(second, Instant::now()), second);
    }
}
