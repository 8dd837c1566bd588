//! Histories with planted violations: one too many, one too few, one too early, of follow-ups and of groups.

use std::time::Duration;

use super::super::history::{Outcome, Span, Time};
use super::check::check;
use super::history::{End, Fire, Group, History, Left, On, Plan, Seen, result_of};

fn at(ms: u64) -> Time {
    Duration::from_millis(ms)
}

fn fire(on: On, name: &str) -> Fire {
    Fire { on, name: name.into() }
}

/// Builds a history. All items are in the queue `q`, and their ids are their names.
struct Planted(History);

impl Planted {
    fn new() -> Self {
        Planted(History::default())
    }

    fn plan(&mut self, name: &str, added: Option<Outcome>, fires: &[Fire]) -> &mut Self {
        let plan = Plan { queue: "q".into(), added, limited: false, fires: fires.to_vec() };
        self.0.plans.insert(name.into(), plan);
        self
    }

    /// Somebody gets the item of this generation.
    fn lease(&mut self, ms: u64, name: &str, generation: u64, by: Option<&str>) -> &mut Self {
        let seen = Seen {
            queue: "q".into(),
            id: name.into(),
            generation: generation.to_string(),
            at: at(ms),
            trigger: by.map(|by| (by.into(), Some(result_of(by)))),
            ends: Vec::new(),
        };
        self.0.seen.entry(name.into()).or_default().push(seen);
        self
    }

    /// The last holder of the item ends it.
    fn end(&mut self, ms: u64, name: &str, on: On, outcome: Outcome) -> &mut Self {
        let span = Span { began: at(ms), ended: Some(at(ms + 1)) };
        if let Some(seen) = self.0.seen.get_mut(name).and_then(|all| all.last_mut()) {
            seen.ends.push(End { span, on, outcome });
        }
        if on == On::Dead && outcome == Outcome::Yes {
            self.0.left.push(Left {
                name: name.into(),
                queue: "q".into(),
                id: name.into(),
                is_dead: true,
            });
        }
        self
    }

    /// Somebody gets the item and completes it.
    fn done(&mut self, ms: u64, name: &str, generation: u64, by: Option<&str>) -> &mut Self {
        self.lease(ms, name, generation, by).end(ms + 2, name, On::Completed, Outcome::Yes)
    }

    #[track_caller]
    fn is_clean(&mut self) {
        let found = check(&self.0);
        assert!(found.is_empty(), "{found:?}");
    }

    #[track_caller]
    fn is_caught(&mut self, says: &[&str]) {
        let found = check(&self.0);
        assert_eq!(found, says);
    }
}

/// An item that fires for each end.
fn item() -> Planted {
    let mut planted = Planted::new();
    let fires = [fire(On::Completed, "c"), fire(On::Dead, "d"), fire(On::Ended, "e")];
    planted.plan("a", Some(Outcome::Yes), &fires);
    for name in ["c", "d", "e"] {
        planted.plan(name, None, &[]);
    }
    planted
}

/// A group of two members.
fn group() -> Planted {
    let mut planted = Planted::new();
    for name in ["m0", "m1"] {
        planted.plan(name, Some(Outcome::Yes), &[]);
    }
    for name in ["c", "d", "e"] {
        planted.plan(name, None, &[]);
    }
    planted.0.groups.push(Group {
        name: "g".into(),
        members: vec!["m0".into(), "m1".into()],
        fires: vec![fire(On::Completed, "c"), fire(On::Dead, "d"), fire(On::Ended, "e")],
    });
    planted
}

#[test]
fn what_an_end_has_to_add_is_right() {
    item()
        .done(10, "a", 1, None)
        .done(20, "c", 2, Some("a"))
        .done(20, "e", 3, Some("a"))
        .is_clean();
    item()
        .lease(10, "a", 1, None)
        .end(12, "a", On::Dead, Outcome::Yes)
        .done(20, "d", 2, Some("a"))
        .done(20, "e", 3, Some("a"))
        .is_clean();
}

#[test]
fn an_item_whose_end_is_not_known_is_what_it_is_in_the_end() {
    let mut gone = item();
    gone.lease(10, "a", 1, None).end(12, "a", On::Completed, Outcome::Unknown);
    gone.done(20, "c", 2, Some("a")).done(20, "e", 3, Some("a")).is_clean();
    let mut vanished = item();
    vanished.lease(10, "a", 1, None).done(20, "c", 2, Some("a")).done(20, "e", 3, Some("a"));
    vanished.is_caught(&[
        "a is gone, and nobody has completed it",
        "c was there at 20ms, before a can have ended",
        "e was there at 20ms, before a can have ended",
    ]);
}

#[test]
fn a_death_before_a_completion_may_have_fired() {
    let mut late = item();
    late.done(10, "a", 1, None).done(20, "c", 2, Some("a")).done(20, "e", 3, Some("a"));
    late.done(20, "d", 4, Some("a"));
    late.is_caught(&[
        "d was added 1 times by the end of a (dead), not 0..=0",
        "d was there at 20ms, before a can have ended",
    ]);
    if let Some(plan) = late.0.plans.get_mut("a") {
        plan.limited = true;
    }
    late.is_clean();
}

#[test]
fn one_follow_up_too_many() {
    let mut twice = item();
    twice.done(10, "a", 1, None).done(20, "c", 2, Some("a")).done(20, "e", 3, Some("a"));
    twice.done(30, "c", 4, Some("a"));
    twice.is_caught(&["c was added 2 times by the end of a (completed), not 1..=1"]);
}

#[test]
fn one_follow_up_too_few() {
    item()
        .done(10, "a", 1, None)
        .done(20, "c", 2, Some("a"))
        .is_caught(&["e was added 0 times by the end of a (ended), not 1..=1"]);
}

#[test]
fn one_follow_up_too_early() {
    let mut early = item();
    early.done(10, "a", 1, None).done(11, "c", 2, Some("a")).done(20, "e", 3, Some("a"));
    early.is_caught(&["c was there at 11ms, before a can have ended"]);
}

#[test]
fn a_follow_up_of_another_end() {
    let mut wrong = item();
    wrong.lease(10, "a", 1, None).end(12, "a", On::Dead, Outcome::Yes);
    wrong.done(20, "c", 2, Some("a")).done(20, "e", 3, Some("a"));
    wrong.is_caught(&[
        "c was added 1 times by the end of a (completed), not 0..=0",
        "c was there at 20ms, before a can have ended",
        "d was added 0 times by the end of a (dead), not 1..=1",
    ]);
}

#[test]
fn a_follow_up_that_knows_another_trigger_or_result() {
    let mut wrong = item();
    wrong.done(10, "a", 1, None).done(20, "c", 2, Some("x")).done(20, "e", 3, None);
    wrong.is_caught(&[
        "c was added by x, not by a",
        "c was told the result Some(\"result of x\") of a",
        "e knows nothing of a",
    ]);
}

#[test]
fn an_item_that_nobody_wants_in_a_queue_that_nobody_names() {
    let mut wrong = item();
    wrong.done(10, "a", 1, None).done(20, "c", 2, Some("a")).done(20, "e", 3, Some("a"));
    wrong.done(20, "x", 4, None);
    if let Some(seen) = wrong.0.seen.get_mut("c") {
        seen[0].queue = "r".into();
    }
    wrong.0.added = Some(5);
    wrong.is_caught(&[
        "c is in the queue r, not in q",
        "nobody has asked for x",
        "5 items were added, and 3 were seen",
    ]);
}

#[test]
fn roots_are_added_as_their_calls_say() {
    for (outcome, items, expected) in
        [(Outcome::Yes, 0, "1..=1"), (Outcome::Unknown, 2, "0..=1"), (Outcome::NotDone, 1, "0..=0")]
    {
        let mut planted = Planted::new();
        planted.plan("a", Some(outcome), &[]);
        for generation in 0..items {
            planted.done(10, "a", generation, None);
        }
        planted.is_caught(&[&format!("a was added {items} times, not {expected}")]);
    }
}

#[test]
fn what_a_group_has_to_add_is_right() {
    let mut all = group();
    all.done(10, "m0", 1, None).done(20, "m1", 2, None);
    all.done(30, "c", 3, Some("g")).done(30, "e", 4, Some("g")).is_clean();
    let mut some = group();
    some.done(10, "m0", 1, None).lease(20, "m1", 2, None).end(22, "m1", On::Dead, Outcome::Yes);
    some.done(30, "d", 3, Some("g")).done(30, "e", 4, Some("g")).is_clean();
}

#[test]
fn one_callback_too_many() {
    let mut twice = group();
    twice.done(10, "m0", 1, None).done(20, "m1", 2, None);
    twice.done(30, "c", 3, Some("g")).done(30, "e", 4, Some("g")).done(40, "e", 5, Some("g"));
    twice.is_caught(&["e was added 2 times by the end of g (ended), not 1..=1"]);
}

#[test]
fn one_callback_too_few() {
    let mut none = group();
    none.done(10, "m0", 1, None).done(20, "m1", 2, None).done(30, "c", 3, Some("g"));
    none.is_caught(&["e was added 0 times by the end of g (ended), not 1..=1"]);
}

#[test]
fn one_callback_too_early() {
    let mut early = group();
    early.done(10, "m0", 1, None).done(20, "m1", 2, None);
    early.done(21, "c", 3, Some("g")).done(30, "e", 4, Some("g"));
    early.is_caught(&["c was there at 21ms, before g can have ended"]);
}

#[test]
fn a_callback_of_another_kind() {
    let mut wrong = group();
    wrong.done(10, "m0", 1, None).lease(20, "m1", 2, None).end(22, "m1", On::Dead, Outcome::Yes);
    wrong.done(30, "c", 3, Some("g")).done(30, "e", 4, Some("g"));
    wrong.is_caught(&[
        "c was added 1 times by the end of g (completed), not 0..=0",
        "d was added 0 times by the end of g (dead), not 1..=1",
    ]);
}

#[test]
fn a_member_that_was_dead_for_a_while_counts_as_either_but_not_as_both() {
    let late = || {
        let mut late = group();
        if let Some(plan) = late.0.plans.get_mut("m1") {
            plan.limited = true;
        }
        late.done(10, "m0", 1, None).done(20, "m1", 2, None).done(30, "e", 4, Some("g"));
        late
    };
    late().done(30, "c", 3, Some("g")).is_clean();
    late().done(30, "d", 3, Some("g")).is_clean();
    let twice = &["g has ended 2 times, as completed or as dead"];
    late().done(30, "c", 3, Some("g")).done(30, "d", 5, Some("g")).is_caught(twice);
    late().is_caught(&["g has ended 0 times, as completed or as dead"]);
}
