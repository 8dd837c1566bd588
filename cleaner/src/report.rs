//! Reports as text and as JSON. The names in JSON are an interface: add some, change none.

use leaseq::{Counts, DeepReport, Diagnosis, LightReport};
use serde_json::{Map, Value, json};

pub(crate) fn light(report: &LightReport) -> Value {
    json!({ "promoted": report.promoted, "expired": report.expired, "died": report.died })
}

pub(crate) fn deep(report: &DeepReport) -> Value {
    let by_damage =
        |counts: &std::collections::BTreeMap<leaseq::Damage, u64>| -> Map<String, Value> {
            counts.iter().map(|(damage, count)| (damage.as_str().into(), (*count).into())).collect()
        };
    json!({
        "sound": report.is_sound(),
        "items": report.items,
        "idle_lanes": report.idle_lanes,
        "found": by_damage(&report.found),
        "mended": by_damage(&report.mended),
        "details": report.details,
    })
}

pub(crate) fn counts(counts: &Counts) -> Value {
    let totals = &counts.totals;
    json!({
        // The current work, for autoscalers.
        "backlog": counts.ready + counts.leased,
        "ready": counts.ready,
        "delayed": counts.delayed,
        "leased": counts.leased,
        "dead": counts.dead,
        "oldest_ready_seconds": counts.oldest_ready.map_or(0.0, |age| age.as_secs_f64()),
        "paused": counts.paused,
        "totals": {
            "added": totals.added,
            "leased": totals.leased,
            "completed": totals.completed,
            "expired": totals.expired,
            "failed": totals.failed,
            "dead": totals.died,
            "removed": totals.removed,
        },
    })
}

pub(crate) fn diagnosis(diagnosis: &Diagnosis) -> Value {
    let advice = diagnosis.advice.iter().map(|advice| {
        json!({ "problem": advice.problem, "found": advice.found, "change": advice.change })
    });
    json!({
        "engine": diagnosis.engine,
        "durability": diagnosis.durability.as_str(),
        "meaning": diagnosis.durability.meaning(),
        "fine": diagnosis.is_fine(),
        "settings": diagnosis.settings,
        "advice": advice.collect::<Vec<_>>(),
    })
}

/// The damage in a few words.
pub(crate) fn summary(report: &DeepReport) -> String {
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
