//! Reading packed items, which `scripts/parts/unpack_items.lua` describes.

use std::time::Duration;

use bytes::{Buf, Bytes};

use super::record::{NAME, read_record, take};
use crate::item::{FollowUp, Item, On};
use crate::name::QueueName;
use crate::options::{MAX_DELAY, MAX_FOLLOW_UP_DEPTH};
use crate::unix_time::from_ms;

/// Id and result of a trigger that is not there: their lengths.
const NO_TRIGGER: [u8; 6] = [0; 6];

/// `None` if they cannot be read.
pub(super) fn unpack(packed: Bytes) -> Option<Vec<FollowUp>> {
    unpack_at(packed, 0)
}

fn unpack_at(mut packed: Bytes, depth: usize) -> Option<Vec<FollowUp>> {
    // What another program has written must not use up the stack.
    if depth > MAX_FOLLOW_UP_DEPTH {
        return None;
    }
    let owner = packed.try_get_u16().ok()?;
    take(&mut packed, owner.into())?;
    let mut all = Vec::new();
    while packed.has_remaining() {
        let length = packed.try_get_u32().ok()?;
        let one = take(&mut packed, length as usize)?;
        // The place of a member of a group stands first.
        if one.first() != Some(&0) {
            all.push(unpack_one(one, depth)?);
        }
    }
    Some(all)
}

fn unpack_one(mut one: Bytes, depth: usize) -> Option<FollowUp> {
    let on = On::from_bit(one.try_get_u8().ok()?)?;
    let mut item = Item::new([]);
    item.priority = one.try_get_u8().ok()?;
    item.set_replaces(one.try_get_u8().ok()?);
    let _keyed = one.try_get_u8().ok()?;
    let queue = usize::from(one.try_get_u8().ok()?);
    let [due, unique_for, expires_in] =
        [one.try_get_uint(6).ok()?, one.try_get_uint(6).ok()?, one.try_get_uint(6).ok()?];
    // As `record::delay` writes it.
    if u128::from(due) > MAX_DELAY.as_millis() {
        item.due_at = Some(from_ms(due));
    } else {
        item.delay = Duration::from_millis(due);
    }
    item.unique_for = Duration::from_millis(unique_for);
    item.expires_in = (expires_in > 0).then(|| Duration::from_millis(expires_in));
    let most = one.try_get_u16().ok()?;
    item.max_attempts = (most > 0).then(|| most.into());
    let [id, unique, trigger_at] = [(); 3].map(|()| one.try_get_u16().ok().map(usize::from));
    let nested = one.try_get_u32().ok()? as usize;
    take(&mut one, id? + unique?)?;
    if nested > 0 {
        take(&mut one, NAME)?;
        item.follow_ups = unpack_at(take(&mut one, nested)?, depth + 1)?;
    }
    if queue > 0 {
        let name = take(&mut one, queue)?;
        item.queue = Some(QueueName::new(std::str::from_utf8(&name).ok()?).ok()?);
    }
    let with_trigger = trigger_at? > 0;
    let record = match one.split_at_checked(trigger_at?)? {
        (head, rest) if with_trigger => [head, &NO_TRIGGER, rest].concat().into(),
        _ => one,
    };
    let (head, data) = read_record(record)?;
    (item.id, item.data) = (head.id, data);
    item.retain = Duration::from_millis(head.added_with.retain_ms);
    (item.unique, item.key) = (head.added_with.unique, head.added_with.key);
    Some(FollowUp { on, item, with_trigger })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::follow_ups::pack_follow_ups;
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
        let owner = all.iter().cloned().fold(Item::new("x"), Item::follow_up);
        let packed = pack_follow_ups(&QueueName::new("own").unwrap(), &owner).unwrap();
        let packed = Bytes::from(packed.bytes);
        assert_eq!(unpack(packed.clone()).as_deref(), Some(&all[..]));
        let whole = |length| unpack(packed.slice(..length)).is_some();
        // Behind the owner, and behind the first one.
        assert_eq!((0..packed.len()).filter(|length| whole(*length)).count(), 2);
        for at in 0..packed.len() {
            let mut damaged = packed.to_vec();
            damaged[at] ^= 0x55;
            // It does not panic.
            let _ = unpack(damaged.into());
        }
    }
}
