//! Lanes: names under which the engine remembers the answer to the last operation.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Instant;

use rand::RngCore;

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
    names: Mutex<Vec<Arc<str>>>,
}

impl Lanes {
    pub(crate) fn new() -> Self {
        let mut bytes = [0u8; 8];
        rand::rng().fill_bytes(&mut bytes);
        Lanes { prefix: format!("{:016x}", u64::from_le_bytes(bytes)), names: Mutex::default() }
    }

    pub(crate) fn make(&self) -> Lane {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name: Arc<str> = format!("{}.{}", self.prefix, names.len()).into();
        names.push(name.clone());
        Lane { name, number: 0 }
    }

    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
