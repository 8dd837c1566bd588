//! Lanes: names under which the engine remembers the answer to the last operation.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::engine::Stamp;

/// One lane. It has one operation in flight at a time; each has the next number.
#[derive(Debug)]
pub(crate) struct Lane {
    name: Arc<str>,
    number: u64,
}

impl Lane {
    /// The stamp of the lane's next operation.
    pub(crate) fn next(&mut self, until: Instant) -> Stamp {
        self.number += 1;
        Stamp { lane: self.name.clone(), number: self.number, until }
    }
}

/// Makes the lanes of one client, with names that no other client has.
#[derive(Debug)]
pub(crate) struct Lanes {
    prefix: String,
    made: AtomicUsize,
    names: Mutex<Vec<Arc<str>>>,
    idle: Mutex<Vec<Lane>>,
}

impl Lanes {
    pub(crate) fn new() -> Self {
        // From the operating system: a forked child would repeat what a generator in memory gives.
        let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
        Lanes {
            prefix: format!("{random:016x}"),
            made: AtomicUsize::new(0),
            names: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    /// A lane for one operation or a few, to be given to [`put_back`](Lanes::put_back) after the
    /// last answer: a lane for each call would be one more name to keep, here and on the engine.
    pub(crate) fn take(&self) -> Lane {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| self.make())
    }

    pub(crate) fn put_back(&self, lane: Lane) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }

    pub(crate) fn make(&self) -> Lane {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name: Arc<str> =
            format!("{}.{}", self.prefix, self.made.fetch_add(1, Ordering::Relaxed)).into();
        names.push(name.clone());
        Lane { name, number: 0 }
    }

    /// Has the engine remember this lane after the client is closed: a copy of its last request may
    /// still be on its way, and must not be executed when it arrives.
    pub(crate) fn keep(&self, stamp: &Stamp) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.retain(|name| *name != stamp.lane);
    }

    /// The lanes that nothing is on its way on any more.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
