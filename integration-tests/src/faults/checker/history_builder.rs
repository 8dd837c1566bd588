//! Builds histories for tests, and compares what the checker reports.

use std::time::Duration;

use super::super::history::{
    Add, Change, History, How, Kept, Lease, Left, Look, Options, Outcome, Seen, ServerClock,
    Settle, Span, Time, What,
};
use super::check;

/// The server's time when the history begins, in ms.
pub(super) const CLOCK: u64 = 1_000_000;

pub(super) fn ms(ms: u64) -> Time {
    Duration::from_millis(ms)
}

pub(super) fn span(began: u64, ended: u64) -> Span {
    Span { began: ms(began), ended: Some(ms(ended)) }
}

/// Builds a history. Each call begins at the ms `at` and lasts 1 ms.
pub(super) struct HistoryBuilder(pub(super) History);

impl HistoryBuilder {
    pub(super) fn new() -> Self {
        let clock = ServerClock::Runs { from_ms: CLOCK };
        HistoryBuilder(History { clock, ..History::default() })
    }

    pub(super) fn add(&mut self, at: u64, id: &str, data: u64, outcome: Outcome) -> &mut Self {
        self.add_with(at, id, data, outcome, Options::default())
    }

    pub(super) fn add_with(
        &mut self,
        at: u64,
        id: &str,
        data: u64,
        outcome: Outcome,
        options: Options,
    ) -> &mut Self {
        let (who, id, span) = ("producer".into(), id.into(), span(at, at + 1));
        self.0.adds.push(Add { who, span, id, data, outcome, options });
        self
    }

    /// Somebody changes the item by its id.
    pub(super) fn change(&mut self, at: u64, id: &str, what: What, outcome: Outcome) -> &mut Self {
        let (who, id, span) = ("operator".into(), id.into(), span(at, at + 1));
        self.0.changes.push(Change { who, span, id, what, expects: None, outcome });
        self
    }

    /// The same, but only the generation that this look has shown.
    pub(super) fn change_seen(
        &mut self,
        at: u64,
        look: usize,
        what: What,
        outcome: Outcome,
    ) -> &mut Self {
        let id = self.0.looks[look].id.clone();
        self.change(at, &id, what, outcome);
        if let Some(change) = self.0.changes.last_mut() {
            change.expects = Some(look);
        }
        self
    }

    /// Somebody sees the item in this state, or nothing if that is empty. Returns the index of the look.
    pub(super) fn look(&mut self, at: u64, id: &str, data: u64, state: &str) -> usize {
        let (who, id, span) = ("operator".into(), id.into(), span(at, at + 1));
        let seen = Seen { data, state: state.into(), ..Seen::default() };
        let seen = (!state.is_empty()).then_some(seen);
        self.0.looks.push(Look { who, span, id, seen, listed: false });
        self.0.looks.len() - 1
    }

    /// What the look shows: a completed item with this result.
    pub(super) fn shows(&mut self, look: usize, result: Option<u64>) -> &mut Self {
        if let Some(seen) = &mut self.0.looks[look].seen {
            seen.result = result;
        }
        self
    }

    /// The look shows until when the item is retained.
    pub(super) fn retained_until(&mut self, look: usize, until_ms: u64) -> &mut Self {
        if let Some(seen) = &mut self.0.looks[look].seen {
            seen.kept_until_ms = Some(until_ms);
        }
        self
    }

    /// The holder completes with this result.
    pub(super) fn complete(&mut self, at: u64, lease: usize, result: u64) -> &mut Self {
        self.settle(at, lease, How::Complete, Outcome::Yes);
        if let Some(settle) = self.0.settles.last_mut() {
            settle.kept.result = Some(result);
        }
        self
    }

    /// A lease of attempt 1 for 100 ms. The number of its generation is `data`. Returns its index.
    pub(super) fn lease(&mut self, at: u64, id: &str, data: u64) -> usize {
        self.0.leases.push(Lease {
            who: format!("worker {}", self.0.leases.len()),
            span: span(at, at + 1),
            id: id.into(),
            data,
            generation: data,
            attempt: 1,
            failures: 0,
            expiries: 0,
            duration_ms: 100,
            deadline_ms: CLOCK + at + 100,
            keep_alive: false,
        });
        self.0.leases.len() - 1
    }

    /// The same after this many expiries.
    pub(super) fn again(&mut self, at: u64, id: &str, data: u64, expiries: u64) -> usize {
        let lease = self.lease(at, id, data);
        self.0.leases[lease].attempt = 1 + expiries;
        self.0.leases[lease].expiries = expiries;
        lease
    }

    pub(super) fn settle(
        &mut self,
        at: u64,
        lease: usize,
        how: How,
        outcome: Outcome,
    ) -> &mut Self {
        let (who, span) = (format!("worker {lease}"), span(at, at + 1));
        self.0.settles.push(Settle {
            who,
            span,
            lease,
            how,
            outcome,
            deadline_ms: None,
            state: None,
            kept: Kept::default(),
            said: None,
        });
        self
    }

    pub(super) fn left(&mut self, id: &str, data: u64) -> &mut Self {
        let seen = Seen { data, state: "dead".into(), ..Seen::default() };
        self.0.left.push(Left { id: id.into(), seen });
        self
    }

    #[track_caller]
    pub(super) fn is_clean(&self) {
        let report = check(&self.0);
        assert!(report.violations.is_empty(), "{:?}", report.violations);
    }

    /// All violations contain this text, and there is at least one.
    #[track_caller]
    pub(super) fn is_caught(&self, says: &str) {
        let found = check(&self.0).violations;
        assert!(!found.is_empty(), "nothing was caught");
        assert!(found.iter().all(|violation| violation.what.contains(says)), "{found:?}");
    }

    /// All violations contain this text, if there are any.
    #[track_caller]
    pub(super) fn is_clean_except(&self, says: &str) {
        let found = check(&self.0).violations;
        assert!(found.iter().all(|violation| violation.what.contains(says)), "{found:?}");
    }

    /// A violation contains this text. Others may follow from it.
    #[track_caller]
    pub(super) fn is_among(&self, says: &str) {
        let found = check(&self.0).violations;
        assert!(found.iter().any(|violation| violation.what.contains(says)), "{found:?}");
    }
}
