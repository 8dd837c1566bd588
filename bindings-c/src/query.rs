//! Reading a queue without changing it.

use std::ffi::{CString, c_char, c_void};

use leaseq::{Counts, Cursor, GetOptions, ListOptions, WorkQueue};

use crate::admin::state;
use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::info::{leaseq_item_info, leaseq_page};
use crate::leasing::places;
use crate::list_options::leaseq_list_options;
use crate::pointer::{Grown, Out, array, give, given, id, leaseq_bytes, ms, text};
use crate::queue::leaseq_queue;
use crate::status::status;

/// Numbers of items by state, and other figures for operators. Later versions may append fields.
// Appended fields must not fit into the padding at the end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct leaseq_counts {
    /// Ready items.
    pub ready: u64,
    /// Ready items by priority, 0 to 9.
    pub ready_by_priority: [u64; 10],
    /// Items whose delay has not ended, or that are not promoted yet.
    pub delayed: u64,
    /// Leased items, including expired ones that are not reclaimed yet.
    pub leased: u64,
    /// Dead items.
    pub dead: u64,
    /// Completed items that are retained.
    pub completed: u64,
    /// Cancelled items that are retained.
    pub cancelled: u64,
    /// How long the oldest ready item has been ready, in ms; -1 if none is. Reclaiming and
    /// releasing keep the age of an item; failing, delaying and requeueing restart it.
    pub oldest_ready_ms: i64,
    /// Items added since the queue was new.
    pub total_added: u64,
    /// Leases given since then.
    pub total_leased: u64,
    /// Items completed since then.
    pub total_completed: u64,
    /// Leases that expired and were reclaimed since then.
    pub total_expired: u64,
    /// Counted failures since then.
    pub total_failed: u64,
    /// Items that became dead since then.
    pub total_died: u64,
    /// Items removed or purged since then.
    pub total_removed: u64,
    /// Items replaced by an add since then.
    pub total_replaced: u64,
    /// Items that nobody leased before they expired, since then; they count in `total_died` too.
    pub total_expired_unleased: u64,
    /// Items that have ended because they were cancelled, since then.
    pub total_cancelled: u64,
    /// Whether leasing is paused: 1 or 0.
    pub paused: u64,
    /// Whether the rate of the queue is used up now, 1 or 0: it gives no lease, however many items are
    /// ready.
    pub rate_limited: u64,
    /// Items that wait until fewer of their key are leased; one of which no lease has found yet that its
    /// key is full counts as ready.
    pub held: u64,
}

impl From<Counts> for leaseq_counts {
    fn from(counts: Counts) -> Self {
        leaseq_counts {
            ready: counts.ready,
            ready_by_priority: counts.ready_by_priority,
            delayed: counts.delayed,
            leased: counts.leased,
            dead: counts.dead,
            completed: counts.completed,
            cancelled: counts.cancelled,
            oldest_ready_ms: counts.oldest_ready.map_or(-1, ms),
            total_added: counts.totals.added,
            total_leased: counts.totals.leased,
            total_completed: counts.totals.completed,
            total_expired: counts.totals.expired,
            total_failed: counts.totals.failed,
            total_died: counts.totals.died,
            total_removed: counts.totals.removed,
            total_replaced: counts.totals.replaced,
            total_expired_unleased: counts.totals.expired_unleased,
            total_cancelled: counts.totals.cancelled,
            paused: counts.paused.into(),
            rate_limited: counts.rate_limited.into(),
            held: counts.held,
        }
    }
}

/// How many items are ready.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_len(
    queue: Option<&leaseq_queue>,
    len: *mut u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { number(queue, len, error, async |queue| queue.queue_len().await) }
}

/// How many items are leased, including expired ones that are not reclaimed yet.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_processing(
    queue: Option<&leaseq_queue>,
    len: *mut u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { number(queue, len, error, async |queue| queue.processing().await) }
}

/// Returns a number.
///
/// # Safety
/// The conventions of the header.
unsafe fn number(
    queue: Option<&leaseq_queue>,
    len: *mut u64,
    error: *mut *mut leaseq_error,
    count: impl AsyncFnOnce(&WorkQueue) -> leaseq::Result<u64>,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let len = Out::one(len, 0, "len")?;
            len.set(given(queue, "queue")?.run(count)?);
            Ok(())
        })
    }
}

/// How many items are in each state, the age of the oldest ready one, and totals. `size` is
/// `sizeof *counts`.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_counts(
    queue: Option<&leaseq_queue>,
    counts: *mut leaseq_counts,
    size: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let counts = Grown::new(counts, size, "counts")?;
            let queue = given(queue, "queue")?;
            counts.set(queue.run(async |queue| queue.counts().await)?.into());
            Ok(())
        })
    }
}

/// Reads an item without leasing it. `*info` is NULL if there is no item with this id.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_get(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    info: *mut *mut leaseq_item_info,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let info = Out::one(info, std::ptr::null_mut(), "info")?;
            let queue = given(queue, "queue")?;
            let id = self::id(id, id_len)?;
            let item = queue.run(async |queue| queue.get(id).await)?;
            info.set_all(item.map(|item| give(leaseq_item_info::new(item))));
            Ok(())
        })
    }
}

/// Reads `count` items without leasing them; `infos`, an array of `count`, receives them in the order
/// of the ids, NULL for an id without an item. Free each with leaseq_item_info_free(). Unless
/// `with_data`, their data is left out, and empty. This works in steps of up to 1,000 ids and 16 MiB
/// of data, so it is no snapshot.
/// @return as leaseq_queue_get(); then all of `infos` are NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_get_many(
    queue: Option<&leaseq_queue>,
    ids: *const leaseq_bytes,
    count: usize,
    with_data: bool,
    infos: *mut *mut leaseq_item_info,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let infos = places(infos, count, "infos")?;
            let ids = array(ids, count, "ids")?;
            let queue = given(queue, "queue")?;
            let ids = ids.iter().map(|bytes| id(bytes.data, bytes.len));
            let ids = ids.collect::<Result<Vec<_>>>()?;
            let mut options = GetOptions::new();
            options.data = with_data;
            let items = queue.run(async |queue| queue.get_many_with(ids, options).await)?;
            let give = |info| give(leaseq_item_info::new(info));
            infos.set_all(items.into_iter().map(|i| i.map_or(std::ptr::null_mut(), give)));
            Ok(())
        })
    }
}

/// Reads up to `limit` items, 1 to 1,000, of a ::leaseq_state: ready items in the order of leasing,
/// others by time. See leaseq_queue_list_with().
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a limit outside 1 to 1,000, an unknown state or an
/// invalid cursor; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_list(
    queue: Option<&leaseq_queue>,
    state: i32,
    cursor: *const c_char,
    limit: usize,
    page: *mut *mut leaseq_page,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    let options = || ListOptions::new().limit(limit);
    // SAFETY: the conventions of the header.
    unsafe { list(queue, state, cursor, options, page, error) }
}

/// Reads items of a ::leaseq_state: ready items in the order of leasing, others by time
/// (leaseq_item_info_at_ms()), or in the opposite order. `options` may be NULL. A NULL cursor starts
/// at the beginning; leaseq_page_cursor() gives the cursor of the next page. A page examines at most
/// 1,000 items and has 16 MiB of data at most, so any page may hold fewer items than the limit, and
/// perhaps none, although there are more: its cursor says whether there are.
///
/// This is no snapshot, but the cursor stays right while items are added and taken: an item that
/// stays where it is is listed once, and one that is added, completed or removed meanwhile at most
/// once. An item whose time changes meanwhile, or that is revised, or leased and comes back, may be
/// missed or listed twice.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an unknown state, a cursor of another state or
/// direction, a limit outside 1 to 1,000, or `since` after `until`; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_list_with(
    queue: Option<&leaseq_queue>,
    state: i32,
    cursor: *const c_char,
    options: Option<&leaseq_list_options>,
    page: *mut *mut leaseq_page,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    let options = || options.map_or_else(ListOptions::new, |options| options.0.clone());
    // SAFETY: the conventions of the header.
    unsafe { list(queue, state, cursor, options, page, error) }
}

/// Reads a page.
///
/// # Safety
/// The conventions of the header.
unsafe fn list(
    queue: Option<&leaseq_queue>,
    state: i32,
    cursor: *const c_char,
    options: impl FnOnce() -> ListOptions,
    page: *mut *mut leaseq_page,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(page, std::ptr::null_mut(), "page")?;
            let (queue, state) = (given(queue, "queue")?, self::state(state)?);
            let cursor = match cursor.is_null() {
                true => None,
                false => Some(self::cursor(text(cursor, "cursor")?)?),
            };
            let options = &options();
            let page = queue.run(async |q| q.list_with(state, cursor.as_ref(), options).await)?;
            let examined = page.examined;
            let cursor = page.cursor.map(|cursor| CString::new(cursor.to_string()));
            let items = page.items.into_iter().map(leaseq_item_info::new).collect();
            let cursor = cursor.transpose().map_err(Failure::invalid)?;
            place.set(give(leaseq_page { items, cursor, examined }));
            Ok(())
        })
    }
}

fn cursor(text: &str) -> Result<Cursor> {
    Ok(text.parse::<Cursor>()?)
}
