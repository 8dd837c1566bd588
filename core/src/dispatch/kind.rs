//! The kinds of calls, and which of them may change places.

use std::collections::VecDeque;

use crate::engine::{Complete, Token};

/// What a call does. Calls of one kind share requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Add,
    Complete,
    Extend,
    Progress,
    Release,
    Fail,
    Remove,
    Requeue,
    Bury,
    Revise,
    Cancel,
    Attach,
    /// Leases, and perhaps completes before it.
    Lease,
}

impl Kind {
    pub(super) const ALL: [Kind; 13] = [
        Kind::Add,
        Kind::Complete,
        Kind::Extend,
        Kind::Progress,
        Kind::Release,
        Kind::Fail,
        Kind::Remove,
        Kind::Requeue,
        Kind::Bury,
        Kind::Revise,
        Kind::Cancel,
        Kind::Attach,
        Kind::Lease,
    ];
}

/// Whether two calls may change places.
#[derive(Debug, PartialEq)]
pub(super) enum Swap {
    /// If they name no item in common.
    OfDistinctItems,
    Never,
}

/// Completing an item takes it away and moves no other one. Releasing and failing do, if the item is cancelled. Extending
/// and progress name leases and not ids, so they are compared with what names both.
pub(super) fn swap(one: Kind, other: Kind) -> Swap {
    use Kind::{
        Add, Bury, Cancel, Complete, Extend, Fail, Lease, Progress, Release, Remove, Requeue,
        Revise,
    };
    match (one, other) {
        (
            Complete,
            Add | Extend | Progress | Release | Fail | Remove | Requeue | Bury | Revise | Cancel
            | Lease,
        )
        | (
            Add | Extend | Progress | Release | Fail | Remove | Requeue | Bury | Revise | Cancel
            | Lease,
            Complete,
        )
        | (Add | Requeue, Remove)
        | (Remove, Add | Requeue)
        | (Extend | Progress, Release | Fail | Add)
        | (Release | Fail | Add, Extend | Progress)
        | (Extend, Progress)
        | (Progress, Extend)
        | (Release, Fail | Add)
        | (Fail | Add, Release) => Swap::OfDistinctItems,
        _ => Swap::Never,
    }
}

/// The items that calls name, as hashes. Two that agree by chance are kept in order for nothing.
#[derive(Default)]
pub(crate) struct Items(pub(super) VecDeque<u64>);

impl Items {
    /// Cheap, since it is done for each call: whoever chooses ids that agree only loses a little time.
    pub(crate) fn by_id(&mut self, id: &[u8]) {
        let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
        let (words, rest) = id.as_chunks();
        let hash =
            words.iter().fold(id.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        self.0.push_back(rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte))));
    }

    pub(crate) fn by_token(&mut self, token: Token) {
        self.0.push_back(token.generation.count);
    }

    pub(crate) fn by_id_and_token(&mut self, id: &[u8], token: Token) {
        self.by_id(id);
        self.by_token(token);
    }

    pub(crate) fn by_lease(&mut self, lease: &Complete) {
        self.by_id_and_token(&lease.id, lease.token);
    }
}

/// Odd, and without a pattern in its bits.
const MULTIPLIER: u64 = 0x517c_c1b7_2722_0a95;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_two_kinds_change_places_does_not_depend_on_which_is_named_first() {
        for one in Kind::ALL {
            for other in Kind::ALL {
                assert_eq!(swap(one, other), swap(other, one), "{one:?} {other:?}");
            }
        }
    }
}
