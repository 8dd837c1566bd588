//! A clock that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leaseq::Clock;
use pyo3::prelude::*;

#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct TestClock(Arc<AtomicU64>);

impl TestClock {
    pub(crate) fn clock(&self) -> Clock {
        let now = self.0.clone();
        Clock::from(move || now.load(Ordering::Relaxed))
    }
}

#[pymethods]
impl TestClock {
    /// Milliseconds since 1970.
    #[new]
    fn new(now: u64) -> Self {
        TestClock(Arc::new(AtomicU64::new(now)))
    }

    #[getter]
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}
