//! The settings of queues, so that an operation need not read them each time.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::Result;
use crate::settings::Stored;

/// Limit of the queues whose settings are kept in memory.
const MAX_KNOWN: usize = 10_000;

/// Settings by the number of the queue. They are valid until a queue is configured.
#[derive(Default)]
pub(super) struct KnownSettings(RefCell<HashMap<i64, Stored>>);

impl KnownSettings {
    pub(super) fn get_or(
        &self,
        queue: i64,
        read: impl FnOnce() -> Result<Stored>,
    ) -> Result<Stored> {
        if let Some(known) = self.0.borrow().get(&queue) {
            return Ok(*known);
        }
        let stored = read()?;
        let mut all = self.0.borrow_mut();
        if all.len() >= MAX_KNOWN {
            all.clear();
        }
        all.insert(queue, stored);
        Ok(stored)
    }

    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}
