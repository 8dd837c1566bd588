//! A clock that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leaseq::Clock;
use napi_derive::napi;

/// The time of a queue in memory, in milliseconds since 1970.
#[napi]
pub struct NativeClock(Arc<AtomicU64>);

impl NativeClock {
    pub(crate) fn clock(&self) -> Clock {
        let now = self.0.clone();
        Clock::from(move || now.load(Ordering::Relaxed))
    }
}

#[napi]
impl NativeClock {
    #[napi(constructor)]
    pub fn new(now: f64) -> Self {
        NativeClock(Arc::new(AtomicU64::new(now as u64)))
    }

    #[napi(getter)]
    pub fn now(&self) -> f64 {
        self.0.load(Ordering::Relaxed) as f64
    }

    #[napi]
    pub fn advance(&self, ms: f64) {
        self.0.fetch_add(ms as u64, Ordering::Relaxed);
    }
}
