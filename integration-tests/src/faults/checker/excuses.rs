//! What the loss of the last window explains.

use std::collections::BTreeSet;

use crate::faults::history::{History, Time};

/// Items with calls in a window in which operations may be lost or repeated, and their unique keys.
pub(super) fn excuses(history: &History) -> BTreeSet<&str> {
    let within = |began: Time, ended: Option<Time>| {
        history
            .windows
            .iter()
            .any(|(from, until)| began <= *until && ended.is_none_or(|ended| ended >= *from))
    };
    let adds = history.adds.iter().filter(|add| within(add.span.began, add.span.ended));
    // A lease call may have waited long before it got a lease.
    let leases = history.leases.iter().filter(|lease| {
        lease
            .span
            .ended
            .is_some_and(|ended| within(history.given_at(lease).min(ended), Some(ended)))
    });
    let settles = history
        .settles
        .iter()
        .filter(|settle| within(settle.span.began, settle.span.ended))
        .map(|settle| history.leases[settle.lease].id.as_str());
    let changes = history.changes.iter().filter(|one| within(one.span.began, one.span.ended));
    let mut excused: BTreeSet<&str> = adds
        .map(|add| add.id.as_str())
        .chain(leases.map(|lease| lease.id.as_str()))
        .chain(settles)
        .chain(changes.map(|change| change.id.as_str()))
        .collect();
    // A key that came back, or was lost, concerns all items that have it.
    let key = |add: &&crate::faults::history::Add| excused.contains(add.id.as_str());
    let keys: BTreeSet<&str> =
        history.adds.iter().filter(key).filter_map(|add| add.options.key.as_deref()).collect();
    let with_key = history
        .adds
        .iter()
        .filter(|add| add.options.key.as_deref().is_some_and(|key| keys.contains(key)));
    excused.extend(with_key.map(|add| add.id.as_str()).collect::<Vec<_>>());
    excused.extend(keys);
    excused
}
