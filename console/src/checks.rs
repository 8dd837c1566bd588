//! The last checks of queues.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The most checks that are remembered.
const MAX_CHECKS: usize = 1_000;

/// The last checks, by queue.
#[derive(Default)]
pub(crate) struct Checks(Mutex<HashMap<String, Check>>);

/// The check of a queue.
#[derive(Clone)]
pub(crate) struct Check {
    pub(crate) at: SystemTime,
    /// `None`: it is running. Else how many items there are, what was found, and whether all is well now; or why it failed.
    pub(crate) found: Option<Result<(u64, String, bool), String>>,
}

impl Checks {
    pub(crate) fn set(&self, queue: &str, check: Check) {
        let mut checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if checks.len() >= MAX_CHECKS && !checks.contains_key(queue) {
            checks.clear();
        }
        checks.insert(queue.to_owned(), check);
    }

    pub(crate) fn get(&self, queue: &str) -> Option<Check> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(queue).cloned()
    }
}
