//! Builds histories for tests, and compares what the checker reports.

use std::time::Duration;

use super::super::history::{
    Add, History, How, Lease, Left, Outcome, ServerClock, Settle, Span, Time,
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
        let (who, id, span) = ("producer".into(), id.into(), span(at, at + 1));
        self.0.adds.push(Add { who, span, id, data, outcome });
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
            said: None,
        });
        self
    }

    pub(super) fn left(&mut self, id: &str, data: u64) -> &mut Self {
        self.0.left.push(Left { id: id.into(), data, state: "dead".into() });
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

    /// A violation contains this text. Others may follow from it.
    #[track_caller]
    pub(super) fn is_among(&self, says: &str) {
        let found = check(&self.0).violations;
        assert!(found.iter().any(|violation| violation.what.contains(says)), "{found:?}");
    }
}
