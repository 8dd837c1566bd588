//! What was removed, cancelled, buried or dead is not leased again; what was revised is leased with the new data only;
//! and nobody changes what they have not seen.

use super::history_index::HistoryIndex;
use super::life::Life;
use super::times::Has;
use super::violation::{Violation, violation};
use crate::faults::history::{Change, How, Outcome, Span, Time, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for life in index.lives.values() {
        for change in life.changes.iter().filter(|change| change.outcome == Outcome::Yes) {
            // A change that is true has found this item, or it was gone by then. In both cases it is not there
            // any more as it was.
            if life.add.span.before(change.span) {
                ended(index, life, change, found);
                renewed(index, life, change, found);
            }
            seen(index, life, change, found);
        }
        refused(index, life, found);
        died(index, life, found);
    }
    revised(index, found);
}

/// After `remove` and `cancel` there are no further leases. Leased items are only marked: then their lease goes on.
fn ended(index: &HistoryIndex<'_>, life: &Life<'_>, change: &Change, found: &mut Vec<Violation>) {
    let (What::Remove | What::Cancel, Some(at)) = (change.what, change.span.ended) else { return };
    let done = if change.what == What::Remove { "removed" } else { "cancelled" };
    for lease in life.leases.iter().map(|i| index.lease(*i)) {
        if index.history.given_at(lease) > at {
            let what = format!("was given to {} after {} had {done} it", lease.who, change.who);
            found.push(violation(&change.id, what));
        }
    }
    for settle in index.uses(life) {
        let removed = change.what == What::Remove && settle.span.began > at;
        let acts = settle.how != How::Look;
        if removed && acts && settle.outcome == Outcome::Yes {
            let what = format!("{} could {:?} what was removed", settle.who, settle.how);
            found.push(violation(&change.id, what));
        }
        let came_back = matches!(settle.state.as_deref(), Some("ready" | "delayed" | "dead"));
        if change.what == What::Cancel && came_back && change.span.before(settle.span) {
            let what = format!("was cancelled, and came back when {} failed", settle.who);
            found.push(violation(&change.id, what));
        }
    }
    for left in index.left_of(life).filter(|left| !left.seen.has_ended()) {
        found.push(violation(&change.id, format!("was {done} and is still {}", left.seen.state)));
    }
}

/// `bury` and `revise` find no leased item, and leave nothing to earlier holders.
fn renewed(index: &HistoryIndex<'_>, life: &Life<'_>, change: &Change, found: &mut Vec<Violation>) {
    if !matches!(change.what, What::Bury | What::Revise { .. }) {
        return;
    }
    for i in &life.leases {
        let lease = index.lease(*i);
        if !lease.span.before(change.span) {
            continue;
        }
        for settle in &index.settles[*i] {
            let acts = settle.how != How::Look;
            if acts && settle.outcome == Outcome::Yes && change.span.before(settle.span) {
                let what = format!("{} could {:?} an earlier generation", settle.who, settle.how);
                found.push(violation(&change.id, what));
            }
        }
        let same = index.target(change) == Some(life.add.data);
        if same && index.is_leased_throughout(life, *i, change.span) {
            let what = format!("{}, although {} had leased it", change.what, lease.who);
            found.push(violation(&change.id, format!("{} {what}", change.who)));
        }
    }
}

/// An expected generation is the one that the item has.
fn seen(index: &HistoryIndex<'_>, life: &Life<'_>, change: &Change, found: &mut Vec<Violation>) {
    let Some(look) = change.expects.map(|look| &index.history.looks[look]) else { return };
    let between = |span: Span| look.span.before(span) && span.before(change.span);
    let other = life.changes.iter().find(|other| {
        let renews = match other.what {
            What::Bury | What::Revise { .. } | What::Remove => true,
            // Marks do not change the generation; see `ended` for what waits.
            What::Cancel | What::Requeue => false,
        };
        renews && other.outcome == Outcome::Yes && between(other.span)
    });
    // A retained item keeps its generation, and can be removed.
    let gone = |retain_ms| change.what != What::Remove || retain_ms == 0;
    let completed = life.trues().any(|done| between(done.span) && gone(life.retained_by(done)));
    let again = index.by_id[life.id()]
        .iter()
        .any(|add| add.outcome == Outcome::Yes && add.data != life.add.data && between(add.span));
    if other.is_some() || completed || again {
        let what = format!("{} {}, but has not seen this generation", change.who, change.what);
        found.push(violation(&change.id, what));
    }
}

/// `remove` and `cancel` find what is certainly there.
fn refused(index: &HistoryIndex<'_>, life: &Life<'_>, found: &mut Vec<Violation>) {
    let refused = life.changes.iter().filter(|change| {
        // Whether an expected generation was the right one is not certain.
        change.outcome == Outcome::No && change.expects.is_none()
    });
    for change in refused {
        let has = match change.what {
            What::Remove => Has::Id,
            What::Cancel => Has::Place,
            _ => continue,
        };
        let there = index.certainly(life, has).into_iter().any(|(from, until)| {
            from < change.span.began && change.span.ended.is_some_and(|ended| ended < until)
        });
        if there {
            let what = format!("{} {}: false, but it was there", change.who, change.what);
            found.push(violation(&change.id, what));
        }
    }
}

/// A dead item is leased only after somebody has requeued it.
fn died(index: &HistoryIndex<'_>, life: &Life<'_>, found: &mut Vec<Violation>) {
    let buried = life.changes.iter().filter(|change| {
        change.what == What::Bury
            && change.outcome == Outcome::Yes
            && life.add.span.before(change.span)
    });
    let failed = index.uses(life).filter(|settle| settle.state.as_deref() == Some("dead"));
    let spans = buried.map(|change| change.span).chain(failed.map(|settle| settle.span));
    for dead in spans {
        for lease in life.leases.iter().map(|i| index.lease(*i)) {
            let after = dead.ended.is_some_and(|at| index.history.given_at(lease) > at);
            if after && !may_be_requeued(life, dead.began, lease.span.ended) {
                found.push(violation(life.id(), format!("was given to {} when dead", lease.who)));
            }
        }
    }
}

/// Whether somebody may have requeued it between these times.
pub(super) fn may_be_requeued(life: &Life<'_>, from: Time, until: Option<Time>) -> bool {
    life.possible().any(|change| {
        change.what == What::Requeue
            && change.span.ended.is_none_or(|ended| ended >= from)
            && until.is_none_or(|until| change.span.began <= until)
    })
}

/// After a revision the item has the new data only.
fn revised(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for life in index.lives.values() {
        let revisions = life.changes.iter().filter(|change| {
            matches!(change.what, What::Revise { data: Some(_), .. })
                && change.outcome == Outcome::Yes
        });
        for revision in revisions {
            let Some(at) = revision.span.ended else { continue };
            for lease in life.leases.iter().map(|i| index.lease(*i)) {
                let since = match index.revisions.get(&lease.data) {
                    Some((change, _)) => change.span,
                    None => life.add.span,
                };
                if since.before(revision.span) && index.history.given_at(lease) > at {
                    let what = format!("was given to {} with data from before", lease.who);
                    found.push(violation(&revision.id, format!("{what} its revision")));
                }
            }
        }
    }
}
