//! Prometheus metrics. Their names are an interface: the dashboard and the alerts use them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use leaseq::{Counts, Damage};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::snapshot::Snapshot;
use crate::state::QueueState;

pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of this process, and access to the counts of the queues.
pub(crate) struct Metrics {
    registry: Registry,
    queues: Queues,
    pub(crate) light_seconds: Histogram,
    pub(crate) deep_seconds: Histogram,
    pub(crate) errors: Counter,
    pub(crate) skipped_names: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let light_seconds = Histogram::new([0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0]);
        let deep_seconds = Histogram::new([0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0]);
        let (errors, queues) = (Counter::default(), Queues::default());
        let skipped_names = Gauge::default();
        let mut registry = Registry::with_prefix("leaseq");
        let light = "Duration of light cleans that moved items";
        registry.register("light_clean_seconds", light, light_seconds.clone());
        let deep = "Duration of deep cleans";
        registry.register("deep_clean_seconds", deep, deep_seconds.clone());
        registry.register("cleaner_errors", "Failed steps of the cleaner", errors.clone());
        let skipped = "Entries in the list of queues that are not valid names";
        registry.register("skipped_names", skipped, skipped_names.clone());
        registry.register_collector(Box::new(queues.clone()));
        Metrics { registry, queues, light_seconds, deep_seconds, errors, skipped_names }
    }

    /// As text, with the counts of this snapshot.
    pub(crate) fn encode(&self, snapshot: Arc<Snapshot>) -> Result<String, fmt::Error> {
        *self.queues.0.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

/// The counts of the queues.
#[derive(Debug, Clone, Default)]
struct Queues(Arc<Mutex<Arc<Snapshot>>>);

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

type Damages = fn(&QueueState) -> &BTreeMap<Damage, u64>;

const DAMAGES: [(&str, &str, Damages); 2] = [
    ("damage_found", "Damage found by deep cleans", |queue| &queue.found),
    ("damage_mended", "Damage mended by deep cleans", |queue| &queue.mended),
];

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let snapshot = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kind = MetricType::Gauge;
        let up = "1 if the server responds, 0 if not; then the counts of queues are missing";
        let up = encoder.encode_descriptor("up", up, None, kind)?;
        ConstGauge::new(i64::from(snapshot.error.is_none())).encode(up)?;
        let mut items =
            encoder.encode_descriptor("items", "Items by queue and state", None, kind)?;
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
        let up = "1 if the queue is cleaned, 0 if that fails";
        let mut up = encoder.encode_descriptor("queue_up", up, None, kind)?;
        for (queue, state) in &snapshot.queues {
            let gauge = ConstGauge::new(i64::from(state.failure().is_none()));
            gauge.encode(up.encode_family(&[("queue", queue.as_str())])?)?;
        }
        for (name, help, damages) in DAMAGES {
            let mut total = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (queue, state) in &snapshot.queues {
                for (damage, count) in damages(state) {
                    let labels = [("queue", queue.as_str()), ("damage", damage.as_str())];
                    ConstCounter::new(*count).encode(total.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }
}
