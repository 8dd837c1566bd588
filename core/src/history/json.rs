//! The history with JSON as arguments and answers, for languages and programs that show it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{HistoryKind, HistoryRow, Measured};
use crate::histogram::Histogram;
use crate::item::Totals;
use crate::unix_time::to_ms;
use crate::{Error, Result, WorkQueue};

/// Values, each with how often it was measured.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MeasuredFields {
    waiting_us: Vec<(u64, u64)>,
    run_us: Vec<(u64, u64)>,
    lease_use: Vec<(u64, u64)>,
}

#[derive(Serialize)]
struct HistogramFields {
    count: u64,
    p50: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    values: Vec<(u64, u64)>,
}

#[derive(Serialize)]
struct RowFields<'a> {
    at: Timestamp,
    totals: &'a Totals,
    ready: u64,
    delayed: u64,
    leased: u64,
    dead: u64,
    held: u64,
    waiting_us: HistogramFields,
    run_us: HistogramFields,
    lease_use: HistogramFields,
}

impl From<&Histogram> for HistogramFields {
    fn from(histogram: &Histogram) -> Self {
        HistogramFields {
            count: histogram.count(),
            p50: histogram.quantile(0.5),
            p90: histogram.quantile(0.9),
            p99: histogram.quantile(0.99),
            values: histogram.values().collect(),
        }
    }
}

impl<'a> From<&'a HistoryRow> for RowFields<'a> {
    fn from(row: &'a HistoryRow) -> Self {
        RowFields {
            // It is not later than now.
            at: Timestamp::from_millisecond(to_ms(row.at) as i64).unwrap_or_default(),
            totals: &row.totals,
            ready: row.ready,
            delayed: row.delayed,
            leased: row.leased,
            dead: row.dead,
            held: row.held,
            waiting_us: (&row.measured.waiting).into(),
            run_us: (&row.measured.run).into(),
            lease_use: (&row.measured.lease_use).into(),
        }
    }
}

impl WorkQueue {
    /// [`record_history`](WorkQueue::record_history) with `waiting_us`, `run_us` and `lease_use`, lists of values, each
    /// with how often it was measured.
    ///
    /// # Errors
    /// `Invalid` for anything else; as for [`record_history`](WorkQueue::record_history).
    #[doc(hidden)]
    pub async fn record_history_json(&self, measured: &str) -> Result<bool> {
        let fields: MeasuredFields = serde_json::from_str(measured)
            .map_err(|error| Error::invalid(format_args!("record_history: {error}")))?;
        let mut measured = Measured::default();
        measured.waiting.extend(fields.waiting_us);
        measured.run.extend(fields.run_us);
        measured.lease_use.extend(fields.lease_use);
        self.record_history(&measured).await
    }

    /// [`history`](WorkQueue::history) of `minutes` or `hours`: a list of rows.
    ///
    /// # Errors
    /// `Invalid` for another kind; as for [`history`](WorkQueue::history).
    #[doc(hidden)]
    pub async fn history_json(&self, kind: &str) -> Result<String> {
        let kind = match kind {
            "minutes" => HistoryKind::Minutes,
            "hours" => HistoryKind::Hours,
            other => {
                let shown: String = other.chars().take(40).collect();
                return Err(Error::invalid(format_args!(
                    "history of {shown:?}: there is one of minutes and one of hours"
                )));
            }
        };
        let rows = self.history(kind).await?;
        let rows: Vec<RowFields<'_>> = rows.iter().map(RowFields::from).collect();
        serde_json::to_string(&rows)
            .map_err(|error| Error::internal(format_args!("a history cannot be written: {error}")))
    }
}
