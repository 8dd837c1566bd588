//! Every order in which answers and reports can arrive.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::state::Receivers;
use super::state::{Next, State};
use crate::engine::{Awaited, Ended, EndingPlace, EndingReport, Endings, Found, Outcomes, Subject};
use crate::item::Outcome;

const COMPLETED: Ended = Ended::Completed { retained: false };
const RETAINED: Ended = Ended::Completed { retained: true };

fn id() -> Subject {
    Subject::Item(Bytes::from_static(b"a"))
}

fn place(place: u64) -> EndingPlace {
    EndingPlace(place, 0)
}

fn completed(result: Option<&'static str>) -> Outcome {
    Outcome::Completed { result: result.map(Bytes::from), retained: result.is_some() }
}

/// The next request, at a time when every id is asked about.
fn ask(state: &mut State) -> (Vec<Awaited>, u64, Option<EndingPlace>) {
    match state.next(Instant::now() + Duration::from_secs(60)) {
        Next::Ask(items, last) => (items, last, state.read_to()),
        _ => panic!("there is something to ask"),
    }
}

fn answer(
    state: &mut State,
    (items, last, read_to): (Vec<Awaited>, u64, Option<EndingPlace>),
    at: u64,
    found: Found,
) -> bool {
    let found = items.iter().map(|_| found.clone()).collect();
    let answer = Outcomes { place: place(at), found, endings: Endings::default() };
    state.answered(&items, last, read_to, answer)
}

/// The request was made earlier, and all reports before its answer have come with it.
fn answer_with(state: &mut State, at: u64, found: Found, reports: &[(u64, &'static str, Ended)]) {
    let (items, last, read_to) = ask(state);
    let found = items.iter().map(|_| found.clone()).collect();
    let answer = Outcomes { place: place(at), found, endings: endings(reports) };
    assert!(!state.answered(&items, last, read_to, answer));
}

fn endings(reports: &[(u64, &'static str, Ended)]) -> Endings {
    let report = |(at, id, how): &(u64, &'static str, Ended)| EndingReport {
        place: place(*at),
        subject: how.subject(Bytes::from_static(id.as_bytes())),
        how: *how,
    };
    let last = reports.last().map(|(at, ..)| place(*at));
    Endings { reports: reports.iter().map(report).collect(), last, lost: false }
}

/// Returns whether there is something to fetch.
fn report(state: &mut State, at: u64, how: Ended) -> bool {
    reported(state, endings(&[(at, "a", how)]))
}

fn reported(state: &mut State, endings: Endings) -> bool {
    let after = state.read_to().unwrap();
    state.reported(endings, after)
}

fn registered(state: &mut State, at: u64, expect: bool) -> Receivers {
    let receivers = state.add(&id(), expect);
    let request = ask(state);
    answer(state, request, at, if expect { Found::Nothing } else { Found::Open });
    receivers
}

fn outcome(receivers: &mut Receivers) -> Option<Outcome> {
    receivers.outcome.try_recv().ok().map(Result::unwrap)
}

#[test]
fn a_report_ends_a_wait() {
    let mut state = State::default();
    let mut call = registered(&mut state, 5, false);
    assert!(!report(&mut state, 6, COMPLETED));
    assert_eq!(outcome(&mut call), Some(completed(None)));
    assert!(state.is_empty());
    assert!(matches!(state.next(Instant::now()), Next::Nothing));
}

#[test]
fn a_report_that_comes_before_the_answer_counts() {
    for (at, ends) in [(6, true), (5, false), (4, false)] {
        let mut state = State::default();
        let other = registered(&mut state, 3, false);
        let mut call = state.add(&id(), false);
        let request = ask(&mut state);
        report(&mut state, at, COMPLETED);
        assert_eq!(outcome(&mut call), None, "nobody knows when it was registered");
        answer(&mut state, request, 5, Found::Open);
        assert_eq!(outcome(&mut call).is_some(), ends, "{at}");
        drop(other);
    }
}

#[test]
fn an_earlier_report_is_not_about_a_later_wait() {
    let mut state = State::default();
    let mut first = registered(&mut state, 5, false);
    let mut second = state.add(&id(), false);
    let request = ask(&mut state);
    answer(&mut state, request, 8, Found::Open);
    // The item was open at 8: what ended at 7 was an earlier one.
    report(&mut state, 7, COMPLETED);
    assert_eq!((outcome(&mut first), outcome(&mut second)), (None, None));
    report(&mut state, 9, Ended::Removed);
    let both = (outcome(&mut first), outcome(&mut second));
    assert_eq!(both, (Some(Outcome::Removed), Some(Outcome::Removed)));
}

#[test]
fn an_answer_that_the_item_is_gone_waits_for_the_report() {
    let mut state = State::default();
    let mut call = registered(&mut state, 5, false);
    let request = ask(&mut state);
    answer(&mut state, request, 9, Found::Nothing);
    assert_eq!(outcome(&mut call), None, "the report may be on its way");
    report(&mut state, 7, Ended::Cancelled { retained: false });
    assert_eq!(outcome(&mut call), Some(Outcome::Cancelled));
}

#[test]
fn without_a_report_it_is_gone() {
    // All reports up to the answer were read before, or come without one about it, or none comes.
    let mut state = State::default();
    let mut call = registered(&mut state, 5, false);
    let request = ask(&mut state);
    answer(&mut state, request, 5, Found::Nothing);
    assert_eq!(outcome(&mut call), Some(Outcome::Gone));

    let mut state = State::default();
    let mut call = registered(&mut state, 5, false);
    let request = ask(&mut state);
    answer(&mut state, request, 9, Found::Nothing);
    for place in 9..12 {
        let request = ask(&mut state);
        answer(&mut state, request, place, Found::Nothing);
        assert_eq!(outcome(&mut call), None, "the reports up to 9 were not read");
    }
    // Unreadable ones count too.
    reported(&mut state, Endings { last: Some(place(9)), ..Endings::default() });
    let request = ask(&mut state);
    answer(&mut state, request, 12, Found::Nothing);
    assert_eq!(outcome(&mut call), Some(Outcome::Gone));
    assert!(state.is_empty());
}

#[test]
fn an_answer_brings_the_reports_before_it() {
    let mut state = State::default();
    let mut call = registered(&mut state, 5, false);
    answer_with(&mut state, 9, Found::Nothing, &[(6, "b", COMPLETED), (9, "a", COMPLETED)]);
    assert_eq!(outcome(&mut call), Some(completed(None)));

    let mut call = registered(&mut state, 9, false);
    // Not all of them fit.
    answer_with(&mut state, 20, Found::Nothing, &[(11, "b", COMPLETED)]);
    assert_eq!(outcome(&mut call), None);
    answer_with(&mut state, 21, Found::Nothing, &[(12, "b", COMPLETED), (20, "b", COMPLETED)]);
    assert_eq!(outcome(&mut call), Some(Outcome::Gone));
}

#[test]
fn a_failed_request_ends_only_calls_that_are_not_registered() {
    let error = crate::Error::unavailable("no answer", false);
    let mut state = State::default();
    let mut call = registered(&mut state, 5, false);
    let mut new = state.add(&id(), false);
    let (items, last, _) = ask(&mut state);
    let mut later = state.add(&id(), false);
    state.failed(&items, last, &error, Duration::from_secs(30));
    assert!(new.outcome.try_recv().unwrap().is_err());
    assert!(matches!(state.next(Instant::now()), Next::Ask(..)), "a call has come meanwhile");
    state.failed(&items, last + 1, &error, Duration::from_secs(30));
    assert!(matches!(state.next(Instant::now()), Next::Wait(_)));
    assert!(later.outcome.try_recv().is_ok() && call.outcome.try_recv().is_err());
    report(&mut state, 6, COMPLETED);
    assert_eq!(outcome(&mut call), Some(completed(None)));
    // Asking again would not help.
    let mut call = registered(&mut state, 7, false);
    let (items, last, _) = ask(&mut state);
    state.failed(&items, last, &crate::Error::invalid("no right"), Duration::ZERO);
    assert!(call.outcome.try_recv().unwrap().is_err() && state.is_empty());
}

#[test]
fn a_report_stays_until_every_registration_is_answered() {
    let mut state = State::default();
    let mut first = registered(&mut state, 5, false);
    let mut second = state.add(&id(), false);
    let request = ask(&mut state);
    assert!(report(&mut state, 6, RETAINED));
    let ids = state.next_to_fetch();
    state.fetched(&ids, vec![Found::Ended(completed(Some("r")))]);
    assert_eq!((outcome(&mut first), outcome(&mut second)), (Some(completed(Some("r"))), None));
    answer(&mut state, request, 5, Found::Open);
    assert_eq!(state.next_to_fetch(), ids);
    state.fetched(&ids, vec![Found::Nothing]);
    assert_eq!(outcome(&mut second), Some(completed(None)));
    assert!(state.is_empty());
}

#[test]
fn an_item_that_is_not_there_is_gone_unless_it_is_expected() {
    let mut state = State::default();
    let (mut call, mut expects) = (state.add(&id(), false), state.add(&id(), true));
    let request = ask(&mut state);
    assert!(request.0[0].expect);
    answer(&mut state, request, 5, Found::Nothing);
    assert_eq!((outcome(&mut call), outcome(&mut expects)), (Some(Outcome::Gone), None));
    // It was added and has ended before the client asks again, and the report comes late.
    let request = ask(&mut state);
    answer(&mut state, request, 8, Found::Nothing);
    assert_eq!(outcome(&mut expects), None);
    report(&mut state, 7, COMPLETED);
    assert_eq!(outcome(&mut expects), Some(completed(None)));
    // One that was there is expected no more.
    let mut state = State::default();
    let mut expects = registered(&mut state, 8, true);
    for (at, found) in [(8, Found::Open), (8, Found::Nothing)] {
        let request = ask(&mut state);
        answer(&mut state, request, at, found);
    }
    assert_eq!(outcome(&mut expects), Some(Outcome::Gone));
}

#[test]
fn what_is_retained_is_read() {
    for (found, expected) in [
        (Found::Ended(completed(Some("r"))), completed(Some("r"))),
        // Its time is over, or it was added again.
        (Found::Nothing, completed(None)),
        (Found::Open, completed(None)),
    ] {
        let mut state = State::default();
        let mut call = registered(&mut state, 5, false);
        assert!(report(&mut state, 6, RETAINED));
        assert!(!report(&mut state, 6, RETAINED) || state.next_to_fetch().len() == 1);
        let ids = vec![Bytes::from_static(b"a")];
        assert_eq!(outcome(&mut call), None);
        // It did not fit at first.
        state.fetched(&ids, Vec::new());
        assert_eq!(state.next_to_fetch(), ids);
        state.fetched(&ids, vec![found]);
        assert_eq!(outcome(&mut call), Some(expected));
    }
}

#[test]
fn reports_that_the_engine_has_lost_are_read_from_an_earlier_place() {
    let mut state = State::default();
    let mut call = registered(&mut state, 5, false);
    let request = ask(&mut state);
    assert!(!answer(&mut state, request, 7, Found::Open));
    reported(&mut state, endings(&[(9, "b", COMPLETED)]));
    let request = ask(&mut state);
    assert!(answer(&mut state, request, 3, Found::Nothing), "it is before 9");
    assert_eq!(state.read_to(), Some(place(0)));
    assert_eq!(outcome(&mut call), None, "what it has now was not read");
    // These came from behind the old place.
    state.reported(endings(&[(10, "b", COMPLETED)]), place(9));
    assert_eq!(state.read_to(), Some(place(0)));
    let request = ask(&mut state);
    answer(&mut state, request, 10, Found::Open);
    report(&mut state, 11, COMPLETED);
    assert_eq!(outcome(&mut call), Some(completed(None)));
}

#[test]
fn a_wait_that_ends_leaves_nothing() {
    let mut state = State::default();
    let (one, two) = (state.add(&id(), false), state.add(&id(), false));
    state.remove(&id(), one.serial);
    let request = ask(&mut state);
    state.remove(&id(), two.serial);
    assert!(state.is_empty());
    answer(&mut state, request, 5, Found::Open);
    assert!(state.is_empty() && matches!(state.next(Instant::now()), Next::Nothing));
    // A new one begins while the answer to an old request is on its way.
    let old = state.add(&id(), false);
    let request = ask(&mut state);
    state.remove(&id(), old.serial);
    let mut new = state.add(&id(), false);
    answer(&mut state, request, 5, Found::Nothing);
    assert_eq!(outcome(&mut new), None);
    let request = ask(&mut state);
    answer(&mut state, request, 5, Found::Ended(Outcome::Cancelled));
    assert_eq!(outcome(&mut new), Some(Outcome::Cancelled));
}

#[test]
fn an_item_and_a_group_with_one_id_share_requests_and_no_more() {
    let group = Subject::Group(Bytes::from_static(b"a"));
    let mut state = State::default();
    let (mut of_item, mut of_group) = (state.add(&id(), false), state.add(&group, false));
    for at in [5, 6] {
        let request = ask(&mut state);
        let asked: Vec<&Subject> = request.0.iter().map(|awaited| &awaited.subject).collect();
        assert_eq!(asked, [&id(), &group]);
        answer(&mut state, request, at, Found::Open);
    }
    // Whoever waits reads the group: there is nothing to fetch.
    assert!(!report(&mut state, 7, Ended::Group));
    assert_eq!(outcome(&mut of_group), Some(Ended::Group.outcome()));
    assert_eq!(outcome(&mut of_item), None);
    report(&mut state, 8, COMPLETED);
    assert_eq!(outcome(&mut of_item), Some(completed(None)));
    assert!(state.is_empty());
}
