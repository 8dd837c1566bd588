//! The options of the items that a schedule adds, for people.

use std::time::Duration;

use leaseq::ScheduleInfo;

use crate::{duration, text};

/// The options that are not the defaults, as one line that is safe to show; empty if all are.
pub fn item_options(info: &ScheduleInfo) -> String {
    let time = |name: &str, time: Duration| {
        (!time.is_zero()).then(|| format!("{name} {}", duration::show(time)))
    };
    let parts = [
        (info.priority > 0).then(|| format!("priority {}", info.priority)),
        time("delay", info.delay),
        info.max_attempts.map(|most| format!("max attempts {most}")),
        time("retain", info.retain),
        info.unique.as_ref().map(|key| format!("unique {}", text::id(key))),
        time("unique for", info.unique_for),
        info.replace.then(|| "replaces".to_owned()),
        info.successor.then(|| "waits as a successor".to_owned()),
        info.key.as_ref().map(|key| format!("key {}", text::id(key))),
        time("expires in", info.expires_in.unwrap_or_default()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
