//! No key has more current leases than its limit, nothing stays held, and held items keep their order.

use std::collections::BTreeMap;

use super::clock::CLOCK_MS;
use super::history_index::HistoryIndex;
use super::life::Life;
use super::violation::{Violation, violation};
use crate::faults::history::{ServerClock, Settle, Time, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let history = index.history;
    for left in history.left.iter().filter(|left| left.seen.state == "held") {
        found.push(violation(&left.id, "is held for ever"));
    }
    let is_known = matches!(history.clock, ServerClock::Runs { .. })
        && history.windows.is_empty()
        && !history.two_masters;
    if !is_known {
        return;
    }
    let mut by_key: BTreeMap<&str, Vec<&Life<'_>>> = BTreeMap::new();
    for life in index.lives.values() {
        if let Some(key) = &life.add.options.limit_key {
            by_key.entry(key).or_default().push(life);
        }
    }
    for (key, lives) in by_key {
        limit(index, key, &lives, found);
        order(index, &lives, found);
    }
}

/// When a lease was certainly current: from its receipt to whatever may have ended it first, at the earliest.
fn current(index: &HistoryIndex<'_>, life: &Life<'_>, lease: usize) -> Option<(Time, Time)> {
    let received = index.lease(lease);
    let deadline = index.history.time_of(received.deadline_ms.saturating_sub(CLOCK_MS))?;
    let may_be = |settle: &&Settle| settle.outcome.may_be_done();
    let own = index.settles[lease].iter().copied().filter(may_be);
    let own = own.filter(|settle| settle.how.completes() || settle.how.gives_back());
    let others = life.completes.iter().copied().filter(may_be);
    let removed = life.possible().filter(|change| change.what == What::Remove);
    let ends = own.chain(others).map(|settle| settle.span.began);
    let ends = ends.chain(removed.map(|change| change.span.began));
    let from = received.span.ended?;
    let until = ends.chain([deadline]).min()?;
    (from < until).then_some((from, until))
}

fn limit(index: &HistoryIndex<'_>, key: &str, lives: &[&Life<'_>], found: &mut Vec<Violation>) {
    let each = lives.iter().flat_map(|life| life.leases.iter().map(|lease| (*life, *lease)));
    let mut steps = Vec::new();
    for (from, until) in each.filter_map(|(life, lease)| current(index, life, lease)) {
        steps.extend([(from, 1_i64), (until, -1)]);
    }
    // One that ends at a time makes room for one that begins then.
    steps.sort_unstable();
    let (mut now, most) = (0, index.history.key_limit as i64);
    for (at, change) in steps {
        now += change;
        if now > most {
            let what = format!("{now} leases of {key} are current at {at:?}, its limit is {most}");
            return found.push(Violation { id: None, what });
        }
    }
}

/// An item that waited certainly before another one of its key and priority is leased before it. An item that may have
/// been leased or moved before proves nothing.
fn order(index: &HistoryIndex<'_>, lives: &[&Life<'_>], found: &mut Vec<Violation>) {
    let history = index.history;
    let mut firsts = Vec::new();
    for life in lives.iter().filter(|life| !life.add.options.delayed && life.changes.is_empty()) {
        let first = life.leases.iter().map(|i| index.lease(*i)).min_by_key(|one| one.span.began);
        let Some(first) = first.filter(|first| first.attempt == 1) else { continue };
        let hidden = |from: Time, until: Time| {
            history.asks.iter().any(|ask| {
                ask.span.began <= until && ask.span.ended.is_none_or(|ended| ended >= from)
            })
        };
        let Some(ended) = first.span.ended else { continue };
        if !hidden(life.add.span.began, ended) {
            firsts.push((life, first));
        }
    }
    for (earlier, its) in &firsts {
        let overtaken = firsts.iter().find(|(later, other)| {
            later.add.options.priority == earlier.add.options.priority
                && earlier.add.span.before(later.add.span)
                && other.span.before(its.span)
        });
        if let Some((later, _)) = overtaken {
            let what = format!("was overtaken by {}, which was added later", later.id());
            found.push(violation(earlier.id(), what));
        }
    }
}
