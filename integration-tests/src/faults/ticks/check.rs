//! Compares what was leased with what the schedule has promised.

use std::collections::{BTreeMap, BTreeSet};

/// What a schedule has done.
pub(super) struct Ticked {
    /// Its first tick, and the first one that it has not processed, in ms.
    pub(super) first: u64,
    pub(super) next: u64,
    pub(super) every: u64,
    /// How many items the queue has counted.
    pub(super) added: u64,
    /// The generations that were leased, by id.
    pub(super) generations: BTreeMap<String, BTreeSet<String>>,
}

/// What is wrong: each tick adds exactly one item, under an id of its own.
pub(super) fn check(ticked: &Ticked) -> Vec<String> {
    let mut faults = Vec::new();
    let ticks = ticked.next.saturating_sub(ticked.first) / ticked.every;
    if ticked.added != ticks {
        faults.push(format!("{ticks} ticks have added {} items", ticked.added));
    }
    let ids = ticked.generations.len() as u64;
    if ids != ticked.added {
        faults.push(format!("{} items were added, and {ids} ids were leased", ticked.added));
    }
    for (id, generations) in &ticked.generations {
        if generations.len() > 1 {
            faults.push(format!("the tick {id} has added an item {} times", generations.len()));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticked(added: u64, leased: &[(&str, &[&str])]) -> Ticked {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let generations = leased.iter().map(|(id, all)| ((*id).to_owned(), owned(all))).collect();
        Ticked { first: 1_000, next: 1_300, every: 100, added, generations }
    }

    #[test]
    fn one_item_for_each_tick_is_right() {
        assert!(check(&ticked(3, &[("a", &["1"]), ("b", &["2"]), ("c", &["3"])])).is_empty());
    }

    #[test]
    fn every_violation_is_found() {
        let lost = check(&ticked(2, &[("a", &["1"]), ("b", &["2"])]));
        assert_eq!(lost, ["3 ticks have added 2 items"]);
        let unseen = check(&ticked(3, &[("a", &["1"]), ("b", &["2"])]));
        assert_eq!(unseen, ["3 items were added, and 2 ids were leased"]);
        let twice = check(&ticked(4, &[("a", &["1", "4"]), ("b", &["2"]), ("c", &["3"])]));
        assert_eq!(twice.len(), 3, "{twice:?}");
        assert!(twice[2].contains("a has added an item 2 times"));
    }
}
