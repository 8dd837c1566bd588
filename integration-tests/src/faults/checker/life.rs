//! What happened to the item of one add, in all its generations.

use crate::faults::history::{Add, Change, Outcome, Settle, What};

pub(super) struct Life<'a> {
    pub(super) add: &'a Add,
    /// Indices of the leases, in the order in which they were granted.
    pub(super) leases: Vec<usize>,
    pub(super) completes: Vec<&'a Settle>,
    /// The changes of its id that concern it, or may.
    pub(super) changes: Vec<&'a Change>,
    /// The adds that have replaced it, or may have.
    pub(super) replaced_by: Vec<&'a Add>,
}

impl<'a> Life<'a> {
    pub(super) fn new(add: &'a Add) -> Self {
        let (leases, completes, changes) = (Vec::new(), Vec::new(), Vec::new());
        Life { add, leases, completes, changes, replaced_by: Vec::new() }
    }

    pub(super) fn id(&self) -> &'a str {
        &self.add.id
    }

    /// Completions that certainly returned true.
    pub(super) fn trues(&self) -> impl Iterator<Item = &'a Settle> {
        self.completes.iter().copied().filter(|settle| settle.outcome == Outcome::Yes)
    }

    /// The completions one of which has ended the item, if any has.
    pub(super) fn completers(&self) -> Vec<&'a Settle> {
        let trues: Vec<_> = self.trues().collect();
        let may_be = |settle: &&&Settle| settle.outcome.may_be_done();
        if trues.is_empty() {
            self.completes.iter().filter(may_be).copied().collect()
        } else {
            trues
        }
    }

    /// For how long a completion retains the item.
    pub(super) fn retained_by(&self, settle: &Settle) -> u64 {
        settle.kept.retain_ms.unwrap_or(self.add.options.retain_ms)
    }

    /// The changes that were made, or may have been.
    pub(super) fn possible(&self) -> impl Iterator<Item = &'a Change> {
        self.changes.iter().copied().filter(|change| change.outcome.may_be_done())
    }

    pub(super) fn may_be(&self, what: fn(What) -> bool) -> bool {
        self.possible().any(|change| what(change.what))
    }

    /// Whether the item was there at any time.
    pub(super) fn was_there(&self) -> bool {
        self.add.outcome == Outcome::Yes || !self.leases.is_empty()
    }
}
