//! Follow-ups, and items that calls add which end others.

use std::ffi::c_char;

use leaseq::{FollowUp, Item, On};

use crate::add::leaseq_item;
use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::item_options::leaseq_item_options;
use crate::lease_options::leaseq_complete_options;
use crate::options::set;
use crate::pointer::{array, given, text};

/// The end of an item that fires a follow-up.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_on {
    /// The item was completed, also after it had died.
    LEASEQ_ON_COMPLETED = 1,
    /// The item is dead: for each run that ends so.
    LEASEQ_ON_DEAD = 2,
    /// The run has ended in any way: completed, dead, cancelled, removed or purged. Not if the item was
    /// replaced, or its queue dropped.
    LEASEQ_ON_ENDED = 3,
}

fn on(number: i32) -> Result<On> {
    const COMPLETED: i32 = leaseq_on::LEASEQ_ON_COMPLETED as i32;
    const DEAD: i32 = leaseq_on::LEASEQ_ON_DEAD as i32;
    const ENDED: i32 = leaseq_on::LEASEQ_ON_ENDED as i32;
    match number {
        COMPLETED => Ok(On::Completed),
        DEAD => Ok(On::Dead),
        ENDED => Ok(On::Ended),
        other => Err(Failure::invalid(format_args!("on {other} is no leaseq_on"))),
    }
}

/// The queue to which the item is added if it is a follow-up, or a call adds it that ends another item;
/// that queue may not exist yet. Default: the queue of the item that ends.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a name that is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_queue(
    options: Option<&mut leaseq_item_options>,
    name: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.queue = Some(text(name, "name")?.to_owned());
            Ok(())
        })
    }
}

/// Adds this item, which is copied with its options, when the item of these options ends so: exactly once,
/// to the same queue or that of its own options. `on` is a ::leaseq_on. An item has at most 16 follow-ups
/// of 64 KiB in total, those that they have themselves included. `with_trigger`: the follow-up gets the id,
/// and the result of up to 64 KiB, of the item whose end has added it; see leaseq_lease_trigger_id().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, another `on`, or an option outside its limits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_add_follow_up(
    options: Option<&mut leaseq_item_options>,
    on: i32,
    item: *const leaseq_item,
    with_trigger: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.follow_ups.push(follow_up(on, item, with_trigger)?);
            Ok(())
        })
    }
}

/// # Safety
/// The conventions of the header.
pub(crate) unsafe fn follow_up(
    on: i32,
    item: *const leaseq_item,
    with_trigger: bool,
) -> Result<FollowUp> {
    // SAFETY: the conventions of the header.
    let item = unsafe { given(item.as_ref(), "item")?.read() }?;
    let follow_up = FollowUp::new(self::on(on)?, item);
    Ok(if with_trigger { follow_up.with_trigger() } else { follow_up })
}

/// Items that belong to the caller.
#[repr(C)]
pub struct leaseq_items {
    /// The first one; may be NULL if there are none.
    pub items: *const leaseq_item,
    /// Number of items.
    pub count: usize,
}

/// For each of `count` leases the items that a call adds if it ends the item of the lease.
///
/// # Safety
/// The conventions of the header.
pub(crate) unsafe fn read_adds(adds: *const leaseq_items, count: usize) -> Result<Vec<Vec<Item>>> {
    if adds.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the conventions of the header.
    unsafe {
        let adds = array(adds, count, "adds")?.iter();
        let read = |items: &leaseq_items| -> Result<Vec<Item>> {
            array(items.items, items.count, "items")?.iter().map(|item| item.read()).collect()
        };
        adds.map(read).collect()
    }
}

/// For each of the `count` leases of the call the items, which are copied, that are added if the call ends the item
/// of the lease: at most 999, of 16 MiB, with different ids. Default, also set by NULL with count 0: none.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or an option outside its limits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_set_adds(
    options: Option<&mut leaseq_complete_options>,
    adds: *const leaseq_items,
    count: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            array(adds, count, "adds")?;
            options.0.adds = read_adds(adds, count)?;
            Ok(())
        })
    }
}
