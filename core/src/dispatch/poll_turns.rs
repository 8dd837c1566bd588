//! When calls that wait make the client ask again, although it has heard nothing: that limits the wait if news gets lost.
//!
//! The queues of a client take turns, so that an idle process is quiet however many queues it has, and never asks for many
//! of them in the same moment.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::lock::lock;

/// From one turn to the next. Each queue has one in this time times the number of queues on which calls wait.
const INTERVAL: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct PollTurns(Mutex<Turns>);

#[derive(Default)]
struct Turns {
    /// On which calls wait.
    queues: u32,
    /// The latest that was given to a queue.
    last: Option<Instant>,
}

/// The turn of one queue.
#[derive(Default)]
pub(crate) struct PollTurn {
    /// Where the queue is counted, while calls wait.
    counted: Option<Arc<PollTurns>>,
    at: Option<Instant>,
}

impl PollTurn {
    /// A request is about to be sent for calls that wait. Returns after which time the next one is. A turn that is still to
    /// come is kept: a queue that asks often would take those of the others.
    pub(crate) fn next(&mut self, turns: &Arc<PollTurns>, now: Instant) -> Duration {
        let mut all = lock(&turns.0);
        if self.counted.is_none() {
            self.counted = Some(turns.clone());
            all.queues += 1;
        }
        let (earliest, latest) = (now + INTERVAL, now + INTERVAL * all.queues);
        let at = match self.at {
            Some(at) if at >= earliest => at.min(latest),
            _ => {
                let next = all.last.map_or(earliest, |last| last + INTERVAL);
                *all.last.insert(next.clamp(earliest, latest))
            }
        };
        self.at = Some(at);
        at - now
    }

    /// No call waits any longer.
    pub(crate) fn leave(&mut self) {
        if let Some(turns) = self.counted.take() {
            lock(&turns.0).queues -= 1;
        }
    }
}

impl Drop for PollTurn {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUES: u32 = 100;

    /// In whole intervals.
    fn next(turn: &mut PollTurn, turns: &Arc<PollTurns>, now: Instant) -> u128 {
        turn.next(turns, now).as_millis() / INTERVAL.as_millis()
    }

    #[test]
    fn queues_that_begin_to_wait_together_take_turns() {
        let (turns, begun) = (Arc::default(), Instant::now());
        let mut queues: Vec<PollTurn> = (0..QUEUES).map(|_| PollTurn::default()).collect();
        for round in 0..3 {
            for (place, queue) in (1..).zip(&mut queues) {
                let (now, expected) = match round {
                    0 => (begun, place),
                    _ => (begun + INTERVAL * (QUEUES * (round - 1) + place), QUEUES),
                };
                assert_eq!(next(queue, &turns, now), u128::from(expected), "{round}, {place}");
            }
        }
    }

    #[test]
    fn a_queue_that_asks_often_does_not_move_the_turns_of_the_others() {
        let (turns, begun) = (Arc::default(), Instant::now());
        let [mut busy, mut idle, mut late] = [(); 3].map(|()| PollTurn::default());
        assert_eq!(next(&mut busy, &turns, begun), 1);
        assert_eq!(next(&mut idle, &turns, begun), 2);
        let later = begun + INTERVAL;
        for _ in 0..1_000 {
            assert_eq!(next(&mut busy, &turns, later), 2);
            busy.leave();
        }
        assert_eq!(next(&mut idle, &turns, later), 1);
        assert_eq!(next(&mut late, &turns, later), 2);
    }

    #[test]
    fn queues_on_which_nobody_waits_any_longer_hold_up_no_others() {
        let (turns, begun) = (Arc::default(), Instant::now());
        let mut first = PollTurn::default();
        {
            let mut others: Vec<PollTurn> = (1..QUEUES).map(|_| PollTurn::default()).collect();
            others.iter_mut().for_each(|queue| _ = queue.next(&turns, begun));
            assert_eq!(next(&mut first, &turns, begun), u128::from(QUEUES));
        }
        assert_eq!(next(&mut first, &turns, begun), 1);
        assert_eq!(next(&mut PollTurn::default(), &turns, begun), 2);
    }
}
