//! What the engine is asked for: what the first calls in line want together.

use std::collections::VecDeque;
use std::time::Instant;

use super::line::{Call, Completing};
use crate::engine::{Complete, Wanted};
use crate::options::MAX_BATCH;

/// One question, and for whom.
pub(super) struct Question {
    /// Those up to the first that has something left to complete. If there is not even enough for the
    /// first ones, there is nothing for the others.
    pub(super) calls: Vec<Call>,
    /// What they complete, and who does.
    pub(super) completes: Vec<Complete>,
    completing: Vec<Completing>,
    /// What the first of them want to lease together; with the completions, at most [`MAX_BATCH`]
    /// items.
    pub(super) wanted: Vec<Wanted>,
    pub(super) items: usize,
    /// How many of them.
    wanting: usize,
    /// Whether any of the whole line stays in it if there is nothing for it.
    pub(super) waits: bool,
    /// The latest time by which one of them must be answered, if the engine was asked for none of them
    /// before.
    pub(super) answer_by: Option<Instant>,
    /// The place among the calls of all kinds of the last that is asked for.
    pub(super) last: u64,
}

impl Question {
    /// `limit`: calls from this number on must wait.
    pub(super) fn next(line: &mut VecDeque<Call>, limit: u64) -> Question {
        let waits = line.iter().any(Call::waits_on);
        let (mut completes, mut completing, mut first) = (Vec::new(), Vec::new(), 0);
        // Nobody waits with what is done until others have what they wait for.
        for call in line.iter_mut() {
            let more = call.completing.as_ref().map_or(0, |completing| completing.leases.len());
            if completes.len() + more > MAX_BATCH || call.number >= limit {
                break;
            }
            first += 1;
            if let Some(mut own) = call.completing.take() {
                completes.append(&mut own.leases);
                completing.push(*own);
            }
        }
        let mut calls: Vec<Call> = line.drain(..first).collect();
        let new = !calls.iter().any(|call| call.asked.initialized());
        let mut question = Question {
            answer_by: calls.iter().map(|call| call.answer_by).max().filter(|_| new),
            last: 0,
            calls: Vec::new(),
            completes,
            completing,
            wanted: Vec::new(),
            items: 0,
            wanting: 0,
            waits,
        };
        for call in &mut calls {
            let count = if call.reply.is_closed() { 0 } else { call.count };
            if question.completes.len() + question.items + count > MAX_BATCH {
                break;
            }
            question.wanting += 1;
            question.last = question.last.max(std::mem::take(&mut call.number));
            question.want(count, call.duration_ms);
        }
        question.calls = calls;
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

    /// Which of the operations of the engine it takes, of three.
    pub(super) fn operation(&self) -> usize {
        match (self.completes.is_empty(), self.wanted.is_empty()) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        }
    }

    /// Nothing is asked for anybody: the news is only passed on.
    pub(super) fn is_empty(&self) -> bool {
        self.wanting == 0 && self.completes.is_empty()
    }

    /// The engine has completed what was asked of it.
    pub(super) fn completed(&mut self, completes: &[Complete], answers: &[bool]) {
        let mut answers = completes.iter().zip(answers);
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
    use super::super::line::tests::stand;
    use super::*;

    /// How many are completed, and leased for how many calls, of how many that may be answered. All of
    /// them stand in line again.
    fn next(line: &mut VecDeque<Call>) -> (usize, usize, usize, usize) {
        let question = Question::next(line, u64::MAX);
        let wanted: usize = question.wanted.iter().map(|wanted| wanted.count).sum();
        assert_eq!(wanted, question.items);
        let calls = question.calls.len();
        question.calls.into_iter().rev().for_each(|call| line.push_front(call));
        (question.completes.len(), question.items, question.wanting, calls)
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
