//! At most one `complete` of a life returns true, and nothing happens after it.

use super::history_index::HistoryIndex;
use super::life::Life;
use super::violation::{Violation, violation};
use crate::faults::history::{How, Outcome, Settle, Span, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for life in index.lives.values() {
        at_most_one(life, found);
        nothing_after(index, life, found);
        for left in index.left_of(life) {
            if life.trues().next().is_some() && left.seen.state != "completed" {
                found.push(violation(&left.id, "was completed and is still there"));
            }
        }
        let falses = life
            .completes
            .iter()
            .filter(|settle| settle.how == How::Complete && settle.outcome == Outcome::No);
        for settle in falses.filter(|settle| !is_explained(index, life, settle)) {
            let what = format!("{} was told false, but nobody had completed it", settle.who);
            found.push(violation(life.id(), what));
        }
    }
}

fn at_most_one(life: &Life<'_>, found: &mut Vec<Violation>) {
    let trues: Vec<_> = life.trues().collect();
    if let [first, .., last] = trues[..] {
        let what = format!("{} and {} both completed it", first.who, last.who);
        found.push(violation(life.id(), what));
    }
}

/// After a true no lease is granted, in no generation, and no handle has an effect.
fn nothing_after(index: &HistoryIndex<'_>, life: &Life<'_>, found: &mut Vec<Violation>) {
    for done in life.trues() {
        let Some(ended) = done.span.ended else { continue };
        for lease in life.leases.iter().map(|i| index.lease(*i)) {
            if index.history.given_at(lease) > ended {
                let what = format!("{} was given it after {} completed it", lease.who, done.who);
                found.push(violation(&lease.id, what));
            }
        }
        for settle in index.uses(life) {
            let acts = !settle.how.completes() && settle.how != How::Look;
            if acts && settle.outcome == Outcome::Yes && settle.span.began > ended {
                let what = format!("{} could {:?} what was completed", settle.who, settle.how);
                found.push(violation(life.id(), what));
            }
        }
        for change in &life.changes {
            let acts = matches!(change.what, What::Bury | What::Requeue | What::Revise { .. });
            // Without an expected generation, it may have found the next item with this id.
            let same = index.target(change) == Some(life.add.data);
            let after = done.span.before(change.span);
            if acts && same && after && change.outcome == Outcome::Yes {
                let what = format!("{} {} after it was completed", change.who, change.what);
                found.push(violation(life.id(), what));
            }
        }
    }
}

/// A false means that the item, or the generation of the lease, was gone before the answer.
fn is_explained(index: &HistoryIndex<'_>, life: &Life<'_>, settle: &Settle) -> bool {
    let began = |span: Span| settle.span.ended.is_none_or(|ended| span.began <= ended);
    let mut completed = life.completes.iter().filter(|other| other.outcome.may_be_done());
    let mut changes = life.possible().filter(|change| began(change.span));
    // Nothing but a completion and a removal takes a leased item from its holder.
    let over = index.may_have_ended(settle.lease, settle.span);
    completed.any(|other| began(other.span))
        || changes.any(|change| change.what == What::Remove || over && change.what != What::Requeue)
        || over && life.replaced_by.iter().any(|by| began(by.span))
        // A sweep gives a new number to what has expired after its release.
        || over && life.add.options.expires_in_ms.is_some()
}
