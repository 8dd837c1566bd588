//! An id belongs to one item at a time, and so does a unique key.

use super::history_index::HistoryIndex;
use super::life::Life;
use super::times::Has;
use super::violation::{Violation, violation};
use crate::faults::history::{Add, Outcome, Span, Time, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for (id, adds) in &index.by_id {
        one_at_a_time(index, id, adds, Has::Id, found);
    }
    for (key, adds) in &index.by_key {
        one_at_a_time(index, key, adds, Has::Key, found);
    }
    for life in index.lives.values() {
        for by in life.replaced_by.iter().filter(|by| by.outcome == Outcome::Yes) {
            for i in life.leases.iter().filter(|i| index.is_leased_throughout(life, **i, by.span)) {
                let what = format!("was replaced while {} had leased it", index.lease(*i).who);
                found.push(violation(life.id(), what));
            }
        }
    }
}

/// No item gets the name while another one certainly has it.
fn one_at_a_time(
    index: &HistoryIndex<'_>,
    name: &str,
    adds: &[&Add],
    has: Has,
    found: &mut Vec<Violation>,
) {
    if adds.len() < 2 {
        return;
    }
    let lives = adds.iter().filter_map(|add| index.lives.get(&add.data));
    let lives: Vec<(&Life<'_>, Vec<(Time, Time)>)> =
        lives.map(|life| (life, index.certainly(life, has))).collect();
    let before = found.len();
    for (i, (life, times)) in lives.iter().enumerate() {
        let others = || lives.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
        for (from, until) in times {
            let within =
                |span: Span| *from < span.began && span.ended.is_some_and(|ended| ended < *until);
            for (other, _) in others() {
                if other.add.outcome == Outcome::Yes && within(other.add.span) {
                    let what = match has {
                        Has::Id => "was added again while it was there".to_owned(),
                        _ => format!("{} and {} both have it", life.id(), other.id()),
                    };
                    found.push(violation(name, what));
                    continue;
                }
                for span in shows(index, other, has).into_iter().filter(|span| within(*span)) {
                    let (at, who) = (span.began.as_secs_f64(), life.id());
                    let what =
                        format!("{} was alive at {at:.3} s although {who} has it", other.id());
                    found.push(violation(name, what));
                }
            }
        }
    }
    if found.len() == before {
        at_once(name, &lives, found);
    }
}

/// Also if the calls met, so that neither shows it alone.
fn at_once(name: &str, lives: &[(&Life<'_>, Vec<(Time, Time)>)], found: &mut Vec<Violation>) {
    for (i, (life, times)) in lives.iter().enumerate() {
        for (other, others) in &lives[i + 1..] {
            let meet = |(from, until): &(Time, Time)| {
                others.iter().any(|(start, end)| from.max(start) < until.min(end))
            };
            if times.iter().any(meet) {
                let what = format!("{} and {} both have it at once", life.id(), other.id());
                found.push(violation(name, what));
            }
        }
    }
}

/// Calls within which the item was alive: it was leased, or requeued.
fn shows(index: &HistoryIndex<'_>, life: &Life<'_>, has: Has) -> Vec<Span> {
    let leases = life.leases.iter().map(|i| index.lease(*i));
    let leased = leases.map(|lease| Span { began: index.history.given_at(lease), ..lease.span });
    let requeued = life.possible().filter(|change| {
        has == Has::Key
            && change.what == What::Requeue
            && change.outcome == Outcome::Yes
            && index.target(change) == Some(life.add.data)
    });
    leased.chain(requeued.map(|change| change.span)).collect()
}
