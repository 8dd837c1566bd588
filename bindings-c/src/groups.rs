//! Groups of a queue.

use std::ffi::c_void;

use leaseq::blocking::run;
use leaseq::{GroupInfo, GroupOutcome, NewGroup, PlaceState};

use crate::add::leaseq_item;
use crate::error::{leaseq_error, leaseq_status};
use crate::follow_ups::follow_up;
use crate::group::leaseq_group;
use crate::outcome;
use crate::pointer::{Grown, Out, array, give, given, id, since_epoch};
use crate::queue::leaseq_queue;
use crate::status::status;

/// What is added when a group has ended. Set it to zero first: `leaseq_follow_up follow_up = {0};`
#[repr(C)]
pub struct leaseq_follow_up {
    /// What is added, with the options of its own.
    pub item: *const leaseq_item,
    /// The end that fires it, a ::leaseq_on: `LEASEQ_ON_COMPLETED` if all members were completed, `LEASEQ_ON_DEAD` if
    /// all have ended and one of them was not completed, `LEASEQ_ON_ENDED` in both cases.
    pub on: i32,
    /// Whether it gets the id of the group as its trigger.
    pub with_trigger: bool,
}

/// What is known of one place of a group.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_place_state {
    /// No end of its member has been reported.
    LEASEQ_PLACE_OPEN = 0,
    /// Its member has ended without being completed, or was not added because another item had its id or unique key.
    LEASEQ_PLACE_ENDED = 1,
    /// Its member was completed.
    LEASEQ_PLACE_COMPLETED = 2,
}

/// How a group has ended.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_group_end {
    /// It has not ended.
    LEASEQ_GROUP_OPEN = 0,
    /// All its members were completed.
    LEASEQ_GROUP_COMPLETED = 1,
    /// All its members have ended, and one of them was not completed.
    LEASEQ_GROUP_ENDED = 2,
    /// There is no such group: it was never created, was removed, was not sealed for a day after its last change, or has
    /// ended a day ago.
    LEASEQ_GROUP_GONE = 3,
}

/// A group as it is now. Later versions may append fields.
// Appended fields must not fit into the padding at the end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct leaseq_group_info {
    /// The last change, in ms since 1970.
    pub changed_at_ms: i64,
    /// How many places it has; 0: it is not sealed.
    pub places: u32,
    /// How many of them have ended, the completed ones included.
    pub ended: u32,
    /// How many of them are completed.
    pub completed: u32,
    /// Whether it has ended, 1 or 0: its follow-ups were added, or are added soon, and no report changes it any more.
    pub has_ended: u32,
}

impl From<&GroupInfo> for leaseq_group_info {
    fn from(info: &GroupInfo) -> Self {
        leaseq_group_info {
            changed_at_ms: since_epoch(info.changed),
            places: info.places.unwrap_or(0),
            ended: info.ended,
            completed: info.completed,
            has_ended: info.has_ended.into(),
        }
    }
}

/// Creates a group in this queue with an id of 1 to 512 arbitrary bytes, or returns the one that has this id, as it was
/// created. Its `count` follow-ups are added, exactly once, when it has ended; their limits are those of an item. Free
/// the group with leaseq_group_free().
///
/// Add the members, to any queues, with leaseq_item_options_set_group(), then call leaseq_queue_seal_group(). If the
/// caller dies in between, it can do all of that again. A group that is not sealed goes after a day without change; one
/// that has ended, a day after its end.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id or follow-up outside its limits; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_create_group(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    follow_ups: *const leaseq_follow_up,
    count: usize,
    group: *mut *mut leaseq_group,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let group = Out::one(group, std::ptr::null_mut(), "group")?;
            let queue = given(queue, "queue")?;
            let mut new = NewGroup::new(self::id(id, id_len)?);
            for one in array(follow_ups, count, "follow_ups")? {
                new = new.follow_up(follow_up(one.on, one.item, one.with_trigger)?);
            }
            let created = queue.run(async |queue| queue.create_group(new).await)?;
            group.set(give(leaseq_group::new(created)));
            Ok(())
        })
    }
}

/// Fixes how many places a group has, 1 to 100,000, counted from 0. Call it when all members have been added: the group
/// ends when all these places are filled, which may be now. `*sealed` is true if it has that many places, also if it had
/// been sealed so before; false if it has another number of places, or is gone. It may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a number outside its limits, or a group of another queue; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_seal_group(
    queue: Option<&leaseq_queue>,
    group: Option<&leaseq_group>,
    places: u32,
    sealed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let sealed = Out::wanted(sealed, false);
            let queue = given(queue, "queue")?;
            let group = &given(group, "group")?.group;
            sealed.set(queue.run(async |queue| queue.seal_group(group, places).await)?);
            Ok(())
        })
    }
}

/// Cancels the members of a group, in any queue, also those that are added later: each as leaseq_queue_cancel() does it.
/// Members that have ended stay as they are, and a dead one that is requeued later is not cancelled. The group goes on: it
/// ends when all its places are filled, and then adds its follow-ups. Members are cancelled soon, usually before the call
/// returns if they are not many. `*cancelled` is true if there is such a group, and it had not ended; false if it has ended,
/// or is gone. It may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a group of another queue; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_cancel_group(
    queue: Option<&leaseq_queue>,
    group: Option<&leaseq_group>,
    cancelled: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let cancelled = Out::wanted(cancelled, false);
            let queue = given(queue, "queue")?;
            let group = &given(group, "group")?.group;
            cancelled.set(queue.run(async |queue| queue.cancel_group(group).await)?);
            Ok(())
        })
    }
}

/// Removes a group; the handle stays to be freed. Its members stay, and their ends fill nothing any more; if the group
/// has not ended, its follow-ups are never added. `*removed` is false if it is gone; it may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a group of another queue; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_remove_group(
    queue: Option<&leaseq_queue>,
    group: Option<&leaseq_group>,
    removed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let removed = Out::wanted(removed, false);
            let queue = given(queue, "queue")?;
            let group = &given(group, "group")?.group;
            removed.set(queue.run(async |queue| queue.remove_group(group).await)?);
            Ok(())
        })
    }
}

/// Reads the group of this queue with this id. `*group` is NULL, and `*info` zero, if there is none; else free it with
/// leaseq_group_free(). `size` is `sizeof *info`. An end of a member counts as soon as it was reported, which is usually
/// when the call that has ended it returns.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside its limits; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_group(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    group: *mut *mut leaseq_group,
    info: *mut leaseq_group_info,
    size: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let group = Out::one(group, std::ptr::null_mut(), "group")?;
            let info = Grown::new(info, size, "info")?;
            let queue = given(queue, "queue")?;
            let id = self::id(id, id_len)?;
            if let Some(found) = queue.run(async |queue| queue.group(id).await)? {
                info.set((&found).into());
                group.set(give(leaseq_group::new(found.group)));
            }
            Ok(())
        })
    }
}

/// Waits until a group of this queue has ended; `*end` says how, and `*info` what it is then. `*end` is `LEASEQ_GROUP_OPEN` if it
/// has not ended within `wait_ms`: 0 looks once, `LEASEQ_WAIT_FOREVER` has no limit. If there is no group with this id, it is
/// `LEASEQ_GROUP_GONE`, unless `expect`: then it also waits for one that is not created yet. In both cases `*info` is zero.
/// `size` is `sizeof *info`.
///
/// It is about the id, and shares connections and requests with all other waits of the client. leaseq_client_cancel_waits()
/// ends the wait, as if its time were over.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes or another negative wait; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_group_outcome(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    wait_ms: i64,
    expect: bool,
    end: *mut leaseq_group_end,
    info: *mut leaseq_group_info,
    size: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    use leaseq_group_end::*;
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let end = Out::one(end, LEASEQ_GROUP_OPEN, "end")?;
            let info = Grown::new(info, size, "info")?;
            let queue = given(queue, "queue")?;
            let (id, options) = (self::id(id, id_len)?, outcome::options(wait_ms, expect)?);
            let ended = run(queue.group_outcome(id.to_vec(), options))?;
            if let Some(found) = ended.as_ref().and_then(GroupOutcome::info) {
                info.set(found.into());
            }
            end.set(match ended {
                None => LEASEQ_GROUP_OPEN,
                Some(GroupOutcome::Completed(_)) => LEASEQ_GROUP_COMPLETED,
                Some(GroupOutcome::Ended(_)) => LEASEQ_GROUP_ENDED,
                Some(_) => LEASEQ_GROUP_GONE,
            });
            Ok(())
        })
    }
}

/// Writes the states of up to `count` places of a group, and at most 1,000, from the place `first` on, and to `*found`
/// how many it has written: fewer if the group has no more, none if it is gone.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a group of another queue; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_group_places(
    queue: Option<&leaseq_queue>,
    group: Option<&leaseq_group>,
    first: u32,
    place_states: *mut leaseq_place_state,
    count: usize,
    found: *mut usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    use leaseq_place_state::*;
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let found = Out::one(found, 0, "found")?;
            if count > 0 {
                given(std::ptr::NonNull::new(place_states), "place_states")?;
            }
            let states = Out::many(place_states, count, LEASEQ_PLACE_OPEN, "place_states")?;
            let queue = given(queue, "queue")?;
            let group = &given(group, "group")?.group;
            let all = queue.run(async |queue| queue.group_places(group, first).await)?;
            found.set(all.len().min(count));
            states.set_all(all.into_iter().map(|state| match state {
                PlaceState::Open => LEASEQ_PLACE_OPEN,
                PlaceState::Ended => LEASEQ_PLACE_ENDED,
                PlaceState::Completed => LEASEQ_PLACE_COMPLETED,
            }));
            Ok(())
        })
    }
}
