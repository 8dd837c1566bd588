//! Small charts of the last hour.

use crate::series::Series;

const HEIGHT: f64 = 24.0;

/// How many items were completed in each of the last minutes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sparkline {
    values: Vec<f64>,
}

impl Sparkline {
    /// `None`: nothing was recorded.
    pub(crate) fn new(series: &Series) -> Option<Sparkline> {
        let values = series.rates(1).map(Option::unwrap_or_default).collect();
        (!series.is_empty()).then_some(Sparkline { values })
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
