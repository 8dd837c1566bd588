//! Items as an operator sees them.

use std::ffi::{CString, c_char};

use bytes::Bytes;
use leaseq::{FollowUp, ItemInfo, State};

use crate::guard::{self, look};
use crate::history::{self, leaseq_ending};
use crate::pointer::{ms, since_epoch};
use crate::version::leaseq_state;

/// An item as stored in the queue, read without leasing it.
pub struct leaseq_item_info {
    info: ItemInfo,
    last_error: Text,
    reason: Text,
    generation: Text,
    follow_ups: Text,
}

impl leaseq_item_info {
    pub(crate) fn new(info: ItemInfo) -> Self {
        let last_error = Text::new(&info.last_error);
        let reason = Text::new(history::reason(info.releases.as_ref()));
        let generation = Text::new(&info.generation);
        let follow_ups = Text::new(&FollowUp::all_to_json(&info.follow_ups));
        leaseq_item_info { info, last_error, reason, generation, follow_ups }
    }
}

/// Text followed by a NUL; it may contain others.
pub(crate) struct Text(Option<Box<[u8]>>);

impl Text {
    pub(crate) fn new(text: &str) -> Self {
        Text((!text.is_empty()).then(|| [text.as_bytes(), b"\0"].concat().into()))
    }

    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.0.as_ref().map_or(c"".as_ptr(), |text| text.as_ptr().cast())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |text| text.len() - 1)
    }
}

pub(crate) fn state_of(state: State) -> leaseq_state {
    match state {
        State::Ready => leaseq_state::LEASEQ_STATE_READY,
        State::Delayed => leaseq_state::LEASEQ_STATE_DELAYED,
        State::Leased => leaseq_state::LEASEQ_STATE_LEASED,
        State::Dead => leaseq_state::LEASEQ_STATE_DEAD,
        State::Completed => leaseq_state::LEASEQ_STATE_COMPLETED,
        State::Cancelled => leaseq_state::LEASEQ_STATE_CANCELLED,
        State::Held => leaseq_state::LEASEQ_STATE_HELD,
        _ => leaseq_state::LEASEQ_STATE_NONE,
    }
}

/// The item's id: arbitrary bytes, not followed by a NUL. NULL for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_id(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| item.info.id.as_ptr().cast())
}

/// Number of bytes of the id.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_id_len(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.info.id.len())
}

/// The item's data: arbitrary bytes, not followed by a NUL. NULL for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_data(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| item.info.data.as_ptr().cast())
}

/// Number of bytes of the data.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_data_len(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.info.data.len())
}

/// The state; `LEASEQ_STATE_NONE` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_state(info: Option<&leaseq_item_info>) -> leaseq_state {
    look(info, leaseq_state::LEASEQ_STATE_NONE, |item| state_of(item.info.state))
}

/// True if the item is leased and its cancellation was requested. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_cancel_requested(info: Option<&leaseq_item_info>) -> bool {
    look(info, false, |item| item.info.cancel_requested)
}

/// Priority, 0 to 9.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_priority(info: Option<&leaseq_item_info>) -> i32 {
    look(info, 0, |item| item.info.priority.into())
}

/// The limit of attempts; 0 for no limit.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_max_attempts(info: Option<&leaseq_item_info>) -> u32 {
    look(info, 0, |item| item.info.max_attempts.unwrap_or(0))
}

/// Deliveries so far that ended with leaseq_queue_fail(), since the add or the last requeue.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_failures(info: Option<&leaseq_item_info>) -> u32 {
    look(info, 0, |item| item.info.failures)
}

/// Deliveries so far that ended with an expired lease, since the add or the last requeue.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_expiries(info: Option<&leaseq_item_info>) -> u32 {
    look(info, 0, |item| item.info.expiries)
}

/// The text of the last leaseq_queue_fail(), followed by a NUL; empty if there was none. NULL for
/// NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_last_error(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| item.last_error.as_ptr())
}

/// Number of bytes of that text, without the NUL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_last_error_len(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.last_error.len())
}

/// Number of the item's last leases that failed or expired: at most 16, also those before a requeue.
/// 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_endings(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.info.endings.len())
}

/// How the lease at this index ended, from 0, the oldest first; `LEASEQ_ENDING_NONE` beyond the last
/// and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_ending(
    info: Option<&leaseq_item_info>,
    index: usize,
) -> leaseq_ending {
    look(info, leaseq_ending::LEASEQ_ENDING_NONE, |item| {
        history::kind_at(&item.info.endings, index)
    })
}

/// When it ended, in ms since 1970 on the server's clock; if it expired, when it was reclaimed. -1
/// beyond the last and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_ending_at_ms(
    info: Option<&leaseq_item_info>,
    index: usize,
) -> i64 {
    look(info, -1, |item| history::ended_at(&item.info.endings, index))
}

/// How often in a row the item was released for the same reason. A release for another reason, or
/// for none, a failed and an expired lease, and a requeue begin anew. 0 if there was none, and for
/// NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_releases_count(info: Option<&leaseq_item_info>) -> u32 {
    look(info, 0, |item| history::count(item.info.releases.as_ref()))
}

/// The reason of these releases, followed by a NUL; empty if there was none. NULL for NULL. Lives as
/// long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_releases_reason(
    info: Option<&leaseq_item_info>,
) -> *const c_char {
    look(info, std::ptr::null(), |item| item.reason.as_ptr())
}

/// Number of bytes of that reason, without the NUL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_releases_reason_len(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.reason.len())
}

/// When the first of these releases was, in ms since 1970 on the server's clock; -1 if there was
/// none, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_releases_first_at_ms(info: Option<&leaseq_item_info>) -> i64 {
    look(info, -1, |item| history::first_at(item.info.releases.as_ref()))
}

/// Names this life of the id, for the `if_generation` of leaseq_item_ref and leaseq_revision: opaque
/// text, followed by a NUL. It changes when the item is added anew, buried or revised; leases and
/// requeueing keep it. NULL for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_generation(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| item.generation.as_ptr())
}

/// When the item was added, in ms since 1970 on the server's clock.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_added_at_ms(info: Option<&leaseq_item_info>) -> i64 {
    look(info, 0, |item| since_epoch(item.info.added_at))
}

/// When the lease expires, the delay ends, the item died, or it will no longer be retained, in ms
/// since 1970 on the server's clock; -1 for ready and held items and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_at_ms(info: Option<&leaseq_item_info>) -> i64 {
    look(info, -1, |item| item.info.at.map_or(-1, since_epoch))
}

/// When a retained item ended, in ms since 1970 on the server's clock; -1 for others and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_ended_at_ms(info: Option<&leaseq_item_info>) -> i64 {
    look(info, -1, |item| item.info.ended_at.map_or(-1, since_epoch))
}

/// The result of a retained item: arbitrary bytes, not followed by a NUL. NULL if it has none, and
/// for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_result(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| first(item.info.result.as_ref()))
}

/// Number of bytes of the result.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_result_len(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.info.result.as_ref().map_or(0, Bytes::len))
}

/// How far the last holder that has said so has come: arbitrary bytes, not followed by a NUL. NULL
/// if none has, for completed items, and for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_progress(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| first(item.info.progress.as_ref()))
}

/// Number of bytes of the progress.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_progress_len(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.info.progress.as_ref().map_or(0, Bytes::len))
}

/// How long the item is retained after its completion, in ms, as it was added; 0 for not at all.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_retain_ms(info: Option<&leaseq_item_info>) -> i64 {
    look(info, 0, |item| ms(item.info.retain))
}

/// The unique key: arbitrary bytes, not followed by a NUL. NULL if it has none, and for NULL. Lives
/// as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_unique(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| first(item.info.unique.as_ref()))
}

/// Number of bytes of the unique key.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_unique_len(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.info.unique.as_ref().map_or(0, Bytes::len))
}

/// The key: arbitrary bytes, not followed by a NUL. NULL if it has none, and for NULL. Lives as long
/// as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_key(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| first(item.info.key.as_ref()))
}

/// Number of bytes of the key.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_key_len(info: Option<&leaseq_item_info>) -> usize {
    look(info, 0, |item| item.info.key.as_ref().map_or(0, Bytes::len))
}

/// When the item is dead if it is not leased then, in ms since 1970 on the server's clock; -1 if
/// never, because it was added without such a time, an attempt of it has counted, or it has ended,
/// and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_expires_at_ms(info: Option<&leaseq_item_info>) -> i64 {
    look(info, -1, |item| item.info.expires_at.map_or(-1, since_epoch))
}

/// The item's follow-ups, as it was given them, followed by a NUL: a JSON array of objects, `[]` if
/// there is none, for items that have been completed or cancelled, and if the item was read without
/// its data. Each has `on` (`completed`, `dead` or `ended`), `item`, and `with_trigger` if it gives its trigger. The item has
/// `id` and `data` (`id_hex` and `data_hex` if they are no text), and those of `queue`, `priority`,
/// `delay_ms`, `due_at`, `max_attempts`, `retain_ms`, `unique`, `unique_for_ms`, `replace`, `key`,
/// `expires_in_ms` and `follow_ups` that it was given. NULL for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_item_info_follow_ups(info: Option<&leaseq_item_info>) -> *const c_char {
    look(info, std::ptr::null(), |item| item.follow_ups.as_ptr())
}

/// The first byte of what may be missing. Not NULL if it is there, even without bytes.
pub(crate) fn first(bytes: Option<&Bytes>) -> *const c_char {
    bytes.map_or(std::ptr::null(), |bytes| bytes.as_ptr().cast())
}

/// Frees a result of leaseq_queue_get() or leaseq_queue_get_many() and makes the pointer NULL. NULL
/// and a pointer to NULL are allowed. Items of a page belong to the page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_info_free(info: *mut *mut leaseq_item_info) {
    // SAFETY: made by leaseq_queue_get.
    unsafe { guard::free(info) }
}

/// A page of leaseq_queue_list() or leaseq_queue_list_with().
pub struct leaseq_page {
    pub(crate) items: Vec<leaseq_item_info>,
    pub(crate) cursor: Option<CString>,
    pub(crate) examined: u64,
}

/// Number of items of the page; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_page_len(page: Option<&leaseq_page>) -> usize {
    look(page, 0, |page| page.items.len())
}

/// The item at this index, from 0; NULL beyond the last. Lives as long as the page.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_page_item(
    page: Option<&leaseq_page>,
    index: usize,
) -> *const leaseq_item_info {
    let nothing = std::ptr::null();
    look(page, nothing, |page| page.items.get(index).map_or(nothing, std::ptr::from_ref))
}

/// Where the next page begins; NULL at the end. Opaque text that can be stored or passed to another
/// process; valid for the queue, the state and the direction it came from. Lives as long as the
/// page.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_page_cursor(page: Option<&leaseq_page>) -> *const c_char {
    let nothing = std::ptr::null();
    look(page, nothing, |page| page.cursor.as_ref().map_or(nothing, |cursor| cursor.as_ptr()))
}

/// How many entries of the queue the page has examined: its items, those that filters left out, and
/// those whose item is gone. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_page_examined(page: Option<&leaseq_page>) -> u64 {
    look(page, 0, |page| page.examined)
}

/// Frees a page and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_page_free(page: *mut *mut leaseq_page) {
    // SAFETY: made by leaseq_queue_list.
    unsafe { guard::free(page) }
}
