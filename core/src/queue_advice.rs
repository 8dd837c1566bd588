//! Advice about queues that keep very many items that have ended.

use crate::doctor::Diagnosis;
use crate::engine::Engine;
use crate::item::Counts;
use crate::name::QueueName;
use crate::settings::Settings;
use crate::{ErrorKind, Result};

/// A queue that keeps more dead, or retained, items than this, and has no limit, may grow until the memory or the disk
/// is full.
const MANY: u64 = 100_000;
/// Of how many queues the items are counted.
const MAX_QUEUES: usize = 1_000;

/// Looks at the first queues by name. There is no advice about those that cannot be read, or not by this user.
pub(crate) async fn look(engine: &dyn Engine, diagnosis: &mut Diagnosis) {
    let Ok(mut found) = engine.queues().await else { return };
    found.names.sort();
    for name in found.names.iter().take(MAX_QUEUES).filter_map(|name| QueueName::new(name).ok()) {
        match read(engine, &name).await {
            Ok(Some((counts, settings))) => advise(&name, &counts, &settings, diagnosis),
            Err(e) if matches!(e.kind(), ErrorKind::Closed | ErrorKind::Unavailable) => return,
            Ok(None) | Err(_) => {}
        }
    }
}

/// `None` if it does not keep many items.
async fn read(engine: &dyn Engine, name: &QueueName) -> Result<Option<(Counts, Settings)>> {
    let counts = engine.counts(name).await?;
    if counts.dead.max(retained(&counts)) <= MANY {
        return Ok(None);
    }
    Ok(Some((counts, engine.settings(name).await?)))
}

fn retained(counts: &Counts) -> u64 {
    counts.completed.saturating_add(counts.cancelled)
}

fn advise(name: &QueueName, counts: &Counts, settings: &Settings, diagnosis: &mut Diagnosis) {
    let (dead, retained) = (counts.dead, retained(counts));
    if dead > MANY && settings.max_dead.is_none() && settings.max_dead_age.is_none() {
        diagnosis.hint(
            format!("queue {name} keeps {dead} dead items, and nothing limits them"),
            "requeue or purge them, or configure max_dead or max_dead_age",
        );
    }
    if retained > MANY && settings.max_retained.is_none() && settings.max_retained_age.is_none() {
        diagnosis.hint(
            format!("queue {name} keeps {retained} retained items, and nothing limits them"),
            "retain fewer or for a shorter time, or configure max_retained or max_retained_age",
        );
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn advice(dead: u64, completed: u64, settings: &Settings) -> Vec<String> {
        let mut diagnosis = Diagnosis::new("SQLite 3".into());
        let counts = Counts { dead, completed, cancelled: 1, ..Counts::default() };
        advise(&QueueName::new("jobs").unwrap(), &counts, settings, &mut diagnosis);
        assert!(diagnosis.is_fine(), "no guarantee is at risk");
        diagnosis.advice.into_iter().map(|advice| advice.found).collect()
    }

    #[test]
    fn many_items_without_a_limit_are_worth_a_hint() {
        let none = Settings::default();
        assert!(advice(MANY, MANY - 1, &none).is_empty());
        let both = advice(MANY + 1, MANY, &none);
        assert!(both[0].contains("queue jobs keeps 100001 dead"), "{both:?}");
        assert!(both[1].contains("queue jobs keeps 100001 retained"), "{both:?}");
        let (mut dead, mut retained) = (none.clone(), none);
        dead.max_dead = Some(1_000_000);
        retained.max_retained_age = Some(Duration::from_secs(1));
        assert_eq!(advice(MANY + 1, MANY, &dead).len(), 1);
        assert_eq!(advice(MANY + 1, MANY, &retained).len(), 1);
    }
}
