//! Groups as engines store them.

use bytes::Bytes;

use super::Generation;
use crate::group::PlaceState;
use crate::item::Item;

/// What is to become of the group with this id.
#[derive(Debug, Clone)]
pub(crate) struct ChangeGroup {
    pub(crate) id: Bytes,
    pub(crate) change: GroupChange,
}

#[derive(Debug, Clone)]
pub(crate) enum GroupChange {
    /// Unless there is one. The item has its follow-ups.
    Create(Box<Item>),
    /// Fixes how many places it has.
    Seal {
        generation: Generation,
        places: u32,
    },
    /// And its members, unless it has ended.
    Cancel {
        generation: Generation,
    },
    Remove {
        generation: Generation,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredGroup {
    pub(crate) generation: Generation,
    /// 0: not sealed.
    pub(crate) places: u32,
    pub(crate) ended: u32,
    pub(crate) completed: u32,
    pub(crate) has_ended: bool,
    pub(crate) changed_ms: u64,
    /// Of the places that were asked for.
    pub(crate) states: Vec<PlaceState>,
}

/// How many places one field or row has.
pub(crate) const IN_FIELD: u32 = 500;

/// The letters of states.
pub(crate) const OPEN: u8 = b'-';
pub(crate) const ENDED: u8 = b'e';
pub(crate) const COMPLETED: u8 = b'c';
/// The member of the place was not added: it has ended.
pub(crate) const REFUSED: u8 = b'r';

/// What is missing is open, and what cannot be read, too.
pub(crate) fn read_state(letter: Option<&u8>) -> PlaceState {
    match letter {
        Some(&COMPLETED) => PlaceState::Completed,
        Some(&ENDED | &REFUSED) => PlaceState::Ended,
        _ => PlaceState::Open,
    }
}
