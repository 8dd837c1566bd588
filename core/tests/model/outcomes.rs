//! How items have ended.

use std::time::Duration;

use leaseq::{Outcome, OutcomeOptions, State, WorkQueue};
use rand::Rng;

use crate::driver::Driver;
use crate::model::Model;
use crate::support::ms;

impl Model {
    /// `None`: it has not ended.
    fn outcome(&self, id: &[u8], expect: bool) -> Option<Outcome> {
        let Some((_, entry)) = self.get(id) else { return (!expect).then_some(Outcome::Gone) };
        match entry.state {
            State::Completed => {
                Some(Outcome::Completed { result: entry.result.map(Into::into), retained: true })
            }
            State::Dead => Some(Outcome::Dead { error: entry.error }),
            State::Cancelled => Some(Outcome::Cancelled),
            _ => None,
        }
    }
}

impl Driver<'_> {
    /// Looks, or waits, which makes clients report the later ends of these items.
    pub(crate) async fn outcome(&mut self, queue: &WorkQueue) {
        let (ids, expect) = (self.some_ids(), self.rng.random_bool(0.3));
        let expected: Vec<_> = ids.iter().map(|id| self.model.outcome(id, expect)).collect();
        let all_have_ended = expected.iter().all(Option::is_some);
        let wait = match self.rng.random_range(0..3) {
            // It makes the queue extended.
            0 if self.extended && all_have_ended => None,
            1 if self.extended => Some(ms(1)),
            _ => Some(Duration::ZERO),
        };
        self.note(format!("outcome {ids:?}, expect {expect}, wait {wait:?}"));
        let mut options = OutcomeOptions::new();
        (options.wait, options.expect) = (wait, expect);
        let outcomes = queue.outcome_many(&ids, options).await.unwrap();
        let outcomes: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
        assert_eq!(outcomes, expected);
    }
}
