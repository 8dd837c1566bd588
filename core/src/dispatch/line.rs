//! The calls that lease, in line, and what they want together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{SetOnce, oneshot};

use super::desk::Parcel;
use crate::Result;
use crate::engine::{Complete, Wanted};
use crate::lease::Shared;
use crate::options::MAX_BATCH;

pub(super) struct Call {
    pub(super) count: usize,
    pub(super) duration_ms: u64,
    pub(super) since: Instant,
    pub(super) until: Option<Instant>,
    /// What is completed before anything is leased for the call, until the engine was asked to.
    pub(super) completing: Option<Completing>,
    /// The engine was asked for this call at least once, and had nothing for it.
    pub(super) asked: Arc<SetOnce<()>>,
    pub(super) reply: oneshot::Sender<Result<Parcel>>,
}

impl Call {
    /// Stays in line when there was nothing for it.
    pub(super) fn waits_on(&self) -> bool {
        !self.reply.is_closed() && self.until.is_none_or(|until| until > Instant::now())
    }

    /// There is something to do for it. What it completes is completed even if it is gone.
    pub(super) fn counts(&self) -> bool {
        self.completing.is_some() || !self.reply.is_closed()
    }
}

/// At most [`MAX_BATCH`] leases that a call completes.
pub(super) struct Completing {
    pub(super) leases: Vec<Complete>,
    /// Their handles, which are told at once: the call may go on waiting.
    pub(super) handles: Vec<Arc<Shared>>,
    pub(super) reply: oneshot::Sender<Vec<bool>>,
}

/// What the line wants.
pub(super) struct Question {
    /// What the first calls in line complete, and who they are.
    pub(super) completes: Vec<Complete>,
    completing: Vec<Completing>,
    /// What the first calls in line want to lease together; with the completions, at most
    /// [`MAX_BATCH`] items.
    pub(super) wanted: Vec<Wanted>,
    pub(super) items: usize,
    pub(super) calls: usize,
    /// How many calls are in line up to the first that has something left to complete. If there is
    /// not even enough for the first ones, there is nothing for the others.
    pub(super) in_line: usize,
    /// Whether any of them stays in line if there is nothing for it.
    pub(super) waits: bool,
    /// When the last of them came, if the engine was asked for none of them before.
    pub(super) since: Option<Instant>,
}

impl Question {
    pub(super) fn next(line: &mut VecDeque<Call>) -> Question {
        let new = !line.iter().any(|call| call.asked.initialized());
        let mut question = Question {
            completes: Vec::new(),
            completing: Vec::new(),
            wanted: Vec::new(),
            items: 0,
            calls: 0,
            in_line: 0,
            waits: line.iter().any(Call::waits_on),
            since: line.back().map(|call| call.since).filter(|_| new),
        };
        // Nobody waits with what is done until others have what they wait for.
        for call in line.iter_mut() {
            let more = call.completing.as_ref().map_or(0, |completing| completing.leases.len());
            if question.completes.len() + more > MAX_BATCH {
                break;
            }
            question.in_line += 1;
            if let Some(mut completing) = call.completing.take() {
                question.completes.append(&mut completing.leases);
                question.completing.push(completing);
            }
        }
        for call in line.iter().take(question.in_line) {
            let count = if call.reply.is_closed() { 0 } else { call.count };
            if question.completes.len() + question.items + count > MAX_BATCH {
                break;
            }
            question.calls += 1;
            question.want(count, call.duration_ms);
        }
        question
    }

    fn want(&mut self, count: usize, duration_ms: u64) {
        self.items += count;
        match self.wanted.last_mut() {
            Some(last) if last.duration_ms == duration_ms => last.count += count,
            _ if count > 0 => self.wanted.push(Wanted { count, duration_ms }),
            _ => {}
        }
    }

    /// Nothing is asked for anybody: the news is only passed on.
    pub(super) fn is_empty(&self) -> bool {
        self.calls == 0 && self.completes.is_empty()
    }

    /// The engine has completed what was asked of it.
    pub(super) fn completed(&mut self, answers: &[bool]) {
        let mut answers = self.completes.iter().zip(answers);
        for Completing { handles, reply, .. } in self.completing.drain(..) {
            let answered = handles.iter().zip(answers.by_ref());
            let completed = answered.map(|(handle, (complete, done))| {
                handle.completed(*done, complete.strict);
                *done
            });
            let _ = reply.send(completed.collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Token;

    type Answer = oneshot::Receiver<Result<Parcel>>;

    fn stand(line: &mut VecDeque<Call>, completes: u64, count: usize) -> Answer {
        let (reply, answer) = oneshot::channel();
        let complete = |number| Complete {
            token: Token { number, delivery: 0 },
            id: "id".into(),
            strict: false,
        };
        let completing = (completes > 0).then(|| Completing {
            leases: (0..completes).map(complete).collect(),
            handles: Vec::new(),
            reply: oneshot::channel().0,
        });
        let (since, until, asked) = (Instant::now(), None, Arc::default());
        line.push_back(Call { count, duration_ms: 1, since, until, completing, asked, reply });
        answer
    }

    /// How many are completed, and leased for how many calls, of how many that may be answered.
    fn next(line: &mut VecDeque<Call>) -> (usize, usize, usize, usize) {
        let question = Question::next(line);
        let wanted: usize = question.wanted.iter().map(|wanted| wanted.count).sum();
        assert_eq!(wanted, question.items);
        (question.completes.len(), question.items, question.calls, question.in_line)
    }

    #[test]
    fn a_request_has_1000_items_of_both_kinds_at_most() {
        let mut line = VecDeque::new();
        let sizes = [(700, 200), (50, 300), (400, 1)];
        let _answers = sizes.map(|(completes, count)| stand(&mut line, completes, count));
        assert_eq!(next(&mut line), (750, 200, 1, 2));
        assert_eq!(next(&mut line), (400, 501, 3, 3));
        assert_eq!(next(&mut line), (0, 501, 3, 3));
    }

    #[test]
    fn what_is_done_does_not_wait_behind_those_who_want_much() {
        let mut line = VecDeque::new();
        let _answers = [stand(&mut line, 0, MAX_BATCH), stand(&mut line, 1, 1)];
        assert_eq!(next(&mut line), (1, 0, 0, 2));
        assert_eq!(next(&mut line), (0, MAX_BATCH, 1, 2));
    }

    #[test]
    fn a_call_that_is_gone_completes_and_wants_nothing() {
        let mut line = VecDeque::new();
        drop(stand(&mut line, 2, 5));
        assert!(line[0].counts());
        assert_eq!(next(&mut line), (2, 0, 1, 1));
        assert!(!line[0].counts());
    }
}
