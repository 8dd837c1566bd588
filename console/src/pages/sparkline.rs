//! Small charts of the last hour.

use std::time::{Duration, SystemTime};

use leaseq::{HistoryRow, Totals};

/// Minutes of a small chart.
const MINUTES: usize = 60;
const HEIGHT: f64 = 24.0;

/// How much happened in each of the last minutes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sparkline {
    values: Vec<f64>,
}

impl Sparkline {
    /// `None`: no two rows lie in the last hour.
    pub(crate) fn new(
        rows: &[HistoryRow],
        now: SystemTime,
        of: fn(&Totals) -> u64,
    ) -> Option<Sparkline> {
        let mut values = vec![0.0; MINUTES];
        let begin = now.checked_sub(Duration::from_secs(60 * MINUTES as u64))?;
        let mut any = false;
        let minute = |time: SystemTime| {
            let since = time.duration_since(begin).unwrap_or_default();
            since.as_secs_f64() / 60.0
        };
        for pair in rows.windows(2) {
            let [from, to] = pair else { continue };
            if to.at <= begin || to.at <= from.at {
                continue;
            }
            let took = to.at.duration_since(from.at).unwrap_or_default().as_secs_f64() / 60.0;
            let rate = of(&to.totals).saturating_sub(of(&from.totals)) as f64 / took;
            // Minutes without a row get the average between the rows.
            let (first, last) = (minute(from.at), minute(to.at));
            for (at, value) in values.iter_mut().enumerate() {
                let overlap = last.min(at as f64 + 1.0) - first.max(at as f64);
                *value += rate * overlap.clamp(0.0, 1.0);
            }
            any = true;
        }
        any.then_some(Sparkline { values })
    }

    /// The points of a line in a picture of 60 by 24.
    pub(crate) fn points(&self) -> String {
        let most = self.most().max(1.0);
        let point = |(at, value): (usize, &f64)| {
            let y = HEIGHT - 1.0 - value / most * (HEIGHT - 2.0);
            format!("{at},{y:.1}")
        };
        let points: Vec<_> = self.values.iter().enumerate().map(point).collect();
        points.join(" ")
    }

    fn most(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }

    /// For people who do not see it.
    pub(crate) fn text(&self) -> String {
        format!("at most {:.0} a minute in the last hour", self.most())
    }
}
