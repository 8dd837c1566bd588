//! The counts of queues as Prometheus metrics. Their names are an interface: the dashboard and the alerts use them.

use std::fmt;

use leaseq::Counts;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::snapshot::Snapshot;

type Count = fn(&Counts) -> u64;

const STATES: [(&str, Count); 7] = [
    ("ready", |counts| counts.ready),
    ("delayed", |counts| counts.delayed),
    ("leased", |counts| counts.leased),
    ("dead", |counts| counts.dead),
    ("completed", |counts| counts.completed),
    ("cancelled", |counts| counts.cancelled),
    ("held", |counts| counts.held),
];

const TOTALS: [(&str, &str, Count); 10] = [
    ("added", "Items added", |counts| counts.totals.added),
    ("leased", "Leases granted", |counts| counts.totals.leased),
    ("completed", "Items completed", |counts| counts.totals.completed),
    ("expired", "Leases that expired and were reclaimed", |counts| counts.totals.expired),
    ("failed", "Failures that workers reported", |counts| counts.totals.failed),
    ("dead", "Items that became dead", |counts| counts.totals.died),
    ("removed", "Items removed or purged", |counts| counts.totals.removed),
    ("replaced", "Items replaced by an add", |counts| counts.totals.replaced),
    ("expired_unleased", "Items that nobody leased before they expired", |counts| {
        counts.totals.expired_unleased
    }),
    ("cancelled", "Items that have ended because they were cancelled", |counts| {
        counts.totals.cancelled
    }),
];

/// Writes the counts of a snapshot.
///
/// # Errors
/// If the encoder fails.
pub fn encode_counts(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let kind = MetricType::Gauge;
    let mut items = encoder.encode_descriptor("items", "Items by queue and state", None, kind)?;
    for (queue, counts) in &snapshot.counts {
        for (state, count) in STATES {
            let labels = [("queue", queue.as_str()), ("state", state)];
            ConstGauge::new(count(counts) as i64).encode(items.encode_family(&labels)?)?;
        }
    }
    let age = "Age of the oldest ready item; 0 if none is ready";
    let mut ages = encoder.encode_descriptor("oldest_ready_seconds", age, None, kind)?;
    for (queue, counts) in &snapshot.counts {
        let seconds = counts.oldest_ready.map_or(0.0, |age| age.as_secs_f64());
        ConstGauge::new(seconds).encode(ages.encode_family(&[("queue", queue.as_str())])?)?;
    }
    let paused = "1 if leasing is paused";
    let mut paused = encoder.encode_descriptor("paused", paused, None, kind)?;
    for (queue, counts) in &snapshot.counts {
        let gauge = ConstGauge::new(i64::from(counts.paused));
        gauge.encode(paused.encode_family(&[("queue", queue.as_str())])?)?;
    }
    let limited = "1 if the rate of the queue is used up";
    let mut limited = encoder.encode_descriptor("rate_limited", limited, None, kind)?;
    for (queue, counts) in &snapshot.counts {
        let gauge = ConstGauge::new(i64::from(counts.rate_limited));
        gauge.encode(limited.encode_family(&[("queue", queue.as_str())])?)?;
    }
    for (name, help, count) in TOTALS {
        let mut total = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (queue, counts) in &snapshot.counts {
            let labels = [("queue", queue.as_str())];
            ConstCounter::new(count(counts)).encode(total.encode_family(&labels)?)?;
        }
    }
    Ok(())
}
