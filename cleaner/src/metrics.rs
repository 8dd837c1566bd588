//! Prometheus metrics. Their names are an interface: the dashboard and the alerts use them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use leaseq::Damage;
use leaseq_report::encode_counts;
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
        ConstGauge::new(i64::from(snapshot.counted.error.is_none())).encode(up)?;
        encode_counts(&snapshot.counted, &mut encoder)?;
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
