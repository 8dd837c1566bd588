//! Which queues are asked for how many jobs, and in which order.

use super::options::Order;

/// How many of the first queues are asked again whenever a slot becomes free, in strict order.
const ASKED_AGAIN: usize = 4;

/// Divides free slots among queues.
#[derive(Debug)]
pub(super) enum AskOrder {
    /// The first queue that has anything gets all. The places of the queues: that with the lowest is the first.
    Strict { places: Vec<usize> },
    /// Deficit round robin: it is a queue's turn until it has started as many jobs as its weight says. A queue that
    /// has nothing loses its turn, so it saves nothing up.
    Weighted { weights: Vec<u32>, turn: usize, left: u32 },
}

impl AskOrder {
    /// Of no queues.
    pub(super) fn new(order: Order) -> AskOrder {
        match order {
            Order::Strict => AskOrder::Strict { places: Vec::new() },
            Order::Weighted => AskOrder::Weighted { weights: Vec::new(), turn: 0, left: 0 },
        }
    }

    /// One more queue.
    pub(super) fn add(&mut self, place: usize, weight: u32) {
        match self {
            AskOrder::Strict { places } => places.push(place),
            AskOrder::Weighted { weights, turn, left } => {
                weights.push(weight);
                // It is the turn of the first one.
                if weights.len() == 1 {
                    (*turn, *left) = (0, weight);
                }
            }
        }
    }

    /// The queues that are to be asked whenever a slot becomes free, even if they were empty: in strict order those in
    /// front. What others get is heard of.
    pub(super) fn first(&self) -> impl Iterator<Item = usize> + use<> {
        let mut first: Vec<usize> = match self {
            AskOrder::Strict { places } => (0..places.len()).collect(),
            AskOrder::Weighted { .. } => Vec::new(),
        };
        if let AskOrder::Strict { places } = self {
            first.sort_by_key(|queue| places[*queue]);
        }
        first.into_iter().take(ASKED_AGAIN)
    }

    /// How many jobs each of these queues is asked for, the first one first; together as many as there are free slots.
    /// `candidates` are sorted.
    pub(super) fn divide(&mut self, free: usize, candidates: &[usize]) -> Vec<(usize, usize)> {
        if free == 0 || candidates.is_empty() {
            return Vec::new();
        }
        let (weights, turn, left) = match self {
            AskOrder::Strict { places } => {
                let first = candidates.iter().min_by_key(|queue| places[**queue]);
                return first.map(|queue| (*queue, free)).into_iter().collect();
            }
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

    fn order(order: Order, weights: &[u32]) -> AskOrder {
        let mut of_none = AskOrder::new(order);
        weights.iter().enumerate().for_each(|(place, weight)| of_none.add(place, *weight));
        of_none
    }

    #[test]
    fn the_first_queue_gets_all_in_strict_order() {
        let mut order = self::order(Order::Strict, &[1, 5]);
        assert_eq!(order.divide(7, &[0, 1]), [(0, 7)]);
        assert_eq!(order.divide(7, &[1]), [(1, 7)]);
        assert_eq!(order.divide(7, &[]), []);
        assert_eq!(order.divide(0, &[0]), []);
        // One that is found later may belong to a place in front.
        order.add(0, 1);
        assert_eq!(order.divide(7, &[1, 2]), [(2, 7)]);
        assert_eq!(order.first().collect::<Vec<_>>(), [0, 2, 1]);
        (3..9).for_each(|place| order.add(place, 1));
        assert_eq!(order.first().count(), ASKED_AGAIN);
    }

    #[test]
    fn weights_hold_whether_slots_become_free_together_or_one_by_one() {
        for step in [1, 2, 3, 5, 100] {
            let mut order = self::order(Order::Weighted, &[3, 1, 2]);
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
        let mut order = self::order(Order::Weighted, &[3, 1]);
        for _ in 0..10 {
            assert_eq!(order.divide(5, &[1]), [(1, 5)]);
        }
        assert_eq!(order.divide(8, &[0, 1]), [(0, 6), (1, 2)]);
        assert_eq!(order.first().count(), 0);
    }
}
