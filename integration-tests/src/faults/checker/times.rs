//! When an item certainly has its names, and its place in the queue.

use super::history_index::HistoryIndex;
use super::life::Life;
use crate::faults::history::{Change, History, How, Outcome, Settle, Span, Time, What};

/// What an item has for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Has {
    /// Its id: until it is gone.
    Id,
    /// Its unique key: until it is gone or dead.
    Key,
    /// A place in the queue: until it has ended or is dead.
    Place,
}

/// Something that may have ended a life, or a part of it.
pub(super) struct End {
    pub(super) span: Span,
    /// When it may have taken each effect, at the earliest; `MAX` if never.
    id: Time,
    key: Time,
    place: Time,
}

impl End {
    fn at(&self, has: Has) -> Time {
        match has {
            Has::Id => self.id,
            Has::Key => self.key,
            Has::Place => self.place,
        }
    }
}

impl HistoryIndex<'_> {
    /// Everything that may have ended it.
    fn ends(&self, life: &Life<'_>) -> Vec<End> {
        const NEVER: Time = Time::MAX;
        let history = self.history;
        let mut ends = Vec::new();
        let mut retained = |span: Span, ms: u64| {
            let until = if ms == 0 { span.began } else { history.earliest(span.began, ms) };
            ends.push(End { span, id: until, key: until, place: span.began });
        };
        life.completers().iter().for_each(|done| retained(done.span, life.retained_by(done)));
        for change in life.possible() {
            match change.what {
                What::Remove => retained(change.span, 0),
                What::Cancel => retained(change.span, life.add.options.retain_ms),
                _ => {}
            }
        }
        life.replaced_by.iter().for_each(|by| retained(by.span, 0));
        let mut died =
            |span: Span, at: Time| ends.push(End { span, id: NEVER, key: at, place: at });
        self.deaths(life).for_each(|span| died(span, span.began));
        // Whether and when it died of its limit, or of its time, is not certain.
        let always = Span { began: life.add.span.began, ended: None };
        let limited = |change: &Change| matches!(change.what, What::Revise { limits: true, .. });
        if life.add.options.limited {
            died(always, always.began);
        }
        for change in life.possible().filter(|change| limited(change)) {
            died(Span { ended: None, ..change.span }, change.span.began);
        }
        if let Some(ms) = life.add.options.expires_in_ms {
            died(always, history.earliest(always.began, ms));
        }
        ends
    }

    /// Calls that have made it dead, or may have.
    fn deaths<'b>(&'b self, life: &'b Life<'_>) -> impl Iterator<Item = Span> + 'b {
        let buried = life.possible().filter(|change| change.what == What::Bury);
        let fails = self.uses(life);
        let died = |settle: &&Settle| match (settle.how, settle.outcome) {
            (How::Fail | How::FailDead, Outcome::Yes) => settle.state.as_deref() == Some("dead"),
            (How::FailDead, Outcome::Unknown) => true,
            // Of a limited item: see `ends`.
            _ => false,
        };
        buried.map(|change| change.span).chain(fails.filter(died).map(|settle| settle.span))
    }

    /// Times from and until which it certainly has this.
    pub(super) fn certainly(&self, life: &Life<'_>, has: Has) -> Vec<(Time, Time)> {
        let mut begins = Vec::new();
        match life.add.outcome {
            Outcome::Yes => begins.push(life.add.span),
            _ => begins.extend(first_received(&life.leases, self.history)),
        }
        if has != Has::Id {
            let requeued = life.changes.iter().filter(|change| {
                change.what == What::Requeue
                    && change.outcome == Outcome::Yes
                    && self.target(change) == Some(life.add.data)
            });
            begins.extend(requeued.map(|change| change.span));
        }
        let ends = self.ends(life);
        let interval = |begin: Span| {
            let from = begin.ended?;
            let later = ends.iter().filter(|end| !end.span.before(begin));
            let until = later.map(|end| end.at(has)).min().unwrap_or(Time::MAX);
            (from < until).then_some((from, until))
        };
        begins.into_iter().filter_map(interval).collect()
    }
}

/// The call that received the first of these leases.
fn first_received(leases: &[usize], history: &History) -> Option<Span> {
    leases.iter().map(|i| history.leases[*i].span).min_by_key(|span| span.ended)
}
