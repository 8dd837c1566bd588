//! How the public reports are serialised. Every face shows them under these names.

use std::time::Duration;

use serde::Serializer;

/// A duration in whole milliseconds, or null.
pub(crate) fn ms<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => {
            serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
        }
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{json, to_value};

    use crate::clean::{Damage, DeepReport, LightReport};
    use crate::doctor::{Diagnosis, Durability};
    use crate::item::{Counts, State};

    #[test]
    fn counts_have_the_names_of_the_contract() {
        let mut counts = Counts { ready: 2, dead: 1, paused: true, ..Counts::default() };
        counts.ready_by_priority[9] = 2;
        counts.oldest_ready = Some(Duration::from_micros(1_500_900));
        counts.totals.died = 3;
        let expected = json!({
            "ready": 2,
            "ready_by_priority": [0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
            "delayed": 0,
            "leased": 0,
            "dead": 1,
            "completed": 0,
            "cancelled": 0,
            "held": 0,
            "oldest_ready_ms": 1_500,
            "paused": true,
            "rate_limited": false,
            "totals": {
                "added": 0,
                "leased": 0,
                "completed": 0,
                "expired": 0,
                "failed": 0,
                "died": 3,
                "removed": 0,
                "replaced": 0,
                "expired_unleased": 0,
                "cancelled": 0,
            },
        });
        assert_eq!(to_value(&counts).unwrap(), expected);
        assert_eq!(to_value(Counts::default()).unwrap()["oldest_ready_ms"], json!(null));
    }

    #[test]
    fn reports_of_a_clean_have_the_names_of_the_contract() {
        let light = LightReport { promoted: 1, next_in: Some(Duration::MAX), ..Default::default() };
        let expected =
            json!({ "promoted": 1, "expired": 0, "died": 0, "removed": 0, "next_in_ms": u64::MAX });
        assert_eq!(to_value(light).unwrap(), expected);
        let mut deep = DeepReport { items: 5, ..DeepReport::default() };
        assert_eq!(to_value(&deep).unwrap()["sound"], true);
        deep.note(Damage::Stray, 2, true, "item 1");
        let expected = json!({
            "sound": false,
            "items": 5,
            "idle_lanes": 0,
            "found": { "items in no state": 2 },
            "mended": { "items in no state": 2 },
            "details": ["items in no state: item 1"],
        });
        assert_eq!(to_value(&deep).unwrap(), expected);
    }

    #[test]
    fn a_diagnosis_has_the_names_of_the_contract() {
        let mut diagnosis = Diagnosis::new("SQLite 3".into());
        diagnosis.at_most(Durability::Window);
        diagnosis.settings.insert("page_size".into(), "4096".into());
        diagnosis.hint("slow", "buy");
        let expected = json!({
            "engine": "SQLite 3",
            "durability": "window",
            "meaning": Durability::Window.meaning(),
            "fine": true,
            "settings": { "page_size": "4096" },
            "advice": [{ "problem": false, "found": "slow", "change": "buy" }],
        });
        assert_eq!(to_value(&diagnosis).unwrap(), expected);
    }

    #[test]
    fn words_are_serialised_as_as_str_gives_them() {
        for state in State::ALL {
            assert_eq!(to_value(state).unwrap(), state.as_str());
        }
        for durability in [
            Durability::Full,
            Durability::Window,
            Durability::Unknown,
            Durability::Snapshot,
            Durability::Nothing,
        ] {
            assert_eq!(to_value(durability).unwrap(), durability.as_str());
        }
    }
}
