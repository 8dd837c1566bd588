//! The items that must be ready. An audit keeps 16 bytes and a bit for each of them.

use std::collections::HashMap;

use crate::engine::Generation;

/// An item and its delivery, if that is less than [`LATER`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    count: u64,
    salt: [u8; 5],
    delivery: [u8; 3],
}

const _: () = assert!(size_of::<Candidate>() == 16);

/// Stands for a delivery that is in the map `later`.
const LATER: u64 = 0xff_ffff;

#[derive(Debug, Default)]
pub(super) struct Candidates {
    items: Vec<Candidate>,
    /// One bit for each item: it was seen in a ready list.
    marked: Vec<u64>,
    later: HashMap<Generation, u64>,
}

impl Candidates {
    pub(super) fn push(&mut self, Generation { count, salt }: Generation, delivery: u64) {
        if delivery >= LATER {
            self.later.insert(Generation { count, salt }, delivery);
        }
        let [_, _, _, _, _, bytes @ ..] = delivery.min(LATER).to_be_bytes();
        self.items.push(Candidate { count, salt, delivery: bytes });
    }

    /// To be called after the last push and before the first mark. A scan may give an item twice.
    pub(super) fn sort(&mut self) {
        self.items.sort_unstable();
        self.items.dedup_by_key(|item| (item.count, item.salt));
        self.marked = vec![0; self.items.len().div_ceil(64)];
    }

    /// Marks an item as seen. True: it is a candidate and was marked before.
    pub(super) fn mark(&mut self, Generation { count, salt }: Generation) -> bool {
        let found = self.items.binary_search_by(|item| (item.count, item.salt).cmp(&(count, salt)));
        let Ok(place) = found else { return false };
        let (word, bit) = (&mut self.marked[place / 64], 1 << (place % 64));
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    /// The items that were not marked, with their deliveries.
    pub(super) fn unmarked(self) -> Vec<(Generation, u64)> {
        let is_marked = |place: usize| self.marked[place / 64] & (1 << (place % 64)) != 0;
        let missing = self.items.iter().enumerate().filter(|(place, _)| !is_marked(*place));
        missing
            .map(|(_, item)| {
                let generation = Generation { count: item.count, salt: item.salt };
                let [high, middle, low] = item.delivery;
                let delivery = u64::from(u32::from_be_bytes([0, high, middle, low]));
                let delivery = match delivery {
                    LATER => self.later.get(&generation).copied().unwrap_or(LATER),
                    delivery => delivery,
                };
                (generation, delivery)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_marked_once_and_the_others_come_back() {
        let item = |count| Generation { count, salt: *b"salt." };
        let mut all = Candidates::default();
        for count in (0..1000).rev() {
            all.push(item(count), count);
            all.push(item(count), count);
        }
        all.push(item(7777), LATER);
        all.push(item(8888), 1_800_000_000_000);
        all.sort();
        assert!((0..990).all(|count| !all.mark(item(count))));
        assert!((0..990).all(|count| all.mark(item(count))));
        assert!(!all.mark(item(1000)) && !all.mark(item(1000)));
        assert!(!all.mark(Generation { count: 995, salt: *b"other" }));
        let mut expected: Vec<_> = (990..1000).map(|count| (item(count), count)).collect();
        expected.extend([(item(7777), LATER), (item(8888), 1_800_000_000_000)]);
        assert_eq!(all.unmarked(), expected);
    }
}
