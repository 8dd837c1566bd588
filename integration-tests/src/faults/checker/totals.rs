//! The totals that the queue counts agree with the answers, except for unknown outcomes.

use super::history_index::HistoryIndex;
use super::violation::Violation;
use crate::faults::history::{Outcome, Settle, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let Some(totals) = index.history.totals else { return };
    let history = index.history;
    let settles = |wanted: fn(&Settle) -> bool| {
        count(history.settles.iter().filter(|settle| wanted(settle)).map(|settle| settle.outcome))
    };
    let changes = |what: What| {
        count(history.changes.iter().filter(|one| one.what == what).map(|one| one.outcome))
    };
    // At least and at most: what was told, and what was not.
    let known = |(yes, unknown): (u64, u64)| (yes, yes + unknown);
    let asks: u64 = history.asks.iter().map(|ask| ask.most).sum();
    let leased = history.leases.len() as u64;
    let replacing = history.adds.iter().filter(|add| add.options.replace);
    let replacing = replacing.filter(|add| add.outcome.may_be_done()).count() as u64;
    let expiring = history.adds.iter().filter(|add| add.options.expires_in_ms.is_some());
    let (buried, unburied) = changes(What::Bury);
    let (told_dead, _) = settles(|settle| settle.state.as_deref() == Some("dead"));
    let (_, failed) = settles(|settle| settle.how.fails());
    let most_dead =
        told_dead + failed + buried + unburied + totals.expired + totals.expired_unleased;
    let counted = [
        ("added", totals.added, known(count(history.adds.iter().map(|add| add.outcome)))),
        ("completed", totals.completed, known(settles(|settle| settle.how.completes()))),
        ("failed", totals.failed, known(settles(|settle| settle.how.fails()))),
        // A call whose leases had already expired asks again, any number of times.
        ("leased", totals.leased, (leased, leased + asks + totals.expired)),
        ("removed", totals.removed, known(changes(What::Remove))),
        ("replaced", totals.replaced, (0, replacing)),
        // A marked item is counted when its lease has ended, unless it was completed.
        ("cancelled", totals.cancelled, (0, known(changes(What::Cancel)).1)),
        ("expired unleased", totals.expired_unleased, (0, expiring.count() as u64)),
        ("died", totals.died, (told_dead + buried, most_dead)),
    ];
    let mut wrong = |what: String| found.push(Violation { id: None, what });
    for (what, total, (least, most)) in counted {
        if total < least || total > most {
            wrong(format!("{total} {what} by its count, but {least} to {most} told"));
        }
    }
    let left = history.left.iter().filter(|left| !left.seen.has_ended()).count() as u64;
    let gone = totals.completed + totals.cancelled + totals.removed + totals.replaced;
    // What has ended and is retained may be removed or replaced as well.
    let twice = if history.is_plain() { 0 } else { totals.removed + totals.replaced };
    if gone + left < totals.added || gone + left > totals.added + twice {
        let added = totals.added;
        wrong(format!("{added} added are not {gone} completed or gone, and {left} left"));
    }
}

/// How many are certain, and how many are open.
fn count(outcomes: impl Iterator<Item = Outcome>) -> (u64, u64) {
    outcomes.fold((0, 0), |(yes, unknown), outcome| match outcome {
        Outcome::Yes => (yes + 1, unknown),
        Outcome::Unknown => (yes, unknown + 1),
        _ => (yes, unknown),
    })
}
