//! The history of queues in equal times, for charts and tables.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::{Counts, Histogram, HistoryKind, HistoryRow, Totals};

/// How far back a chart goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    Hour,
    Day,
    Month,
}

impl Span {
    pub(crate) const ALL: [Span; 3] = [Span::Hour, Span::Day, Span::Month];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Span::Hour => "hour",
            Span::Day => "day",
            Span::Month => "month",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Span::Hour => "last hour",
            Span::Day => "last day",
            Span::Month => "last 31 days",
        }
    }

    pub(crate) fn kind(self) -> HistoryKind {
        match self {
            Span::Hour | Span::Day => HistoryKind::Minutes,
            Span::Month => HistoryKind::Hours,
        }
    }

    /// From which time on the rows of a history matter.
    pub(crate) fn since(self, now: SystemTime) -> SystemTime {
        match self {
            Span::Hour => now.checked_sub(HOUR_AND_ROW).unwrap_or(UNIX_EPOCH),
            // That is the whole history.
            Span::Day | Span::Month => UNIX_EPOCH,
        }
    }

    /// How long each of its parts is, in seconds, and how many there are.
    fn parts(self) -> (u64, u64) {
        match self {
            Span::Hour => (60, 60),
            Span::Day => (900, 96),
            Span::Month => (21_600, 124),
        }
    }
}

/// What happens in a queue, counted from its totals.
const RATES: [fn(&Totals) -> u64; 4] = [
    |totals| totals.added,
    |totals| totals.completed,
    |totals| totals.failed,
    |totals| totals.expired,
];

/// An hour, and the row before it: a cleaner records a queue without any work every 10 minutes.
const HOUR_AND_ROW: Duration = Duration::from_secs(75 * 60);

/// Counts that are this fresh say nothing about a rate.
const MIN_TIME: Duration = Duration::from_secs(10);

/// What is known of a part of the time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    /// Items a minute that were added, completed, failed, and expired. `None`: nobody has recorded it.
    pub(crate) rates: Option<[f64; 4]>,
    /// Items that were ready, and leased, at its last row.
    pub(crate) levels: Option<[u64; 2]>,
    /// For how long items waited and ran, in µs.
    pub(crate) waiting: Histogram,
    pub(crate) run: Histogram,
}

/// The history of one or more queues.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) span: Span,
    /// When the first part begins, in seconds since 1970.
    pub(crate) begin: u64,
    /// How long each part is, in seconds.
    pub(crate) width: u64,
    pub(crate) parts: Vec<Part>,
    /// How many items were added, completed, failed, and expired in all of them.
    pub(crate) sums: [f64; 4],
}

/// How a queue was at a time.
struct Point<'a> {
    at: SystemTime,
    totals: &'a Totals,
    levels: [u64; 2],
}

impl<'a> From<&'a HistoryRow> for Point<'a> {
    fn from(row: &'a HistoryRow) -> Point<'a> {
        Point { at: row.at, totals: &row.totals, levels: [row.ready, row.leased] }
    }
}

impl Series {
    /// Of no queue. The parts begin at whole minutes (or quarters, or hours), so that they stay the same until the next.
    pub(crate) fn new(span: Span, now: SystemTime) -> Series {
        let (width, count) = span.parts();
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let begin = (now / width + 1).saturating_sub(count) * width;
        Series { span, begin, width, parts: vec![Part::default(); count as usize], sums: [0.0; 4] }
    }

    /// Adds a queue: its history, and how it is now.
    pub(crate) fn add(&mut self, rows: &[HistoryRow], counts: Option<&Counts>, now: SystemTime) {
        let mut points: Vec<_> = rows.iter().map(Point::from).collect();
        let last = points.last().map(|point| point.at);
        let fresh = last.is_some_and(|last| now.duration_since(last).is_ok_and(|t| t >= MIN_TIME));
        if let Some(counts) = counts.filter(|_| fresh) {
            let levels = [counts.ready, counts.leased];
            points.push(Point { at: now, totals: &counts.totals, levels });
        }
        self.add_rates(&points);
        self.add_levels(&points);
        for row in rows {
            if let Some(part) = self.part(row.at) {
                part.waiting.merge(&row.measured.waiting);
                part.run.merge(&row.measured.run);
            }
        }
    }

    fn index(&self, at: SystemTime) -> Option<usize> {
        let at = at.duration_since(UNIX_EPOCH).ok()?.as_secs().checked_sub(self.begin)?;
        usize::try_from(at / self.width).ok().filter(|index| *index < self.parts.len())
    }

    fn part(&mut self, at: SystemTime) -> Option<&mut Part> {
        let index = self.index(at)?;
        self.parts.get_mut(index)
    }

    /// Parts without a row get the average between the rows around them.
    fn add_rates(&mut self, points: &[Point<'_>]) {
        let seconds = |at: SystemTime| {
            at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() - self.begin as f64
        };
        let width = self.width as f64;
        let mut counted = vec![([0.0; 4], 0.0_f64); self.parts.len()];
        for pair in points.windows(2) {
            let [from, to] = pair else { continue };
            let (first, last) = (seconds(from.at), seconds(to.at));
            // Another queue has its name now.
            let is_new = RATES.iter().any(|of| of(to.totals) < of(from.totals));
            if last <= first || last <= 0.0 || is_new {
                continue;
            }
            let each = RATES.map(|of| of(to.totals).saturating_sub(of(from.totals)) as f64);
            let begin = (first.max(0.0) / width) as usize;
            for (index, (sums, covered)) in counted.iter_mut().enumerate().skip(begin) {
                let left = index as f64 * width;
                if left >= last {
                    break;
                }
                let overlap = last.min(left + width) - first.max(left);
                *covered += overlap;
                for (sum, count) in sums.iter_mut().zip(each) {
                    *sum += count * overlap / (last - first);
                }
            }
        }
        for (part, (sums, covered)) in self.parts.iter_mut().zip(counted) {
            if covered > 0.0 {
                for (all, sum) in self.sums.iter_mut().zip(sums) {
                    *all += sum;
                }
                let rates = part.rates.get_or_insert_default();
                for (rate, sum) in rates.iter_mut().zip(sums) {
                    *rate += sum / covered * 60.0;
                }
            }
        }
    }

    /// Parts without a row have the numbers of the row before them.
    fn add_levels(&mut self, points: &[Point<'_>]) {
        let mut at = 0;
        let last = points.last().and_then(|point| self.index(point.at));
        for index in 0..self.parts.len() {
            let end =
                UNIX_EPOCH + Duration::from_secs(self.begin + (index as u64 + 1) * self.width);
            while points.get(at + 1).is_some_and(|point| point.at < end) {
                at += 1;
            }
            let known = points.get(at).filter(|point| point.at < end);
            if let (Some(known), true) = (known, last.is_some_and(|last| index <= last)) {
                let levels = self.parts[index].levels.get_or_insert_default();
                for (sum, level) in levels.iter_mut().zip(known.levels) {
                    *sum += level;
                }
            }
        }
    }

    /// Whether nothing was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.rates.is_none() && part.levels.is_none())
    }

    /// When a part begins.
    pub(crate) fn time(&self, index: usize) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.begin + index as u64 * self.width)
    }

    /// The rates of one kind, see [`Part::rates`].
    pub(crate) fn rates(&self, kind: usize) -> impl Iterator<Item = Option<f64>> {
        self.parts.iter().map(move |part| part.rates.map(|rates| rates[kind]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 09:59:30, far from any change of a part.
    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 / 86_400 * 86_400 + 9 * 3_600 + 59 * 60 + 30)
    }

    fn totals(completed: u64) -> Totals {
        let mut totals = Totals::default();
        totals.completed = completed;
        totals
    }

    fn series(points: &[(u64, u64)]) -> Series {
        let totals: Vec<_> = points.iter().map(|(_, completed)| totals(*completed)).collect();
        let points: Vec<_> = points
            .iter()
            .zip(&totals)
            .map(|((ago, completed), totals)| {
                let at = now() - Duration::from_secs(*ago);
                Point { at, totals, levels: [*completed, 1] }
            })
            .collect();
        let mut series = Series::new(Span::Hour, now());
        series.add_rates(&points);
        series.add_levels(&points);
        series
    }

    #[test]
    fn the_last_part_contains_now() {
        for span in Span::ALL {
            let series = Series::new(span, now());
            let end = series.time(series.parts.len());
            assert!(end > now() && series.time(series.parts.len() - 1) <= now(), "{span:?}");
            assert_eq!(series.begin % series.width, 0);
        }
    }

    #[test]
    fn rates_are_those_between_two_rows() {
        // 60 in two minutes that begin and end in the middle of one.
        let series = series(&[(600, 40), (480, 100)]);
        let rates: Vec<_> = series.rates(1).collect();
        assert_eq!(&rates[48..53], &[None, Some(30.0), Some(30.0), Some(30.0), None]);
        assert_eq!(rates.iter().flatten().count(), 3);
        assert!((series.sums[1] - 60.0).abs() < 1e-9, "{:?}", series.sums);
    }

    #[test]
    fn what_lies_before_the_first_part_does_not_count() {
        let series = series(&[(3_600 + 1_800, 0), (3_000, 240)]);
        assert!(series.rates(1).flatten().all(|rate| (rate - 6.0).abs() < 1e-9));
        assert_eq!(series.rates(1).flatten().count(), 10);
    }

    #[test]
    fn levels_hold_until_the_next_row_and_end_with_the_last() {
        let series = series(&[(600, 40), (480, 100)]);
        let levels: Vec<_> = series.parts.iter().map(|part| part.levels).collect();
        assert_eq!(&levels[48..53], &[None, Some([40, 1]), Some([40, 1]), Some([100, 1]), None]);
    }

    #[test]
    fn nothing_is_known_of_the_time_in_which_a_queue_was_dropped() {
        let series = series(&[(600, 1_000), (540, 10)]);
        assert_eq!(series.rates(1).flatten().count(), 0);
    }

    #[test]
    fn queues_are_added_up() {
        let mut both = series(&[(600, 40), (480, 100)]);
        let (one, two) = (totals(0), totals(30));
        let point =
            |ago, totals| Point { at: now() - Duration::from_secs(ago), totals, levels: [5, 0] };
        let points = [point(600, &one), point(480, &two)];
        both.add_rates(&points);
        both.add_levels(&points);
        assert_eq!(both.rates(1).nth(50), Some(Some(45.0)));
        assert_eq!(both.parts[50].levels, Some([45, 1]));
    }
}
