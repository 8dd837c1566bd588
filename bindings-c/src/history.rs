//! What has happened to an item before: how its leases ended, and why it was released.

use std::ffi::{CStr, c_char};

use leaseq::{Ending, EndingKind, Releases};

use crate::guard;
use crate::pointer::since_epoch;

/// How a lease ended without completion.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_ending {
    /// There is no such lease.
    LEASEQ_ENDING_NONE = 0,
    /// With leaseq_queue_fail().
    LEASEQ_ENDING_FAILED = 1,
    /// It expired and was reclaimed.
    LEASEQ_ENDING_EXPIRED = 2,
}

/// Name of a ::leaseq_ending: `none`, `failed`, `expired`, or `unknown`. Never NULL; lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_ending_name(ending: i32) -> *const c_char {
    guard::value(std::ptr::null(), || name(ending).as_ptr())
}

fn name(ending: i32) -> &'static CStr {
    match ending {
        0 => c"none",
        1 => c"failed",
        2 => c"expired",
        _ => c"unknown",
    }
}

/// How the lease at this index ended.
pub(crate) fn kind_at(endings: &[Ending], index: usize) -> leaseq_ending {
    match endings.get(index).map(|ending| ending.kind) {
        Some(EndingKind::Failed) => leaseq_ending::LEASEQ_ENDING_FAILED,
        Some(EndingKind::Expired) => leaseq_ending::LEASEQ_ENDING_EXPIRED,
        _ => leaseq_ending::LEASEQ_ENDING_NONE,
    }
}

/// When the lease at this index ended, in ms since 1970; -1 if there is none.
pub(crate) fn ended_at(endings: &[Ending], index: usize) -> i64 {
    endings.get(index).map_or(-1, |ending| since_epoch(ending.at))
}

/// The reason of releases; empty if there were none.
pub(crate) fn reason(releases: Option<&Releases>) -> &str {
    releases.map_or("", |releases| &releases.reason)
}

/// How many releases there were.
pub(crate) fn count(releases: Option<&Releases>) -> u32 {
    releases.map_or(0, |releases| releases.count)
}

/// When the first release was, in ms since 1970; -1 if there was none.
pub(crate) fn first_at(releases: Option<&Releases>) -> i64 {
    releases.map_or(-1, |releases| since_epoch(releases.first_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_have_the_names_of_the_core() {
        for (ending, kind) in [
            (leaseq_ending::LEASEQ_ENDING_FAILED, EndingKind::Failed),
            (leaseq_ending::LEASEQ_ENDING_EXPIRED, EndingKind::Expired),
        ] {
            assert_eq!(name(ending as i32).to_str(), Ok(kind.as_str()));
        }
    }
}
