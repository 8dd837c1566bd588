//! How an item is written: its record, and its delay.

use bytes::Bytes;

use super::stored_id::restore_id;
use crate::engine::AddedWith;
use crate::item::{Due, Item, Trigger};
use crate::options::{MAX_DELAY, ms};

/// Length of the name of follow-ups.
pub(super) const NAME: usize = 15;

/// Flags beside the length of the id: what follows it, in this order but that the unique key comes last.
const RETAINED: u16 = 1 << 15;
const UNIQUE: u16 = 1 << 14;
const KEYED: u16 = 1 << 13;
const FOLLOWED: u16 = 1 << 12;
const TRIGGERED: u16 = 1 << 11;
/// The bits of the length; no id is as long.
const LENGTH: u16 = (1 << 11) - 1;

/// What stands before the data of a record, as `scripts/parts/record.lua` describes it.
#[derive(Debug, PartialEq)]
pub(super) struct Head {
    pub(super) id: Bytes,
    pub(super) added_with: AddedWith,
    pub(super) trigger: Option<Trigger>,
}

impl Head {
    /// Of an item without options.
    pub(super) fn new(id: Bytes) -> Head {
        Head { id, added_with: AddedWith::default(), trigger: None }
    }
}

/// Whether a script puts the trigger of the item into its record.
pub(super) enum TriggerPlace {
    None,
    Wanted,
}

/// Writes a record. Replaces what `record` had. `follow_ups`: the name of the item's follow-ups, if it has some. Returns how
/// many bytes stand before the trigger, 0 if none is wanted.
pub(super) fn write_record(
    record: &mut Vec<u8>,
    stored_id: &[u8],
    item: &Item,
    follow_ups: Option<&[u8; NAME]>,
    trigger: TriggerPlace,
) -> usize {
    let retain_ms = ms(item.retain);
    let wanted = matches!(trigger, TriggerPlace::Wanted);
    let mut length = stored_id.len() as u16;
    length |= if retain_ms > 0 { RETAINED } else { 0 };
    length |= if item.unique.is_some() { UNIQUE } else { 0 };
    length |= if item.key.is_some() { KEYED } else { 0 };
    length |= if follow_ups.is_some() { FOLLOWED } else { 0 };
    length |= if wanted { TRIGGERED } else { 0 };
    record.clear();
    record.extend_from_slice(&length.to_be_bytes());
    record.extend_from_slice(stored_id);
    if retain_ms > 0 {
        record.extend_from_slice(&retain_ms.to_be_bytes()[2..]);
    }
    if let Some(name) = follow_ups {
        record.extend_from_slice(name);
    }
    let trigger_at = if wanted { record.len() } else { 0 };
    if let Some(key) = &item.key {
        record.push(key.len() as u8);
        record.extend_from_slice(key);
    }
    if let Some(key) = &item.unique {
        record.extend_from_slice(&(key.len() as u16).to_be_bytes());
        record.extend_from_slice(key);
    }
    record.extend_from_slice(&item.data);
    trigger_at
}

/// Head and data of a record; `None` if it cannot be read.
pub(super) fn read_record(mut record: Bytes) -> Option<(Head, Bytes)> {
    let length = read_length(&mut record)?;
    let id = take(&mut record, usize::from(length & LENGTH))?;
    if id.is_empty() {
        return None;
    }
    let mut added_with = AddedWith::default();
    if length & RETAINED != 0 {
        let bytes = take(&mut record, 6)?;
        added_with.retain_ms = bytes.iter().fold(0, |ms, byte| ms << 8 | u64::from(*byte));
    }
    if length & FOLLOWED != 0 {
        added_with.follow_ups = Some(take(&mut record, NAME)?);
    }
    let mut trigger = None;
    if length & TRIGGERED != 0 {
        let length = read_length(&mut record)?;
        let id = restore_id(&take(&mut record, usize::from(length))?);
        let length =
            take(&mut record, 4)?.iter().fold(0, |size, byte| size << 8 | usize::from(*byte));
        let result = match length.checked_sub(1) {
            Some(length) => Some(take(&mut record, length)?),
            None => None,
        };
        trigger = Some(Trigger { id, result });
    }
    if length & KEYED != 0 {
        let length = take(&mut record, 1)?[0];
        added_with.key = Some(take(&mut record, usize::from(length))?);
    }
    if length & UNIQUE != 0 {
        let length = read_length(&mut record)?;
        added_with.unique = Some(take(&mut record, usize::from(length))?);
    }
    Some((Head { id: restore_id(&id), added_with, trigger }, record))
}

/// As the script reads it: a delay, or a time, which is more than the longest delay.
pub(super) fn delay(due: Due) -> u64 {
    match due {
        Due::After(ms) => ms,
        Due::At(time) if u128::from(time) > MAX_DELAY.as_millis() => time,
        // It has passed, whatever the server's clock says.
        Due::At(_) => 0,
    }
}

fn read_length(rest: &mut Bytes) -> Option<u16> {
    let bytes = take(rest, 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

pub(super) fn take(rest: &mut Bytes, length: usize) -> Option<Bytes> {
    (length <= rest.len()).then(|| rest.split_to(length))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn records_come_back() {
        let mut record = b"an earlier one".to_vec();
        let plain = Item::new("\0data").with_id("a\0b");
        let retained = plain.clone().retain(Duration::from_millis(0x0102_0304));
        let both = retained.clone().unique("key");
        let keyed = plain.clone().key([b'k'; 128]);
        let all = both.clone().key("a\0b");
        for item in [plain.clone(), retained, plain.unique("k"), both, keyed, all.clone()] {
            write_record(&mut record, b"a\0b", &item, None, TriggerPlace::None);
            let (head, data) = read_record(record.clone().into()).unwrap();
            assert_eq!((&head.id, &data), (&item.id, &item.data));
            let (retain_ms, unique, key) = (ms(item.retain), item.unique, item.key);
            let added_with = AddedWith { retain_ms, unique, key, follow_ups: None };
            assert_eq!(head.added_with, added_with);
        }
        let item = Item::new("data").retain(Duration::from_secs(1)).unique("u").key("k");
        let at =
            write_record(&mut record, b"id", &item, Some(b"0123456789abcde"), TriggerPlace::Wanted);
        for (stored, trigger) in [
            (&b"\0\x01t\0\0\0\0"[..], Trigger { id: "t".into(), result: None }),
            (b"\0\x01t\0\0\0\x01", Trigger { id: "t".into(), result: Some("".into()) }),
            (b"\0\x01t\0\0\0\x03ok", Trigger { id: "t".into(), result: Some("ok".into()) }),
        ] {
            let record = [&record[..at], stored, &record[at..]].concat();
            let (head, data) = read_record(record.into()).unwrap();
            assert_eq!((head.trigger, &data[..]), (Some(trigger), &b"data"[..]));
            assert_eq!(head.added_with.follow_ups.as_deref(), Some(&b"0123456789abcde"[..]));
            assert_eq!(head.added_with.key.as_deref(), Some(&b"k"[..]));
        }
        write_record(&mut record, b"a\0b", &all, None, TriggerPlace::None);
        let cut = record.len() - "\0data".len();
        for length in 0..cut {
            assert_eq!(read_record(Bytes::copy_from_slice(&record[..length])), None);
        }
        assert_eq!(read_record(Bytes::from_static(b"\0\0abc")), None);
    }
}
