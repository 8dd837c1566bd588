//! Locking a mutex.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex, even if a panic has poisoned it: what it guards is never left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
