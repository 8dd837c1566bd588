//! Attaching follow-ups to items of the queue.

use leaseq::{FollowUp, ItemRef};

use crate::add::leaseq_item;
use crate::change::leaseq_item_ref;
use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::follow_ups::follow_up;
use crate::pointer::{Out, array, given};
use crate::queue::leaseq_queue;
use crate::status::status;

/// A follow-up for an item of the queue. Set it to zero first: `leaseq_attachment attachment = {0};`
#[repr(C)]
pub struct leaseq_attachment {
    /// The item that is to have it.
    pub to: leaseq_item_ref,
    /// What is added when that ends, with the options of its own.
    pub item: *const leaseq_item,
    /// The end that fires it, a ::leaseq_on.
    pub on: i32,
    /// Whether it gets the id and the result of the item that has fired it.
    pub with_trigger: bool,
}

impl leaseq_attachment {
    /// The item and its follow-up as the core has them.
    ///
    /// # Safety
    /// The conventions of the header.
    unsafe fn read(&self) -> Result<(ItemRef, FollowUp)> {
        // SAFETY: the conventions of the header.
        unsafe { Ok((self.to.read()?, follow_up(self.on, self.item, self.with_trigger)?)) }
    }
}

/// Adds a follow-up to an item that has not ended, in whatever state it is. If the item has ended as the follow-up
/// requires, and is dead or retained, the follow-up is added at once. `*attached` is true if the item has the
/// follow-up, or it is added; false if there is no such item, or it has ended in another way, or is of another
/// generation. It may be NULL. A follow-up whose id the item has already for that end is not attached again.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id or follow-up outside its limits, a text that is no generation, or if the
/// item would have more than 16 follow-ups or 64 KiB of them; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_attach(
    queue: Option<&leaseq_queue>,
    attachment: *const leaseq_attachment,
    attached: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { leaseq_queue_attach_many(queue, attachment, 1, attached, error) }
}

/// Attaches `count` follow-ups; `attached`, an array of `count` or NULL, receives the results in their order.
/// @return as leaseq_queue_attach(): for a follow-up outside its limits, none is attached; if an item has no room, others
/// may be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_attach_many(
    queue: Option<&leaseq_queue>,
    attachments: *const leaseq_attachment,
    count: usize,
    attached: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let attached = Out::many(attached, count, false, "attached")?;
            let attachments = array(attachments, count, "attachments")?;
            let queue = given(queue, "queue")?;
            let all = attachments.iter().map(|one| one.read()).collect::<Result<Vec<_>>>()?;
            attached.set_all(queue.run(async |queue| queue.attach_many(all).await)?);
            Ok(())
        })
    }
}
