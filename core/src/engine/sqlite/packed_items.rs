//! How follow-ups are written in a file.

use std::time::{Duration, SystemTime};

use bytes::{Buf, BufMut, Bytes};

use crate::item::{FollowUp, Item, On};
use crate::name::QueueName;
use crate::options::ms;

/// Stands for the length of bytes that there are not, and for a time that there is not.
const NO_BYTES: u32 = u32::MAX;
const NO_TIME: u64 = u64::MAX;

pub(super) fn pack(follow_ups: &[FollowUp]) -> Vec<u8> {
    let mut packed = Vec::new();
    packed.put_u16(follow_ups.len() as u16);
    for FollowUp { on, item, with_trigger } in follow_ups {
        packed.put_u8(on.bit());
        packed.put_u8(u8::from(*with_trigger));
        put_item(&mut packed, item);
    }
    packed
}

fn put_item(packed: &mut Vec<u8>, item: &Item) {
    let since_1970 =
        |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    packed.put_u8(item.priority);
    packed.put_u8(item.replaces());
    packed.put_u32(item.max_attempts.unwrap_or(0));
    for time in [
        Some(item.delay),
        item.due_at.map(since_1970),
        Some(item.retain),
        Some(item.unique_for),
        item.expires_in,
    ] {
        packed.put_u64(time.map_or(NO_TIME, ms));
    }
    let queue = item.queue.as_ref().map(|queue| queue.as_str().as_bytes());
    let (unique, key) = (item.unique.as_deref(), item.key.as_deref());
    for bytes in [Some(&*item.id), Some(&*item.data), unique, key, queue] {
        packed.put_u32(bytes.map_or(NO_BYTES, |bytes| bytes.len() as u32));
        packed.put_slice(bytes.unwrap_or_default());
    }
    packed.put_slice(&pack(&item.follow_ups));
}

/// `None` if they cannot be read.
pub(super) fn unpack(packed: &[u8]) -> Option<Vec<FollowUp>> {
    let mut rest = packed;
    let follow_ups = take_follow_ups(&mut rest, 0)?;
    rest.is_empty().then_some(follow_ups)
}

fn take_follow_ups(rest: &mut &[u8], depth: usize) -> Option<Vec<FollowUp>> {
    let count = rest.try_get_u16().ok()?;
    // What another program has written must not use up the stack.
    if count > 0 && depth > crate::options::MAX_FOLLOW_UP_DEPTH {
        return None;
    }
    let mut take = || {
        let on = On::from_bit(rest.try_get_u8().ok()?)?;
        let with_trigger = rest.try_get_u8().ok()? == 1;
        Some(FollowUp { on, with_trigger, item: take_item(rest, depth)? })
    };
    (0..count).map(|_| take()).collect()
}

fn take_item(rest: &mut &[u8], depth: usize) -> Option<Item> {
    let mut item = Item::new([]);
    item.priority = rest.try_get_u8().ok()?;
    item.set_replaces(rest.try_get_u8().ok()?);
    item.max_attempts = Some(rest.try_get_u32().ok()?).filter(|most| *most > 0);
    let mut time = || -> Option<Option<Duration>> {
        let time = rest.try_get_u64().ok()?;
        Some((time != NO_TIME).then(|| Duration::from_millis(time)))
    };
    item.delay = time()??;
    item.due_at = match time()? {
        Some(time) => Some(SystemTime::UNIX_EPOCH.checked_add(time)?),
        None => None,
    };
    item.retain = time()??;
    item.unique_for = time()??;
    item.expires_in = time()?;
    let mut bytes = || -> Option<Option<Bytes>> {
        let length = rest.try_get_u32().ok()?;
        if length == NO_BYTES {
            return Some(None);
        }
        let (bytes, behind) = rest.split_at_checked(length as usize)?;
        *rest = behind;
        Some(Some(Bytes::copy_from_slice(bytes)))
    };
    item.id = bytes()??;
    item.data = bytes()??;
    item.unique = bytes()?;
    item.key = bytes()?;
    item.queue = match bytes()? {
        Some(name) => Some(QueueName::new(std::str::from_utf8(&name).ok()?).ok()?),
        None => None,
    };
    item.follow_ups = take_follow_ups(rest, depth + 1)?;
    Some(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_back_and_what_is_cut_does_not() {
        let time = Duration::from_millis;
        let last = Item::new("last").due_at(SystemTime::UNIX_EPOCH + time(1_800_000_000_000));
        let item = Item::new("data\0").with_id("id").priority(3).max_attempts(7).retain(time(9));
        let item = item
            .unique("u")
            .unique_for(time(5))
            .replace()
            .successor()
            .key("k")
            .queue("q")
            .expires_in(time(70));
        let item = item.delay(time(60)).follow_up(FollowUp::new(On::Dead, last).with_trigger());
        let all = [
            FollowUp::new(On::Completed, item),
            FollowUp::new(On::Ended, Item::new("")).with_trigger(),
        ];
        let packed = pack(&all);
        assert_eq!(unpack(&packed).as_deref(), Some(&all[..]));
        assert!((0..packed.len()).all(|length| unpack(&packed[..length]).is_none()));
    }
}
