//! How much of the rate of a queue is used up.

use rusqlite::params;

use super::database::{CLOCK_STEP, Database};
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::rate::StoredRate;

/// How much of a rate is used up at the time of the transaction, or up to [`CLOCK_STEP`] later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meter {
    rate: StoredRate,
    used: u64,
    at: u64,
    /// What is stored is not as it should be: it is later than any process can be, or out of range.
    sound: bool,
}

impl Meter {
    fn new(rate: StoredRate, (used, at): (i64, i64), now: u64) -> Meter {
        // While the clock is set back, the time stands still, and the processes disagree about it by less than a step.
        // None of them sets the rate back to its own time: the others would count the difference again, each time.
        let latest = now as i64 + CLOCK_STEP;
        let sound = (0..=rate.most() as i64).contains(&used) && (0..=latest).contains(&at);
        // Nobody knows how much is used up if it cannot be read. The time by which the clock was set back counts as
        // none.
        let stored = u64::try_from(used).unwrap_or(u64::MAX).min(rate.most());
        let passed = if sound { now.saturating_sub(at as u64) } else { 0 };
        let at = if sound { now.max(at as u64) } else { now };
        Meter { rate, used: rate.used(stored, passed), at, sound }
    }

    pub(super) fn allowed(&self) -> usize {
        self.rate.allowed(self.used) as usize
    }

    /// When the next lease is allowed, in ms since 1970; `None`: one is allowed now.
    pub(super) fn opens(&self) -> Option<u64> {
        self.rate.opens(self.used, self.at)
    }

    pub(super) fn take(&mut self, leases: usize) {
        self.used += leases as u64 * self.rate.period;
    }

    /// False: it must be written, or the rate would not open before the clock reaches the stored time.
    pub(super) fn is_sound(&self) -> bool {
        self.sound
    }
}

/// `None`: the queue has no rate.
pub(super) fn meter(db: &Database, queue: i64, rate: Option<StoredRate>) -> Result<Option<Meter>> {
    let Some(rate) = rate else { return Ok(None) };
    Ok(Some(Meter::new(rate, stored(db, queue)?, db.now)))
}

fn stored(db: &Database, queue: i64) -> Result<(i64, i64)> {
    const READ: &str = "SELECT rate_used, rate_at FROM queue WHERE queue = ?1";
    db.run(READ, |s| s.query_row([queue], |row| Ok((row.get(0)?, row.get(1)?))))
}

pub(super) fn write(db: &Database, queue: i64, meter: Meter) -> Result<()> {
    store(db, queue, meter.used, meter.at)
}

fn store(db: &Database, queue: i64, used: u64, at: u64) -> Result<()> {
    const WRITE: &str = "UPDATE queue SET rate_used = ?2, rate_at = ?3 WHERE queue = ?1";
    db.run(WRITE, |s| s.execute(params![queue, used as i64, at as i64]))?;
    Ok(())
}

/// Before another rate is stored: what is used up of one stays used up of the other.
pub(super) fn change(
    db: &Database,
    queue: i64,
    before: Option<StoredRate>,
    after: Option<StoredRate>,
) -> Result<()> {
    if after == before {
        return Ok(());
    }
    let (used, at) = match (before, after) {
        (Some(before), Some(after)) => {
            let meter = Meter::new(before, stored(db, queue)?, db.now);
            (after.converted(meter.used, before), meter.at)
        }
        _ => (0, db.now),
    };
    store(db, queue, used, at)
}

/// Checks that what is used up can be read, is no more than the rate has, and not of a time that is to come.
pub(super) fn check(
    db: &Database,
    queue: i64,
    rate: Option<StoredRate>,
    mend: bool,
    report: &mut DeepReport,
) -> Result<()> {
    let (used, at) = stored(db, queue)?;
    let most = rate.map_or(0, StoredRate::most) as i64;
    let wrong = !(0..=most).contains(&used) || !(0..=db.now as i64 + 60_000).contains(&at);
    let what = format_args!("rate_used is {used} at {at}");
    report.note(Damage::BadSettings, u64::from(wrong), mend, what);
    if wrong && mend {
        let used = rate.map_or(0, |rate| Meter::new(rate, (used, at), db.now).used);
        store(db, queue, used, db.now)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: StoredRate = StoredRate { count: 1_000, period: 1_000, burst: 5 };
    const NOW: u64 = 1_800_000_000_000;

    /// How many leases processes get that ask in turn, each at its own time, which stands still.
    fn leased(begin: (i64, i64), times: &[u64], rounds: usize) -> usize {
        let (mut stored, mut leased) = (begin, 0);
        for now in times.iter().cycle().take(times.len() * rounds) {
            let mut meter = Meter::new(RATE, stored, *now);
            let allowed = meter.allowed();
            meter.take(allowed);
            leased += allowed;
            if allowed > 0 || !meter.is_sound() {
                stored = (meter.used as i64, meter.at as i64);
            }
        }
        leased
    }

    #[test]
    fn processes_that_disagree_about_the_time_count_it_once() {
        let step = CLOCK_STEP as u64 - 1;
        let full = (RATE.most() as i64, NOW as i64);
        assert_eq!(leased(full, &[NOW], 100), 0);
        // At one lease per ms, the difference is more than the burst.
        assert_eq!(leased(full, &[NOW, NOW + step], 100), 5);
        assert_eq!(leased(full, &[NOW + step, NOW, NOW + 3], 100), 5);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_rate() {
        let later = (RATE.most() as i64, NOW as i64 + CLOCK_STEP + 1);
        assert_eq!(leased(later, &[NOW, NOW + 1], 1), 1);
        // Within a step it opens by the stored time.
        let meter = Meter::new(RATE, (RATE.most() as i64, NOW as i64 + 9), NOW);
        assert_eq!((meter.allowed(), meter.opens()), (0, Some(NOW + 10)));
    }
}
