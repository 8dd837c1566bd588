//! The totals of the queue. See [`super`] for how to read the histories.

use super::{leased, whole};
use crate::faults::checker::history_builder::HistoryBuilder;
use crate::faults::history::Outcome::{Unknown, Yes};
use crate::faults::history::{How, Options, Totals, What};

#[test]
fn totals_that_do_not_agree_are_caught() {
    let right = Totals { added: 1, leased: 1, completed: 1, ..Totals::default() };
    let mut builder = whole();
    builder.0.totals = Some(right);
    builder.is_clean();
    for (wrong, says) in [
        (Totals { added: 2, ..right }, "added"),
        (Totals { leased: 0, ..right }, "leased"),
        (Totals { leased: 3, expired: 1, ..right }, "leased"),
        (Totals { completed: 0, ..right }, "completed"),
        (Totals { failed: 1, ..right }, "failed"),
    ] {
        builder.0.totals = Some(wrong);
        builder.is_caught(says);
    }
    builder.0.totals = Some(Totals { leased: 2, expired: 1, ..right });
    builder.is_clean();
}

#[test]
fn items_that_end_otherwise_are_counted() {
    let options = || Options { replace: true, expires_in_ms: Some(5), ..Options::default() };
    let added = Totals { added: 1, ..Totals::default() };
    for (what, right) in [
        (What::Remove, Totals { removed: 1, ..added }),
        (What::Cancel, Totals { cancelled: 1, ..added }),
    ] {
        for outcome in [Yes, Unknown] {
            let mut builder = HistoryBuilder::new();
            builder.add(0, "a", 1, Yes).change(10, "a", what, outcome);
            builder.0.totals = Some(right);
            builder.is_clean();
            builder.0.totals = Some(added);
            builder.is_among("1 added are not 0");
            builder.0.totals = Some(Totals { removed: 2, cancelled: 2, ..added });
            builder.is_among("by its count");
        }
    }
    let mut builder = HistoryBuilder::new();
    builder.add_with(0, "a", 1, Yes, options()).add_with(10, "a", 2, Yes, options());
    builder.left("a", 2);
    builder.0.totals = Some(Totals { added: 2, replaced: 1, ..added });
    builder.is_clean();
    builder.0.totals = Some(Totals { added: 2, ..added });
    builder.is_caught("2 added are not 0");
    builder.0.totals =
        Some(Totals { added: 2, replaced: 1, died: 1, expired_unleased: 1, ..added });
    builder.is_clean();
    builder.0.totals = Some(Totals { added: 2, replaced: 1, died: 1, ..added });
    builder.is_caught("1 died");
    builder.0.totals =
        Some(Totals { added: 2, replaced: 1, died: 3, expired_unleased: 3, ..added });
    builder.is_caught("3 expired unleased");
}

#[test]
fn deaths_are_counted() {
    let mut builder = leased();
    builder.settle(20, 0, How::FailDead, Yes).left("a", 1);
    builder.0.settles[0].state = Some("dead".into());
    let right = Totals { added: 1, leased: 1, failed: 1, died: 1, ..Totals::default() };
    builder.0.totals = Some(right);
    builder.is_clean();
    for died in [0, 2] {
        builder.0.totals = Some(Totals { died, ..right });
        builder.is_caught("died by its count");
    }
}
