//! Naming groups.

use std::ffi::{CString, c_char, c_void};

use leaseq::Group;

use crate::error::{leaseq_error, leaseq_status};
use crate::guard::{self, look};
use crate::item_options::leaseq_item_options;
use crate::options::set;
use crate::pointer::{Out, give, given, id, text};
use crate::status::status;

/// Names a group, never a later one with its id. May be used by any number of threads at the same time.
pub struct leaseq_group {
    pub(crate) group: Group,
    queue: CString,
    generation: CString,
}

impl leaseq_group {
    pub(crate) fn new(group: Group) -> Self {
        let queue = CString::new(group.queue()).unwrap_or_default();
        let generation = CString::new(group.generation()).unwrap_or_default();
        leaseq_group { group, queue, generation }
    }
}

/// The group with what leaseq_group_queue(), leaseq_group_id() and leaseq_group_generation() have said of another
/// handle, in any process and language. Free it with leaseq_group_free(). It does not look whether there is such a group.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, or a name, an id or a generation that is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_group_new(
    queue: *const c_char,
    id: *const c_void,
    id_len: usize,
    generation: *const c_char,
    group: *mut *mut leaseq_group,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let group = Out::one(group, std::ptr::null_mut(), "group")?;
            let (queue, generation) = (text(queue, "queue")?, text(generation, "generation")?);
            let found = Group::new(queue, self::id(id, id_len)?, generation)?;
            group.set(give(leaseq_group::new(found)));
            Ok(())
        })
    }
}

/// The name of the queue that has the group; NULL for NULL. Lives as long as the handle.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_group_queue(group: Option<&leaseq_group>) -> *const c_char {
    look(group, std::ptr::null(), |group| group.queue.as_ptr())
}

/// The id of the group: arbitrary bytes; NULL for NULL. Lives as long as the handle.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_group_id(group: Option<&leaseq_group>) -> *const c_char {
    look(group, std::ptr::null(), |group| group.group.id().as_ptr().cast())
}

/// The number of bytes of the id.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_group_id_len(group: Option<&leaseq_group>) -> usize {
    look(group, 0, |group| group.group.id().len())
}

/// Distinguishes the group from others that have had its id: an opaque text; NULL for NULL. Lives as long as the handle.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_group_generation(group: Option<&leaseq_group>) -> *const c_char {
    look(group, std::ptr::null(), |group| group.generation.as_ptr())
}

/// Frees the handle, not the group, and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_group_free(group: *mut *mut leaseq_group) {
    // SAFETY: made by this library.
    unsafe { guard::free(group) }
}

/// The end of the item fills this place, 0 to 99,999, of a group, which is copied and may be in another queue. Such
/// an item must not replace others, nor be a follow-up or the item of a schedule. Default: it is in no group.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL. The place is checked when the item is added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_group(
    options: Option<&mut leaseq_item_options>,
    group: Option<&leaseq_group>,
    place: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.place = Some((given(group, "group")?.group.clone(), place));
            Ok(())
        })
    }
}
