//! Operations for operators on items: remove, requeue, bury, revise, cancel.

use std::ffi::{c_char, c_void};

use leaseq::options::MAX_MAX_DATA;
use leaseq::{ItemRef, Revision, WorkQueue};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::item_options::{leaseq_item_options, optional_id};
use crate::pointer::{Out, array, bytes, given, id, text};
use crate::queue::leaseq_queue;
use crate::settle::{MOST_TEXT, kept};
use crate::status::status;

/// Names an item of the queue. Set it to zero first: `leaseq_item_ref item = {0};`
#[repr(C)]
pub struct leaseq_item_ref {
    /// The id, 1 to 512 arbitrary bytes.
    pub id: *const c_void,
    /// Their number.
    pub id_len: usize,
    /// Only if the item is of this generation, as leaseq_item_info_generation() returns it; NULL for
    /// any.
    pub if_generation: *const c_char,
}

impl leaseq_item_ref {
    /// The reference as the core has it.
    ///
    /// # Safety
    /// The conventions of the header.
    pub(crate) unsafe fn read(&self) -> Result<ItemRef> {
        // SAFETY: the conventions of the header.
        unsafe {
            let item = ItemRef::new(id(self.id, self.id_len)?);
            of_generation(item, self.if_generation)
        }
    }
}

/// # Safety
/// The conventions of the header.
unsafe fn of_generation(item: ItemRef, generation: *const c_char) -> Result<ItemRef> {
    if generation.is_null() {
        return Ok(item);
    }
    // SAFETY: the conventions of the header.
    Ok(item.if_generation(unsafe { text(generation, "if_generation") }?))
}

/// Runs an operation on one item.
///
/// # Safety
/// The conventions of the header.
unsafe fn one(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    done: *mut bool,
    error: *mut *mut leaseq_error,
    operation: impl AsyncFnOnce(&WorkQueue, Vec<ItemRef>) -> leaseq::Result<Vec<bool>>,
) -> leaseq_status {
    let item = leaseq_item_ref { id, id_len, if_generation: std::ptr::null() };
    // SAFETY: the conventions of the header, and `item` is one.
    unsafe { many(queue, &raw const item, 1, done, error, operation) }
}

/// Runs an operation on many items.
///
/// # Safety
/// The conventions of the header.
unsafe fn many(
    queue: Option<&leaseq_queue>,
    items: *const leaseq_item_ref,
    count: usize,
    done: *mut bool,
    error: *mut *mut leaseq_error,
    operation: impl AsyncFnOnce(&WorkQueue, Vec<ItemRef>) -> leaseq::Result<Vec<bool>>,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let done = Out::many(done, count, false, "answers")?;
            let items = array(items, count, "items")?;
            let queue = given(queue, "queue")?;
            let items = items.iter().map(|item| item.read()).collect::<Result<Vec<_>>>()?;
            done.set_all(queue.run(async |queue| operation(queue, items).await)?);
            Ok(())
        })
    }
}

/// Removes an item in any state. `*removed` is false if there is no item with this id; it may be
/// NULL. From then on the holder of its lease gets false or `LEASEQ_LEASE_LOST`.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_remove(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    removed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { one(queue, id, id_len, removed, error, async |q, items| q.remove_many(items).await) }
}

/// Removes `count` items; `removed`, an array of `count` or NULL, receives the results in their
/// order: false also for an item of another generation than that of its leaseq_item_ref.
/// @return as leaseq_queue_remove(); `LEASEQ_INVALID` for a text that is no generation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_remove_many(
    queue: Option<&leaseq_queue>,
    items: *const leaseq_item_ref,
    count: usize,
    removed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        many(queue, items, count, removed, error, async |q, items| q.remove_many(items).await)
    }
}

/// Cancels an item. If it is ready, held or delayed, it is gone, or retained in
/// `LEASEQ_STATE_CANCELLED`. If it is leased, it is marked: its holder may still complete it; if the
/// lease fails, is released or expires instead, the item ends as cancelled, and is neither retried
/// nor dead. A holder that asks (leaseq_lease_is_cancelled()) learns of it within a few seconds.
/// `*cancelled` is true if the item is cancelled, or leased and marked by this call or an earlier
/// one; false if it does not exist or has ended. It may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_cancel(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    cancelled: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { one(queue, id, id_len, cancelled, error, async |q, items| q.cancel_many(items).await) }
}

/// Cancels `count` items; `cancelled`, an array of `count` or NULL, receives the results in their
/// order: false also for an item of another generation than that of its leaseq_item_ref.
/// @return as leaseq_queue_cancel(); `LEASEQ_INVALID` for a text that is no generation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_cancel_many(
    queue: Option<&leaseq_queue>,
    items: *const leaseq_item_ref,
    count: usize,
    cancelled: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        many(queue, items, count, cancelled, error, async |q, items| q.cancel_many(items).await)
    }
}

/// Makes a dead item ready again, at the back of its priority, with its count of attempts reset.
/// `*requeued` is false if the item does not exist or is not dead; it may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_requeue(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    requeued: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { one(queue, id, id_len, requeued, error, async |q, items| q.requeue(items).await) }
}

/// Requeues `count` items; `requeued`, an array of `count` or NULL, receives the results in their
/// order: false also for an item of another generation than that of its leaseq_item_ref.
/// @return as leaseq_queue_requeue(); `LEASEQ_INVALID` for a text that is no generation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_requeue_many(
    queue: Option<&leaseq_queue>,
    items: *const leaseq_item_ref,
    count: usize,
    requeued: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { many(queue, items, count, requeued, error, async |q, items| q.requeue(items).await) }
}

/// Makes an item dead that is ready, held or delayed, whatever its limit of attempts. `text`, UTF-8,
/// is stored with the item as its last error, its first 1,024 bytes; without bytes it becomes `buried
/// by an operator`. `*buried` is false if the item does not exist, is leased or is dead; it may be
/// NULL. The item is a new generation: an earlier holder of a lease can no longer complete it.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_bury(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    text: *const c_void,
    text_len: usize,
    buried: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    let item = leaseq_item_ref { id, id_len, if_generation: std::ptr::null() };
    // SAFETY: the conventions of the header, and `item` is one.
    unsafe { leaseq_queue_bury_many(queue, &raw const item, 1, text, text_len, buried, error) }
}

/// Buries `count` items with the same `text`; `buried`, an array of `count` or NULL, receives the
/// results in their order: false also for an item of another generation than that of its
/// leaseq_item_ref.
/// @return as leaseq_queue_bury(); `LEASEQ_INVALID` for a text that is no generation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_bury_many(
    queue: Option<&leaseq_queue>,
    items: *const leaseq_item_ref,
    count: usize,
    text: *const c_void,
    text_len: usize,
    buried: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let buried = Out::many(buried, count, false, "buried")?;
            let items = array(items, count, "items")?;
            let text = kept(bytes(text, text_len, MOST_TEXT, "text")?);
            let queue = given(queue, "queue")?;
            let items = items.iter().map(|item| item.read()).collect::<Result<Vec<_>>>()?;
            buried.set_all(queue.run(async |queue| queue.bury(items, &text).await)?);
            Ok(())
        })
    }
}

/// What to change of an item. Set it to zero first: `leaseq_revision revision = {0};`
#[repr(C)]
pub struct leaseq_revision {
    /// The id, 1 to 512 arbitrary bytes; NULL for that of the options.
    pub id: *const c_void,
    /// Their number.
    pub id_len: usize,
    /// Only if the item is of this generation, as leaseq_item_info_generation() returns it; NULL for
    /// any.
    pub if_generation: *const c_char,
    /// The new data; NULL to keep it.
    pub data: *const c_void,
    /// Its number of bytes, at most 8 MiB unless the client is configured otherwise.
    pub data_len: usize,
    /// The new priority, delay, time at which it is due and limit of attempts: what is set here; NULL
    /// to keep them all.
    pub options: *const leaseq_item_options,
}

impl leaseq_revision {
    /// The revision as the core has it.
    ///
    /// # Safety
    /// The conventions of the header.
    unsafe fn read(&self) -> Result<(ItemRef, Revision)> {
        // SAFETY: the conventions of the header.
        let (given_id, data, options) = unsafe {
            (
                optional_id(self.id, self.id_len)?,
                bytes(self.data, self.data_len, MAX_MAX_DATA, "data")?,
                self.options.as_ref(),
            )
        };
        let id = given_id.or_else(|| options.and_then(|options| options.id.as_deref()));
        let item = ItemRef::new(id.unwrap_or_default());
        // SAFETY: the conventions of the header.
        let item = unsafe { of_generation(item, self.if_generation) }?;
        let mut revision = Revision::new();
        if !self.data.is_null() {
            revision = revision.data(data);
        }
        if let Some(options) = options {
            revision = options.priority.into_iter().fold(revision, Revision::priority);
            revision = options.delay.into_iter().fold(revision, Revision::delay);
            revision = options.due_at.into_iter().fold(revision, Revision::due_at);
            revision = options.max_attempts.into_iter().fold(revision, Revision::max_attempts);
        }
        Ok((item, revision))
    }
}

/// Changes an item that is not leased. It stays in its state and keeps its attempts and the time
/// when it was added; a delay, which a dead item cannot have, makes it delayed or ready. An item
/// that is ready afterwards goes to the back of its priority. `*revised` is false if the item does
/// not exist, is leased or of another generation, or is dead and there is a delay; it may be NULL.
/// The item is a new generation: an earlier holder of a lease can no longer complete it.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id, data or option outside its limits, a text that is
/// no generation, or a revision that changes nothing; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_revise(
    queue: Option<&leaseq_queue>,
    revision: *const leaseq_revision,
    revised: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { leaseq_queue_revise_many(queue, revision, 1, revised, error) }
}

/// Changes `count` items; `revised`, an array of `count` or NULL, receives the results in their
/// order.
/// @return as leaseq_queue_revise(): `LEASEQ_INVALID` if any of them is, and then none is changed;
/// an error of every operation, after which some may be changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_revise_many(
    queue: Option<&leaseq_queue>,
    revisions: *const leaseq_revision,
    count: usize,
    revised: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let revised = Out::many(revised, count, false, "revised")?;
            let revisions = array(revisions, count, "revisions")?;
            let queue = given(queue, "queue")?;
            let revisions = revisions.iter().map(|one| one.read()).collect::<Result<Vec<_>>>()?;
            revised.set_all(queue.run(async |queue| queue.revise_many(revisions).await)?);
            Ok(())
        })
    }
}
