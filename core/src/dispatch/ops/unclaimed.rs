//! Leases between the engine and their caller.

use super::give_back::GiveBack;
use crate::lease::Lease;

/// Leases that no caller has taken yet. When they are dropped they are given back.
pub(crate) struct UnclaimedLeases {
    leases: Vec<Lease>,
    give_back: GiveBack,
}

impl UnclaimedLeases {
    pub(crate) fn new(leases: Vec<Lease>, give_back: &GiveBack) -> UnclaimedLeases {
        UnclaimedLeases { leases, give_back: give_back.clone() }
    }

    pub(crate) fn claim(mut self) -> Vec<Lease> {
        std::mem::take(&mut self.leases)
    }
}

impl Drop for UnclaimedLeases {
    fn drop(&mut self) {
        self.give_back.release(self.leases.iter().map(Lease::token).collect());
    }
}
