//! Reports as text and as JSON. The names in JSON are an interface: add some, change none.

use leaseq::{Counts, DeepReport};
use serde::Serialize;

/// The counts of a queue, with what autoscalers and dashboards read.
#[derive(Serialize)]
pub struct QueueCounts<'a> {
    /// The current work, for autoscalers.
    backlog: u64,
    oldest_ready_seconds: f64,
    #[serde(flatten)]
    counts: &'a Counts,
}

impl<'a> From<&'a Counts> for QueueCounts<'a> {
    fn from(counts: &'a Counts) -> Self {
        QueueCounts {
            backlog: counts.ready + counts.leased,
            oldest_ready_seconds: counts.oldest_ready.map_or(0.0, |age| age.as_secs_f64()),
            counts,
        }
    }
}

/// The damage in a few words.
pub fn summary(report: &DeepReport) -> String {
    if report.is_sound() {
        return "sound".into();
    }
    let found = report.found.iter().map(|(damage, count)| {
        let mended = report.mended.get(damage).copied().unwrap_or(0);
        match mended {
            0 => format!("{count} {}", damage.as_str()),
            _ => format!("{count} {} ({mended} mended)", damage.as_str()),
        }
    });
    found.collect::<Vec<_>>().join(", ")
}
