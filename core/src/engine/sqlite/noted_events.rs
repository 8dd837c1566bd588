//! The events of one transaction, which it writes at its end: one row for each queue.

use std::cell::RefCell;

use crate::event::EventKind;

/// An event without its id: letter, number, attempt (0: none), and the length of its id (0: it has none).
pub(super) const HEAD: usize = 15;

pub(super) const NEXT: &str =
    "UPDATE queue SET event = event + ?2 WHERE queue = ?1 RETURNING event, events";
pub(super) const ADD: &str = "INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5)";
pub(super) const TRIM: &str = "DELETE FROM event WHERE queue = ?1 AND last <= ?2";

/// What a transaction has changed.
#[derive(Default)]
pub(super) struct NotedEvents(RefCell<Vec<OfQueue>>);

pub(super) struct OfQueue {
    pub(super) queue: i64,
    pub(super) count: i64,
    pub(super) packed: Vec<u8>,
}

impl NotedEvents {
    pub(super) fn push(&self, queue: i64, kind: EventKind, number: i64, attempt: u32, id: &[u8]) {
        let mut all = self.0.borrow_mut();
        let place = all.iter().position(|of| of.queue == queue).unwrap_or_else(|| {
            all.push(OfQueue { queue, count: 0, packed: Vec::new() });
            all.len() - 1
        });
        let of = &mut all[place];
        of.count += 1;
        of.packed.push(kind.letter());
        of.packed.extend(number.to_be_bytes());
        of.packed.extend(attempt.to_be_bytes());
        of.packed.extend((id.len() as u16).to_be_bytes());
        of.packed.extend(id);
    }

    pub(super) fn take(&self) -> Vec<OfQueue> {
        self.0.take()
    }
}
