//! Which scripts the user may not run on a queue.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::scripts::Script;

/// The scripts that the user cannot run to their end, each with the rights that are missing. `None`
/// until the server was asked.
#[derive(Debug, Default)]
pub(super) struct Denied(RwLock<Option<BTreeMap<Script, String>>>);

pub(super) enum Access {
    /// The server was not asked yet.
    Unknown,
    Allowed,
    /// With the rights that are missing.
    Denied(String),
}

impl Denied {
    pub(super) fn set(&self, denied: BTreeMap<Script, String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(denied);
    }

    pub(super) fn of(&self, script: Script) -> Access {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            None => Access::Unknown,
            Some(denied) => {
                denied.get(&script).map_or(Access::Allowed, |lacks| Access::Denied(lacks.clone()))
            }
        }
    }
}
