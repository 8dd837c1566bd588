//! At most one `complete` of a generation returns true, and nothing happens after it.

use super::history_index::{HistoryIndex, Life};
use super::violation::{Violation, violation};
use crate::faults::history::{How, Outcome};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for generation in index.generations.keys() {
        at_most_one(index, *generation, found);
        nothing_after(index, *generation, found);
    }
    // A generation has one add; `adds` reports it otherwise.
    for left in &index.history.left {
        if index.completes_of(left.data).any(|settle| settle.outcome == Outcome::Yes) {
            found.push(violation(&left.id, "was completed and is still there"));
        }
    }
    for add in &index.history.adds {
        let trues = index.completes_of(add.data).filter(|settle| settle.outcome == Outcome::Yes);
        let several = index.of_add.get(&add.data).is_some_and(|all| all.len() > 1);
        if several && trues.count() > 1 {
            found.push(violation(&add.id, "was added once and completed twice"));
        }
    }
    falses(index, found);
}

fn at_most_one<'a>(index: &HistoryIndex<'a>, generation: Life<'a>, found: &mut Vec<Violation>) {
    let trues: Vec<_> = index.trues(generation).collect();
    if let [first, .., last] = trues[..] {
        let what = format!("{} and {} both completed it", first.who, last.who);
        found.push(violation(index.id_of(first), what));
    }
}

/// After a true no lease of the generation is granted, and no handle has an effect.
fn nothing_after<'a>(index: &HistoryIndex<'a>, generation: Life<'a>, found: &mut Vec<Violation>) {
    for done in index.trues(generation) {
        let Some(ended) = done.span.ended else { continue };
        for i in &index.generations[&generation] {
            let lease = &index.history.leases[*i];
            if index.history.given_at(lease) > ended {
                let what = format!("{} was given it after {} completed it", lease.who, done.who);
                found.push(violation(&lease.id, what));
            }
            for settle in &index.settles[*i] {
                let acts = !settle.how.completes() && settle.how != How::Look;
                if acts && settle.outcome == Outcome::Yes && settle.span.began > ended {
                    let what = format!("{} could {:?} what was completed", settle.who, settle.how);
                    found.push(violation(&lease.id, what));
                }
            }
        }
    }
}

/// A false means that the item was gone: another call completed it before this one was answered.
fn falses(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let falses = index
        .history
        .settles
        .iter()
        .filter(|settle| settle.how == How::Complete && settle.outcome == Outcome::No);
    for settle in falses {
        let explained = index.completes(index.life(settle.lease)).any(|other| {
            other.outcome.may_be_done()
                && settle.span.ended.is_none_or(|ended| other.span.began <= ended)
        });
        if !explained {
            let what = format!("{} was told false, but nobody had completed it", settle.who);
            found.push(violation(index.id_of(settle), what));
        }
    }
}
