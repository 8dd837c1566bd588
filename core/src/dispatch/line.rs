//! The calls that lease, in line, and who serves them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{SetOnce, oneshot};

use super::desk::Parcel;
use super::pace::Company;
use crate::engine::Complete;
use crate::lease::Shared;
use crate::{Error, Result};

#[derive(Default)]
pub(super) struct Line {
    /// Those who stand in line, in the order in which they came; not those who are asked for now.
    pub(super) calls: VecDeque<Call>,
    /// Those who serve it: one, or two as long as there is enough to do for both.
    pub(super) attendants: usize,
    /// Requests on their way.
    pub(super) away: usize,
    /// All who were asked for last got what they wanted.
    pub(super) plenty: bool,
    pub(super) company: Company,
    /// Which of the operations were answered: until then a server may have to be sent one again, since
    /// it learns a script.
    pub(super) answered: [bool; 3],
}

impl Line {
    /// Whether those in line want enough for a request of their own.
    pub(super) fn are_worth(&self, worth_a_request: usize) -> bool {
        let mut wanted = 0;
        self.calls.iter().any(|call| {
            wanted += call.count;
            wanted >= worth_a_request
        })
    }

    /// The first that was not sent yet, if there is one.
    pub(super) fn first(&self) -> Option<u64> {
        self.calls.iter().map(|call| call.number).find(|number| *number > 0)
    }

    /// How many there are; `None` if it is not worth waiting for more: nobody else calls, or they are
    /// enough for an engine that has nothing to do.
    pub(super) fn aboard(&self, worth_a_request: usize) -> Option<usize> {
        let enough = !self.company.is_likely() || self.away == 0 && self.are_worth(worth_a_request);
        (!enough).then_some(self.calls.len())
    }

    /// Where some get nothing there is nothing to ask twice for.
    pub(super) fn needs_another(&self, worth_a_request: usize) -> bool {
        self.attendants == 1 && self.away == 1 && self.plenty && self.are_worth(worth_a_request)
    }

    /// One who got nothing stands where it stood.
    pub(super) fn put_back(&mut self, call: Call) {
        let place = self.calls.partition_point(|other| other.since < call.since);
        self.calls.insert(place, call);
    }
}

pub(super) struct Call {
    /// Its place among the calls of all kinds, until it was sent; then 0.
    pub(super) number: u64,
    pub(super) count: usize,
    pub(super) duration_ms: u64,
    pub(super) since: Instant,
    pub(super) until: Option<Instant>,
    /// When the first question for it must be answered.
    pub(super) answer_by: Instant,
    /// What is completed before anything is leased for the call, until the engine was asked to.
    pub(super) completing: Option<Box<Completing>>,
    /// The engine was asked for this call at least once, and had nothing for it.
    pub(super) asked: Arc<SetOnce<()>>,
    pub(super) reply: oneshot::Sender<Result<Parcel>>,
}

impl Call {
    /// Stays in line when there was nothing for it.
    pub(super) fn waits_on(&self) -> bool {
        !self.reply.is_closed() && self.until.is_none_or(|until| until > Instant::now())
    }

    /// The time by which it must be answered, while it has no answer.
    pub(super) fn expires(&self) -> Option<Instant> {
        (!self.asked.initialized() && !self.reply.is_closed()).then_some(self.answer_by)
    }

    /// It is told that its time is over, and goes on only with what it completes.
    pub(super) fn fail(&mut self, error: Error) {
        let _ = std::mem::replace(&mut self.reply, oneshot::channel().0).send(Err(error));
    }

    /// There is something to do for it. What it completes is completed even if it is gone.
    pub(super) fn counts(&self) -> bool {
        self.completing.is_some() || !self.reply.is_closed()
    }
}

/// At most [`MAX_BATCH`](crate::options::MAX_BATCH) leases that a call completes.
pub(super) struct Completing {
    pub(super) leases: Vec<Complete>,
    /// Their handles, which are told at once: the call may go on waiting.
    pub(super) handles: Vec<Arc<Shared>>,
    pub(super) reply: oneshot::Sender<Vec<bool>>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::{Generation, Token};

    pub(crate) type Answer = oneshot::Receiver<Result<Parcel>>;

    /// A call stands in line.
    pub(crate) fn stand(line: &mut VecDeque<Call>, completes: u64, count: usize) -> Answer {
        let (reply, answer) = oneshot::channel();
        let complete = |count| Complete {
            token: Token { generation: Generation { count, salt: [0; 5] }, delivery: 0 },
            id: "id".into(),
            strict: false,
        };
        let completing = (completes > 0).then(|| Completing {
            leases: (0..completes).map(complete).collect(),
            handles: Vec::new(),
            reply: oneshot::channel().0,
        });
        let completing = completing.map(Box::new);
        let since = Instant::now();
        line.push_back(Call {
            number: 0,
            count,
            duration_ms: 1,
            since,
            until: None,
            answer_by: since,
            completing,
            asked: Arc::default(),
            reply,
        });
        answer
    }

    #[test]
    fn who_gets_nothing_stands_where_it_stood_whichever_answer_comes_first() {
        let mut line = Line::default();
        let _answers: Vec<Answer> = (1..=5).map(|i| stand(&mut line.calls, 0, i)).collect();
        let mut others = line.calls.split_off(3);
        let last = others.pop_back().unwrap();
        let mut first = std::mem::take(&mut line.calls);
        line.calls.push_back(last);
        others.into_iter().rev().for_each(|call| line.put_back(call));
        // The second of them was answered.
        first.remove(1);
        first.into_iter().rev().for_each(|call| line.put_back(call));
        let counts: Vec<usize> = line.calls.iter().map(|call| call.count).collect();
        assert_eq!(counts, [1, 3, 4, 5]);
    }

    #[test]
    fn a_second_attendant_comes_only_while_there_is_enough_for_two() {
        let mut line = Line { attendants: 1, away: 1, plenty: true, ..Line::default() };
        let _answers = [stand(&mut line.calls, 0, 30), stand(&mut line.calls, 0, 1)];
        assert!(!line.needs_another(32));
        let _answer = stand(&mut line.calls, 0, 1);
        assert!(line.needs_another(32));
        for other in [
            |line: &mut Line| line.plenty = false,
            |line: &mut Line| line.away = 0,
            |line: &mut Line| line.attendants = 2,
        ] {
            let before = (line.plenty, line.away, line.attendants);
            other(&mut line);
            assert!(!line.needs_another(32));
            (line.plenty, line.away, line.attendants) = before;
        }
    }
}
