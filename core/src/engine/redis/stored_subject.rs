//! How the keys `awaited` and `endings` name what a client waits for.

use super::stored_id::{StoredId, restore_id, store_id};
use crate::engine::Subject;

/// Marks a group; its stored id follows. A stored id of an item that begins with the first of these bytes has that or 0 behind it.
const GROUP: &[u8] = b"\x01G";

pub(super) fn store_subject(subject: &Subject) -> StoredId<'_> {
    match subject {
        Subject::Item(id) => store_id(id),
        Subject::Group(id) => StoredId::Escaped([GROUP, &store_id(id)].concat()),
    }
}

/// What was stored.
pub(super) fn restore_subject(stored: &[u8]) -> Subject {
    match stored.strip_prefix(GROUP) {
        Some(id) => Subject::Group(restore_id(id)),
        None => Subject::Item(restore_id(stored)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_group_is_named_like_an_item() {
        let ids: [&[u8]; 7] = [
            b"a",
            b"Ga",
            b"\x01Ga",
            b"\x01",
            b"\0G",
            b"\x01\0",
            b"67e55044-10b1-426f-9247-bb680e5fe0c8",
        ];
        let mut stored = Vec::new();
        for id in ids {
            for subject in [Subject::Item, Subject::Group].map(|kind| kind(id.into())) {
                assert_eq!(restore_subject(&store_subject(&subject)), subject);
                stored.push(store_subject(&subject).to_vec());
            }
        }
        stored.sort();
        stored.dedup();
        assert_eq!(stored.len(), 2 * ids.len());
    }
}
