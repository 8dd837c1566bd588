//! Puts the history of a queue into steps of time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::{Counts, HistoryRow, Measured, Totals};

/// How a queue was at some time.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) at: SystemTime,
    totals: Totals,
    ready: u64,
    leased: u64,
    /// In the minute or hour of that time.
    measured: Measured,
}

impl Known {
    pub(super) fn now(counts: Counts, at: SystemTime) -> Known {
        let Counts { totals, ready, leased, .. } = counts;
        Known { at, totals, ready, leased, measured: Measured::default() }
    }
}

impl From<HistoryRow> for Known {
    fn from(row: HistoryRow) -> Known {
        let HistoryRow { at, totals, ready, leased, measured, .. } = row;
        Known { at, totals, ready, leased, measured }
    }
}

/// Lets minutes, of which none is before the step `first`, begin with the hour before it: that says since when the first
/// change counts, if nobody has recorded since. Minutes go back to the step `oldest`, so that there was no such time if the
/// first of them is next to that. False: there is no such hour.
pub(super) fn begin_with_an_hour(
    minutes: &mut Vec<Known>,
    hours: Vec<Known>,
    first: u64,
    oldest: u64,
    length: Duration,
) -> bool {
    let before = hours.into_iter().rfind(|hour| Step::number(hour.at, length) < first);
    let is_there = before.is_some();
    if minutes.first().is_none_or(|row| Step::number(row.at, length) > oldest + 1) {
        minutes.splice(0..0, before);
    }
    is_there
}

/// What has happened in one step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) begin: SystemTime,
    /// What happened until then counts.
    pub(super) until: SystemTime,
    /// Nobody has recorded in whole steps: when in this time it happened is not known.
    pub(super) is_gap: bool,
    pub(super) changed: Totals,
    /// As the queue was when the step began.
    pub(super) ready: u64,
    pub(super) leased: u64,
    pub(super) measured: Measured,
    number: u64,
}

impl Step {
    /// Steps of this length are numbered since 1970.
    pub(super) fn number(at: SystemTime, length: Duration) -> u64 {
        at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / length.as_secs().max(1)
    }
}

#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) all: Vec<Step>,
    /// What had happened when the first one began. With what has changed in all of them, that is what has happened.
    pub(super) begun: Option<Totals>,
}

impl Steps {
    /// From the step `first` on. The last of the `known` is the present. What happened between two of them counts in the
    /// step of the earlier one, unless whole steps are in between: then it has a step of its own, which may begin before
    /// the first one.
    pub(super) fn new(known: &[Known], first: u64, length: Duration) -> Steps {
        let mut steps = Steps::default();
        for (one, next) in known.iter().zip(known.iter().skip(1)) {
            let number = Step::number(one.at, length);
            let then = Step::number(next.at, length);
            let is_gap = then > number + 1;
            if number < first && !(is_gap && then >= first) {
                continue;
            }
            steps.begun.get_or_insert_with(|| one.totals.clone());
            steps.put(one, next, number, is_gap, length);
        }
        steps
    }

    fn put(&mut self, one: &Known, next: &Known, number: u64, is_gap: bool, length: Duration) {
        let changed = difference(&next.totals, &one.totals);
        // A clock that was put back.
        let until = next.at.max(one.at);
        let mut measured = one.measured.clone();
        let mut begin = one.at;
        if let Some(last) = self.all.last_mut().filter(|last| !last.is_gap) {
            if last.number == number {
                last.measured.merge(&std::mem::take(&mut measured));
                if !is_gap {
                    last.changed = sum(&last.changed, &changed);
                    last.until = until;
                    return;
                }
            } else if !is_gap {
                begin = UNIX_EPOCH + Duration::from_secs(number * length.as_secs());
            }
        }
        let (ready, leased) = (one.ready, one.leased);
        self.all.push(Step { begin, until, is_gap, changed, ready, leased, measured, number });
    }
}

/// Applies it to each number of two totals.
fn each(one: &Totals, other: &Totals, apply: impl Fn(u64, u64) -> u64) -> Totals {
    let mut totals = one.clone();
    totals.added = apply(one.added, other.added);
    totals.leased = apply(one.leased, other.leased);
    totals.completed = apply(one.completed, other.completed);
    totals.expired = apply(one.expired, other.expired);
    totals.failed = apply(one.failed, other.failed);
    totals.died = apply(one.died, other.died);
    totals.removed = apply(one.removed, other.removed);
    totals.replaced = apply(one.replaced, other.replaced);
    totals.expired_unleased = apply(one.expired_unleased, other.expired_unleased);
    totals.cancelled = apply(one.cancelled, other.cancelled);
    totals
}

fn difference(after: &Totals, before: &Totals) -> Totals {
    each(after, before, u64::saturating_sub)
}

fn sum(one: &Totals, other: &Totals) -> Totals {
    each(one, other, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(900);

    /// Each with its minute, and how many items had been added.
    fn known(all: &[(u64, u64)]) -> Vec<Known> {
        let known = |&(minute, added): &(u64, u64)| {
            let mut totals = Totals::default();
            totals.added = added;
            let mut measured = Measured::default();
            measured.run.record(1);
            let at = UNIX_EPOCH + Duration::from_secs(minute * 60);
            Known { at, totals, ready: minute, leased: 0, measured }
        };
        all.iter().map(known).collect()
    }

    /// The minutes of each step, what was added, how many were ready and measured, and whether it is a gap.
    fn steps(all: &[(u64, u64)], first: u64) -> Vec<(u64, u64, u64, u64, u64, bool)> {
        let steps = Steps::new(&known(all), first, LENGTH);
        let counted: u64 = steps.all.iter().map(|step| step.changed.added).sum();
        let begun = steps.begun.map_or(0, |begun| begun.added);
        assert!(steps.all.is_empty() || begun + counted == all.last().unwrap().1);
        let minute = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap().as_secs() / 60;
        let shown = |step: &Step| {
            let measured = step.measured.run.count();
            let (begin, until) = (minute(step.begin), minute(step.until));
            (begin, until, step.changed.added, step.ready, measured, step.is_gap)
        };
        steps.all.iter().map(shown).collect()
    }

    #[test]
    fn what_happens_between_two_rows_counts_in_the_step_of_the_first() {
        let rows = [(1, 10), (2, 11), (14, 13), (16, 20), (29, 24), (31, 31), (32, 40)];
        let all = [(1, 16, 10, 1, 3, false), (15, 31, 11, 16, 2, false), (30, 32, 9, 31, 1, false)];
        assert_eq!(steps(&rows, 0), all);
        assert_eq!(steps(&rows, 1), [(16, 31, 11, 16, 2, false), all[2]]);
        assert_eq!(steps(&rows[6..], 0), []);
    }

    #[test]
    fn what_happens_while_nobody_records_has_a_step_of_its_own() {
        let rows = [(16, 20), (17, 21), (75, 90), (76, 91), (300, 400)];
        let all = [
            (16, 17, 1, 16, 2, false),
            (17, 75, 69, 17, 0, true),
            (75, 76, 1, 75, 2, false),
            (76, 300, 309, 76, 0, true),
        ];
        assert_eq!(steps(&rows, 0), all);
        // A time that begins in a gap has all of it, with what was measured when it began.
        assert_eq!(steps(&rows, 3), [(17, 75, 69, 17, 1, true), all[2], all[3]]);
        assert_eq!(steps(&rows, 10), [(76, 300, 309, 76, 1, true)]);
        // The last row may be the only one.
        assert_eq!(steps(&[(16, 20), (300, 400)], 10), [(16, 300, 380, 16, 1, true)]);
    }

    #[test]
    fn minutes_that_are_not_kept_any_more_are_no_gap() {
        // A day ago is minute 107, in step 7; hours begin at 60 and 120.
        let begin = |minutes: &[(u64, u64)], first| {
            let mut all = known(minutes);
            let hours = known(&[(60, 1), (120, 2)]);
            assert!(begin_with_an_hour(&mut all, hours, first, 7, LENGTH));
            all.iter().map(|known| known.ready).collect::<Vec<_>>()
        };
        assert_eq!(begin(&[(108, 10), (109, 11)], 7), [108, 109]);
        assert_eq!(begin(&[(121, 10)], 7), [121], "a row each 10 minutes");
        // Here nobody has recorded for whole steps.
        assert_eq!(begin(&[(140, 10)], 7), [60, 140]);
        assert_eq!(begin(&[(1_400, 10)], 92), [120, 1_400]);
        assert_eq!(begin(&[], 7), [60]);
        let mut new = known(&[(108, 10)]);
        assert!(!begin_with_an_hour(&mut new, known(&[(120, 2)]), 7, 7, LENGTH));
    }
}
