//! Adding items.

use std::ffi::{c_char, c_void};

use leaseq::Item;
use leaseq::options::MAX_MAX_DATA;

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::item_options::{leaseq_item_options, optional_id};
use crate::pointer::{Out, array, bytes, given};
use crate::queue::leaseq_queue;
use crate::status::status;
use crate::version::LEASEQ_NEW_ID_SIZE;

/// An item to add. Set it to zero first: `leaseq_item item = {0};`
#[repr(C)]
pub struct leaseq_item {
    /// The data: arbitrary bytes.
    pub data: *const c_void,
    /// Their number, at most 8 MiB unless the client is configured otherwise.
    pub data_len: usize,
    /// The id, 1 to 512 arbitrary bytes; NULL for that of the options, or else a random UUID.
    pub id: *const c_void,
    /// Their number.
    pub id_len: usize,
    /// NULL for the defaults. Many items may share options.
    pub options: *const leaseq_item_options,
}

impl leaseq_item {
    /// The item as the core has it.
    ///
    /// # Safety
    /// The conventions of the header.
    pub(crate) unsafe fn read(&self) -> Result<Item> {
        // SAFETY: the conventions of the header.
        let (data, id, options) = unsafe {
            (
                bytes(self.data, self.data_len, MAX_MAX_DATA, "data")?,
                optional_id(self.id, self.id_len)?,
                self.options.as_ref(),
            )
        };
        let mut item = Item::new(data);
        if let Some(options) = options {
            item = options.priority.into_iter().fold(item, Item::priority);
            item = options.delay.into_iter().fold(item, Item::delay);
            item = options.due_at.into_iter().fold(item, Item::due_at);
            item = options.max_attempts.into_iter().fold(item, Item::max_attempts);
            item = item.retain(options.retain).unique_for(options.unique_for);
            item = options.unique.iter().fold(item, Item::unique);
            item = options.key.iter().fold(item, Item::key);
            item = if options.replace { item.replace() } else { item };
            item = if options.successor { item.successor() } else { item };
            item = options.expires_in.into_iter().fold(item, Item::expires_in);
            item = options.queue.iter().fold(item, Item::queue);
            item = options.follow_ups.iter().cloned().fold(item, Item::follow_up);
            if let Some((group, place)) = &options.place {
                item = item.in_group(group, *place);
            }
        }
        let id = id.or_else(|| options.and_then(|options| options.id.as_deref()));
        Ok(id.into_iter().fold(item, Item::with_id))
    }
}

/// Adds an item with a copy of this data; `options` may be NULL. `*added` is true if the item is
/// stored and will be delivered. It is false if an item with this id exists in some state, or if its
/// unique key is taken; nothing changed, data included. leaseq_item_options_set_replace() replaces
/// the other item. `added` may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id, data or option outside its limits; an error of
/// every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_add_item(
    queue: Option<&leaseq_queue>,
    data: *const c_void,
    data_len: usize,
    options: Option<&leaseq_item_options>,
    added: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let added = Out::wanted(added, false);
            let queue = given(queue, "queue")?;
            let options = options.map_or(std::ptr::null(), std::ptr::from_ref);
            let item = leaseq_item { data, data_len, id: std::ptr::null(), id_len: 0, options };
            let item = item.read()?;
            added.set(queue.run(async |queue| queue.add_item(item).await)?);
            Ok(())
        })
    }
}

/// Adds `count` items; `added`, an array of `count` or NULL, receives the results in their order.
/// Each chunk of at most 1,000 items and 16 MiB is one atomic step. Of two items with the same id
/// only the first can be true.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` if any of them is outside its limits, and then none is
/// added; an error of every operation, after which earlier chunks stay added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_add_items(
    queue: Option<&leaseq_queue>,
    items: *const leaseq_item,
    count: usize,
    added: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let added = Out::many(added, count, false, "added")?;
            let items = array(items, count, "items")?;
            let queue = given(queue, "queue")?;
            let items = items.iter().map(|item| item.read()).collect::<Result<Vec<_>>>()?;
            added.set_all(queue.run(async |queue| queue.add_items(items).await)?);
            Ok(())
        })
    }
}

/// Writes a random UUID as text, followed by a NUL, for callers that want to know the id of an item
/// that they add. Items without an id get such a UUID. `size` is that of `id`, at least
/// `LEASEQ_NEW_ID_SIZE`.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or too small a size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_new_id(
    id: *mut c_char,
    size: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(id, 0, "id").and_then(|_| {
                let wrong = format_args!("id: {size} bytes are less than {LEASEQ_NEW_ID_SIZE}");
                if size < LEASEQ_NEW_ID_SIZE {
                    return Err(crate::failure::Failure::invalid(wrong));
                }
                Out::many(id, LEASEQ_NEW_ID_SIZE, 0, "id")
            })?;
            let item = Item::new([]);
            place.set_all(item.id().iter().map(|byte| *byte as c_char));
            Ok(())
        })
    }
}
