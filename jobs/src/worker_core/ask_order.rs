//! Which queues are asked for how many jobs, and in which order.

use super::options::Order;

/// Divides free slots among queues.
#[derive(Debug)]
pub(super) enum AskOrder {
    /// The first queue that has anything gets all.
    Strict,
    /// Deficit round robin: it is a queue's turn until it has started as many jobs as its weight says. A queue that
    /// has nothing loses its turn, so it saves nothing up.
    Weighted { weights: Vec<u32>, turn: usize, left: u32 },
}

impl AskOrder {
    pub(super) fn new(order: Order, weights: Vec<u32>) -> AskOrder {
        match order {
            Order::Strict => AskOrder::Strict,
            Order::Weighted => {
                let left = weights.first().copied().unwrap_or(1);
                AskOrder::Weighted { weights, turn: 0, left }
            }
        }
    }

    /// How many jobs each of these queues is asked for, the first one first; together as many as there are free slots.
    /// `candidates` are sorted.
    pub(super) fn divide(&mut self, free: usize, candidates: &[usize]) -> Vec<(usize, usize)> {
        if free == 0 || candidates.is_empty() {
            return Vec::new();
        }
        let (weights, turn, left) = match self {
            AskOrder::Strict => return vec![(candidates[0], free)],
            AskOrder::Weighted { weights, turn, left } => (weights, turn, left),
        };
        let mut shares: Vec<(usize, usize)> = Vec::new();
        let mut undivided = free;
        while undivided > 0 {
            if *left == 0 || !candidates.contains(turn) {
                let next = candidates.iter().find(|queue| **queue > *turn);
                *turn = *next.unwrap_or(&candidates[0]);
                *left = weights[*turn];
            }
            let share = undivided.min(*left as usize);
            *left -= share as u32;
            undivided -= share;
            match shares.iter_mut().find(|(queue, _)| queue == turn) {
                Some((_, count)) => *count += share,
                None => shares.push((*turn, share)),
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_queue_gets_all_in_strict_order() {
        let mut order = AskOrder::new(Order::Strict, vec![1, 5]);
        assert_eq!(order.divide(7, &[0, 1]), [(0, 7)]);
        assert_eq!(order.divide(7, &[1]), [(1, 7)]);
        assert_eq!(order.divide(7, &[]), []);
        assert_eq!(order.divide(0, &[0]), []);
    }

    #[test]
    fn weights_hold_whether_slots_become_free_together_or_one_by_one() {
        for step in [1, 2, 3, 5, 100] {
            let mut order = AskOrder::new(Order::Weighted, vec![3, 1, 2]);
            let mut started = [0; 3];
            for _ in 0..600 / step {
                for (queue, count) in order.divide(step, &[0, 1, 2]) {
                    started[queue] += count;
                }
            }
            assert_eq!(started, [300, 100, 200], "{step} at once");
        }
    }

    #[test]
    fn a_queue_that_has_nothing_saves_nothing_up() {
        let mut order = AskOrder::new(Order::Weighted, vec![3, 1]);
        for _ in 0..10 {
            assert_eq!(order.divide(5, &[1]), [(1, 5)]);
        }
        assert_eq!(order.divide(8, &[0, 1]), [(0, 6), (1, 2)]);
    }
}
