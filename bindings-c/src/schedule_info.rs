//! Schedules as an operator sees them.

use std::ffi::{CString, c_char};

use bytes::Bytes;
use leaseq::{Missed, ScheduleInfo, SyncedSchedules};

use crate::guard::{self, look};
use crate::info::first;
use crate::pointer::{ms, since_epoch};
use crate::schedule_options::{LEASEQ_MISSED_ONE, LEASEQ_MISSED_SKIP};

/// The schedules of a queue, in the order of their names.
pub struct leaseq_schedules(Vec<leaseq_schedule_info>);

/// A schedule as it is stored. It lives as long as its leaseq_schedules.
pub struct leaseq_schedule_info {
    info: ScheduleInfo,
    name: CString,
    cron: Option<CString>,
    zone: Option<CString>,
    every_ms: i64,
    owner: CString,
    last_id: Option<CString>,
    paused_by: CString,
    pause_reason: CString,
}

/// What was done with a schedule.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_scheduled {
    /// Nothing is known.
    LEASEQ_SCHEDULED_NONE = 0,
    /// There was none.
    LEASEQ_SCHEDULED_ADDED = 1,
    /// Another one was stored. If it had the same rule, the next tick has stayed.
    LEASEQ_SCHEDULED_UPDATED = 2,
    /// The same one was stored.
    LEASEQ_SCHEDULED_UNCHANGED = 3,
    /// Its owner has stored or removed one with a higher revision. Nothing has changed.
    LEASEQ_SCHEDULED_OUTDATED = 4,
    /// Its owner declares it no longer.
    LEASEQ_SCHEDULED_REMOVED = 5,
}

/// What leaseq_queue_sync_schedules() has done with each schedule.
pub struct leaseq_synced(Vec<(CString, leaseq_scheduled)>);

fn c_text(text: impl Into<Vec<u8>>) -> CString {
    CString::new(text).unwrap_or_default()
}

impl leaseq_schedules {
    pub(crate) fn new(all: Vec<ScheduleInfo>) -> Self {
        leaseq_schedules(all.into_iter().map(leaseq_schedule_info::new).collect())
    }
}

impl leaseq_schedule_info {
    fn new(info: ScheduleInfo) -> Self {
        // Its text is `cron ZONE EXPRESSION` or `every MILLISECONDS`.
        let rule = info.rule.to_string();
        let mut words = rule.splitn(3, ' ');
        let is_cron = words.next() == Some("cron");
        let (second, cron) = (words.next(), words.next());
        let every = second.filter(|_| !is_cron).and_then(|ms| ms.parse().ok());
        leaseq_schedule_info {
            name: c_text(&*info.name),
            cron: cron.map(c_text),
            zone: second.filter(|_| is_cron).map(c_text),
            every_ms: every.unwrap_or(0),
            owner: c_text(&*info.owner),
            last_id: info.last_id.as_deref().map(c_text),
            paused_by: c_text(&*info.paused_by),
            pause_reason: c_text(&*info.pause_reason),
            info,
        }
    }
}

impl leaseq_synced {
    pub(crate) fn new(done: SyncedSchedules) -> Self {
        use leaseq_scheduled::*;
        let kinds = [
            (done.added, LEASEQ_SCHEDULED_ADDED),
            (done.updated, LEASEQ_SCHEDULED_UPDATED),
            (done.removed, LEASEQ_SCHEDULED_REMOVED),
            (done.unchanged, LEASEQ_SCHEDULED_UNCHANGED),
            (done.outdated, LEASEQ_SCHEDULED_OUTDATED),
        ];
        let all = kinds
            .into_iter()
            .flat_map(|(names, kind)| names.into_iter().map(move |name| (c_text(name), kind)));
        leaseq_synced(all.collect())
    }
}

fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Number of schedules; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedules_len(schedules: Option<&leaseq_schedules>) -> usize {
    look(schedules, 0, |all| all.0.len())
}

/// The schedule at this index, from 0; NULL beyond the last. Lives as long as `schedules`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedules_get(
    schedules: Option<&leaseq_schedules>,
    index: usize,
) -> *const leaseq_schedule_info {
    let nothing = std::ptr::null();
    look(schedules, nothing, |all| all.0.get(index).map_or(nothing, std::ptr::from_ref))
}

/// Frees schedules and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedules_free(schedules: *mut *mut leaseq_schedules) {
    // SAFETY: made by leaseq_queue_schedules.
    unsafe { guard::free(schedules) }
}

/// The name. NULL for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_name(info: Option<&leaseq_schedule_info>) -> *const c_char {
    look(info, std::ptr::null(), |one| one.name.as_ptr())
}

/// The cron expression; NULL for an interval, and for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_cron(info: Option<&leaseq_schedule_info>) -> *const c_char {
    look(info, std::ptr::null(), |one| pointer(one.cron.as_ref()))
}

/// The time zone of the expression; NULL for an interval, and for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_zone(info: Option<&leaseq_schedule_info>) -> *const c_char {
    look(info, std::ptr::null(), |one| pointer(one.zone.as_ref()))
}

/// The interval, in ms; 0 for a cron expression, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_every_ms(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, 0, |one| one.every_ms)
}

/// The data of the item that each tick adds: arbitrary bytes, not followed by a NUL; empty if it was
/// read without. NULL for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_data(info: Option<&leaseq_schedule_info>) -> *const c_char {
    look(info, std::ptr::null(), |one| one.info.data.as_ptr().cast())
}

/// Number of bytes of the data.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_data_len(info: Option<&leaseq_schedule_info>) -> usize {
    look(info, 0, |one| one.info.data.len())
}

/// Who declares it; empty: nobody. NULL for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_owner(info: Option<&leaseq_schedule_info>) -> *const c_char {
    look(info, std::ptr::null(), |one| one.owner.as_ptr())
}

/// The revision of its owner.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_revision(info: Option<&leaseq_schedule_info>) -> u64 {
    look(info, 0, |one| one.info.revision)
}

/// What is done about missed ticks, as for leaseq_schedule_options_set_missed().
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_missed(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, LEASEQ_MISSED_ONE, |one| match one.info.missed {
        Missed::Skip => LEASEQ_MISSED_SKIP,
        Missed::All(most) => most.into(),
        _ => LEASEQ_MISSED_ONE,
    })
}

/// How late a tick may be processed, in ms; -1 for the default, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_grace_ms(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, -1, |one| one.info.grace.map_or(-1, ms))
}

/// True if a tick adds an item although the last one has not ended. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_overlap(info: Option<&leaseq_schedule_info>) -> bool {
    look(info, false, |one| one.info.overlap)
}

/// The priority of its items, 0 to 9.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_priority(info: Option<&leaseq_schedule_info>) -> i32 {
    look(info, 0, |one| one.info.priority.into())
}

/// How long after its tick an item is ready, in ms; 0: at once.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_delay_ms(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, 0, |one| ms(one.info.delay))
}

/// The limit of attempts of its items; 0 for none of their own.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_max_attempts(info: Option<&leaseq_schedule_info>) -> u32 {
    look(info, 0, |one| one.info.max_attempts.unwrap_or(0))
}

/// How long an item is retained after its completion, in ms; 0: not at all, unless the queue says so.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_retain_ms(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, 0, |one| ms(one.info.retain))
}

/// The unique key of its items: arbitrary bytes, not followed by a NUL. NULL if they have none, and
/// for NULL. Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_unique(
    info: Option<&leaseq_schedule_info>,
) -> *const c_char {
    look(info, std::ptr::null(), |one| first(one.info.unique.as_ref()))
}

/// Number of bytes of the unique key.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_unique_len(info: Option<&leaseq_schedule_info>) -> usize {
    look(info, 0, |one| one.info.unique.as_ref().map_or(0, Bytes::len))
}

/// How long the unique key stays taken at least, in ms; 0: no longer than the item needs it.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_unique_for_ms(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, 0, |one| ms(one.info.unique_for))
}

/// Whether an item replaces another one that has its unique key. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_replace(info: Option<&leaseq_schedule_info>) -> bool {
    look(info, false, |one| one.info.replace)
}

/// Whether it waits for the end of the lease if that one is leased. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_successor(info: Option<&leaseq_schedule_info>) -> bool {
    look(info, false, |one| one.info.successor)
}

/// The key of its items: arbitrary bytes, not followed by a NUL. NULL if they have none, and for NULL.
/// Lives as long as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_key(info: Option<&leaseq_schedule_info>) -> *const c_char {
    look(info, std::ptr::null(), |one| first(one.info.key.as_ref()))
}

/// Number of bytes of the key.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_key_len(info: Option<&leaseq_schedule_info>) -> usize {
    look(info, 0, |one| one.info.key.as_ref().map_or(0, Bytes::len))
}

/// After which time an item is dead that was not leased, in ms; -1 if it does not expire, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_expires_in_ms(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, -1, |one| one.info.expires_in.map_or(-1, ms))
}

/// Whether it is paused. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_paused(info: Option<&leaseq_schedule_info>) -> bool {
    look(info, false, |one| one.info.paused)
}

/// When it was paused, in ms since 1970; -1 if it is not paused, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_paused_at_ms(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, -1, |one| one.info.paused_at.map_or(-1, since_epoch))
}

/// Who has paused it; empty: it is not paused, or nobody said so. NULL for NULL. Lives as long as
/// `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_paused_by(
    info: Option<&leaseq_schedule_info>,
) -> *const c_char {
    look(info, std::ptr::null(), |one| one.paused_by.as_ptr())
}

/// Why it was paused; empty: it is not paused, or nobody said so. NULL for NULL. Lives as long as
/// `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_pause_reason(
    info: Option<&leaseq_schedule_info>,
) -> *const c_char {
    look(info, std::ptr::null(), |one| one.pause_reason.as_ptr())
}

/// The next tick, in ms since 1970; -1 while it is paused, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_next_ms(info: Option<&leaseq_schedule_info>) -> i64 {
    look(info, -1, |one| one.info.next.map_or(-1, since_epoch))
}

/// The id of the last item that it has added; NULL: it has added none. NULL for NULL. Lives as long
/// as `info`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_schedule_info_last_id(
    info: Option<&leaseq_schedule_info>,
) -> *const c_char {
    look(info, std::ptr::null(), |one| pointer(one.last_id.as_ref()))
}

/// Number of schedules with which something was done; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_synced_len(synced: Option<&leaseq_synced>) -> usize {
    look(synced, 0, |all| all.0.len())
}

/// The name of the schedule at this index, from 0; NULL beyond the last. Lives as long as `synced`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_synced_name(
    synced: Option<&leaseq_synced>,
    index: usize,
) -> *const c_char {
    look(synced, std::ptr::null(), |all| pointer(all.0.get(index).map(|(name, _)| name)))
}

/// What was done with it; `LEASEQ_SCHEDULED_NONE` beyond the last, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_synced_done(
    synced: Option<&leaseq_synced>,
    index: usize,
) -> leaseq_scheduled {
    look(synced, leaseq_scheduled::LEASEQ_SCHEDULED_NONE, |all| {
        all.0.get(index).map_or(leaseq_scheduled::LEASEQ_SCHEDULED_NONE, |(_, done)| *done)
    })
}

/// Frees what was done and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_synced_free(synced: *mut *mut leaseq_synced) {
    // SAFETY: made by leaseq_queue_sync_schedules.
    unsafe { guard::free(synced) }
}
