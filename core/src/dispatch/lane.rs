//! Lanes: names under which the engine remembers the reply to the last operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crate::engine::RequestId;

/// A lane has one operation in flight at a time. Its operations are numbered.
#[derive(Debug)]
pub(crate) struct Lane {
    name: Arc<str>,
    number: u64,
    /// A copy of one of its requests may still arrive.
    late_copy: Arc<AtomicBool>,
}

impl Lane {
    /// The request id of the lane's next operation.
    pub(crate) fn next(&mut self, until: Instant) -> RequestId {
        self.number += 1;
        RequestId {
            lane: self.name.clone(),
            number: self.number,
            until,
            late_copy: self.late_copy.clone(),
        }
    }

    /// The outcome of its last operation is unknown: a copy of the request may still arrive. It is not executed
    /// while the engine remembers the lane.
    pub(crate) fn unknown(&mut self) {
        self.late_copy.store(true, Ordering::Relaxed);
    }

    /// Its name, if no copy of one of its requests can arrive any more.
    pub(crate) fn into_unused_name(self) -> Option<Arc<str>> {
        (!self.late_copy.load(Ordering::Relaxed)).then_some(self.name)
    }
}

/// Creates the names of a client's lanes, which no other client has.
#[derive(Debug)]
pub(crate) struct LaneNames {
    prefix: String,
    made: AtomicUsize,
}

impl LaneNames {
    pub(crate) fn new() -> Self {
        // From the operating system: a forked child would repeat what a generator in memory gives.
        let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
        LaneNames { prefix: format!("{random:016x}"), made: AtomicUsize::new(0) }
    }

    pub(crate) fn make(&self) -> Lane {
        let name = format!("{}.{}", self.prefix, self.made.fetch_add(1, Ordering::Relaxed));
        Lane { name: name.into(), number: 0, late_copy: Arc::default() }
    }
}
