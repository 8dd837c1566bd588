//! A retained item shows the result of its completer, as long as it is retained and no longer.

use super::clock::CLOCK_MS;
use super::history_index::HistoryIndex;
use super::life::Life;
use super::times::Has;
use super::violation::{Violation, violation};
use crate::faults::history::{Look, Seen, Span};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for life in index.lives.values() {
        let mut first: Option<&Seen> = None;
        for (span, seen) in looks(index, life) {
            result(life, seen, &mut first, found);
            time(index, life, span, seen, found);
            state(life, span, seen, found);
        }
        there(index, life, found);
    }
    unknown(index, found);
}

/// What was seen of the item, and when; at the end of the run by everybody.
fn looks<'a>(index: &'a HistoryIndex<'_>, life: &'a Life<'_>) -> Vec<(Span, &'a Seen)> {
    let looks = index.looks_at(life.id()).filter_map(|look| Some((look.span, look.seen.as_ref()?)));
    let own = looks.filter(|(_, seen)| index.origin(seen.data) == Some(life.add.data));
    let left = index.left_of(life).filter_map(|left| Some((index.history.left_at?, &left.seen)));
    own.chain(left).collect()
}

/// Only its completer writes the result, and nobody changes it.
fn result<'a>(
    life: &Life<'_>,
    seen: &'a Seen,
    first: &mut Option<&'a Seen>,
    found: &mut Vec<Violation>,
) {
    if seen.state != "completed" {
        if seen.result.is_some() {
            found.push(violation(life.id(), format!("has a result, but is {}", seen.state)));
        }
        return;
    }
    let completers = life.completers();
    if completers.is_empty() {
        found.push(violation(life.id(), "is shown as completed, but nobody has completed it"));
    } else if !completers.iter().any(|done| done.kept.result == seen.result) {
        found.push(violation(life.id(), "has a result that its completer did not give"));
    } else if !completers.iter().any(|done| life.retained_by(done) > 0) {
        found.push(violation(life.id(), "is retained, but nobody asked for that"));
    }
    let before = first.get_or_insert(seen);
    if before.result != seen.result {
        found.push(violation(life.id(), "has another result than before"));
    }
}

/// Nobody sees it after its time.
fn time(
    index: &HistoryIndex<'_>,
    life: &Life<'_>,
    span: Span,
    seen: &Seen,
    found: &mut Vec<Violation>,
) {
    let until = seen.kept_until_ms.and_then(|ms| index.history.time_of(ms + CLOCK_MS));
    let over = until.is_some_and(|until| until < span.began);
    let told = life.trues().next().filter(|_| seen.state == "completed").and_then(|done| {
        let until = index.history.latest(done.span.ended?, life.retained_by(done))?;
        Some(until < span.began)
    });
    if over || told == Some(true) {
        found.push(violation(life.id(), "is seen after the time for which it is retained"));
    }
}

/// After a completion it is completed.
fn state(life: &Life<'_>, span: Span, seen: &Seen, found: &mut Vec<Violation>) {
    if let Some(done) = life.trues().find(|done| done.span.before(span))
        && seen.state != "completed"
    {
        let what = format!("is {}, but {} has completed it", seen.state, done.who);
        found.push(violation(life.id(), what));
    }
}

/// What is certainly there is seen.
fn there(index: &HistoryIndex<'_>, life: &Life<'_>, found: &mut Vec<Violation>) {
    let times = index.certainly(life, Has::Id);
    let within = |span: Span| {
        let ended = |until| span.ended.is_some_and(|ended| ended < until);
        times.iter().any(|(from, until)| *from < span.began && ended(*until))
    };
    let missed = |look: &&Look| {
        let data = look.seen.as_ref().map(|seen| index.origin(seen.data));
        data != Some(Some(life.add.data)) && within(look.span)
    };
    for look in index.looks_at(life.id()).filter(|look| !look.listed).filter(missed) {
        found.push(violation(life.id(), format!("was there, but {} did not see it", look.who)));
    }
    let at_end = index.history.left_at.is_some_and(within);
    if at_end && life.trues().next().is_some() && index.left_of(life).next().is_none() {
        found.push(violation(life.id(), "was completed and retained, and is lost"));
    }
}

/// Every item that is seen was added.
fn unknown(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for look in &index.history.looks {
        let Some(seen) = &look.seen else { continue };
        let origin = index.origin(seen.data).and_then(|origin| index.adds.get(&origin));
        if origin.is_none_or(|add| add.id != look.id) {
            found.push(violation(&look.id, "was seen with data that nobody has given it"));
        }
    }
}
