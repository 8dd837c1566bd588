//! Leases of one generation. See [`super`] for how to read the histories.

use super::whole;
use crate::faults::checker::history_builder::{CLOCK, ms, span};
use crate::faults::history::Outcome::{No, Unknown, Yes};
use crate::faults::history::{Ask, How, ServerClock, Span, Totals};

#[test]
fn overlapping_leases_are_caught() {
    let mut builder = whole();
    builder.0.settles[0].span = span(300, 301);
    let second = builder.again(60, "a", 1, 1);
    builder.is_caught("at the same time");
    builder.0.leases[second].span = span(60, 120);
    builder.0.leases[second].deadline_ms = CLOCK + 110 + 100;
    builder.is_clean();
    // One millisecond too early by the server's clock.
    builder.0.leases[second].deadline_ms -= 1;
    builder.is_caught("at the same time");
    builder.0.set_back.push(ms(70));
    builder.is_clean();
}

#[test]
fn an_extended_lease_ends_later() {
    let mut builder = whole();
    builder.0.settles[0].span = span(400, 401);
    let second = builder.again(120, "a", 1, 1);
    builder.settle(50, 0, How::Extend, Yes).is_clean();
    for how in [How::Extend, How::Look] {
        builder.0.settles[1].how = how;
        builder.0.settles[1].deadline_ms = Some(CLOCK + 150);
        builder.is_caught("at the same time");
    }
    builder.0.leases[second].span = span(150, 160);
    builder.0.leases[second].deadline_ms = CLOCK + 250;
    builder.is_clean();
}

#[test]
fn a_lease_that_was_given_back_may_be_given_again() {
    for (how, failures) in [(How::Release, 0), (How::Fail, 1)] {
        for outcome in [Yes, Unknown] {
            let mut builder = whole();
            builder.0.settles[0].span = span(50, 51);
            let second = builder.lease(40, "a", 1);
            builder.0.leases[second].attempt += failures;
            builder.0.leases[second].failures += failures;
            builder.settle(30, 0, how, outcome).is_clean();
            builder.0.settles[1].span = span(45, 46);
            builder.is_among("at the same time");
        }
    }
    let mut builder = whole();
    builder.0.settles[0].span = span(50, 51);
    builder.lease(40, "a", 1);
    builder.settle(30, 0, How::Release, No);
    builder.is_among("at the same time");
}

#[test]
fn stale_handles_that_act_are_caught() {
    for how in [How::Extend, How::Release, How::Fail] {
        let mut builder = whole();
        builder.0.settles[0].span = span(300, 301);
        builder.again(120, "a", 1, 1);
        builder.settle(130, 0, how, No).is_clean();
        builder.0.settles[1].outcome = Yes;
        builder.is_among("after worker 1 was given the next");
    }
    let mut builder = whole();
    builder.settle(12, 0, How::Release, Yes).settle(15, 0, How::Extend, Yes);
    builder.is_caught("held all the same");
}

#[test]
fn a_lease_lost_before_its_deadline_is_caught() {
    let mut builder = whole();
    builder.settle(12, 0, How::Extend, No).is_caught("before the deadline");
    builder.0.clock = ServerClock::Jumps;
    builder.is_clean();
    let mut builder = whole();
    builder.settle(25, 0, How::Extend, No).is_clean();
    builder.0.settles[0].span = span(200, 201);
    builder.0.settles[1].span = span(115, 116);
    builder.is_clean();
}

#[test]
fn attempts_go_up_by_one() {
    let mut builder = whole();
    builder.0.settles[0].span = span(400, 401);
    let second = builder.again(120, "a", 1, 1);
    builder.is_clean();
    builder.0.leases[second].attempt = 3;
    builder.0.leases[second].expiries = 2;
    builder.is_among("attempt 3 comes after");
    let totals = Totals { added: 1, leased: 2, completed: 1, ..Totals::default() };
    builder.0.totals = Some(totals);
    builder.is_among("attempts too many");
    // A killed worker may have held the lease in between.
    builder.0.asks.push(Ask { span: Span { began: ms(50), ended: None }, most: 1 });
    builder.is_among("attempts too many");
    builder.0.totals = Some(Totals { leased: 3, ..totals });
    builder.is_clean();
    builder.0.leases[second].expiries = 1;
    builder.is_caught("is not 1 and what is counted");
}

#[test]
fn an_attempt_counted_twice_or_not_at_all_is_caught() {
    let mut builder = whole();
    builder.0.settles[0].span = span(400, 401);
    builder.lease(120, "a", 1);
    builder.is_caught("counted twice");
    let mut builder = whole();
    builder.0.settles[0].span = span(400, 401);
    builder.again(30, "a", 1, 1);
    builder.settle(20, 0, How::Release, Yes);
    builder.is_among("attempt 2 comes after");
}
