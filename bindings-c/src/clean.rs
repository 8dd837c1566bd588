//! Cleaning.

use std::ffi::{CString, c_char};

use leaseq::{DeepReport, WorkQueue};

use crate::error::{leaseq_error, leaseq_status};
use crate::guard::{self, look};
use crate::pointer::{Grown, Out, give, given, ms};
use crate::queue::leaseq_queue;
use crate::status::status;

/// Result of a light clean. Later versions may append fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct leaseq_light_report {
    /// Delayed items that became ready.
    pub promoted: u64,
    /// Expired leases that were reclaimed.
    pub expired: u64,
    /// How many of those items are now dead because they reached their limit of attempts.
    pub died: u64,
    /// Time until the next item is due or the next lease expires, in ms; -1 if there is neither.
    pub next_in_ms: i64,
    /// Dead and retained items that were removed because the settings of the queue allow no more, or
    /// none so old.
    pub removed: u64,
}

/// Result of a deep clean or a check.
pub struct leaseq_report {
    items: u64,
    idle_lanes: u64,
    damage: Vec<(CString, u64, u64)>,
    details: Vec<CString>,
}

impl From<DeepReport> for leaseq_report {
    fn from(report: DeepReport) -> Self {
        let text = |text: &str| CString::new(text.replace('\0', "\\0")).unwrap_or_default();
        let damage = report.found.iter().map(|(damage, found)| {
            let mended = report.mended.get(damage).copied().unwrap_or(0);
            (text(damage.as_str()), *found, mended)
        });
        leaseq_report {
            items: report.items,
            idle_lanes: report.idle_lanes,
            damage: damage.collect(),
            details: report.details.iter().map(|detail| text(detail)).collect(),
        }
    }
}

/// Makes due items ready and reclaims expired leases, for queues on which no worker waits. The cost
/// depends on the number of due or expired items, not on the length of the queue. `size` is `sizeof
/// *report`.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_light_clean(
    queue: Option<&leaseq_queue>,
    report: *mut leaseq_light_report,
    size: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Grown::new(report, size, "report")?;
            let queue = given(queue, "queue")?;
            let report = queue.run(async |queue| queue.light_clean().await)?;
            place.set(leaseq_light_report {
                promoted: report.promoted,
                expired: report.expired,
                died: report.died,
                next_in_ms: report.next_in.map_or(-1, ms),
                removed: report.removed,
            });
            Ok(())
        })
    }
}

/// Finds and mends every broken invariant in small atomic steps. It is safe under full load and
/// beside other cleaners, and changes nothing in a sound queue. It takes about as long as reading
/// the whole queue, and 8 bytes of memory for each ready item.
/// @return `LEASEQ_OK`, even if damage was found; or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_deep_clean(
    queue: Option<&leaseq_queue>,
    report: *mut *mut leaseq_report,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { audit(queue, report, error, async |queue| queue.deep_clean().await) }
}

/// leaseq_queue_deep_clean() that changes nothing.
/// @return as leaseq_queue_deep_clean().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_check(
    queue: Option<&leaseq_queue>,
    report: *mut *mut leaseq_report,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { audit(queue, report, error, async |queue| queue.check().await) }
}

/// Returns a report.
///
/// # Safety
/// The conventions of the header.
unsafe fn audit(
    queue: Option<&leaseq_queue>,
    report: *mut *mut leaseq_report,
    error: *mut *mut leaseq_error,
    audit: impl AsyncFnOnce(&WorkQueue) -> leaseq::Result<DeepReport>,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(report, std::ptr::null_mut(), "report")?;
            place.set(give(given(queue, "queue")?.run(audit)?.into()));
            Ok(())
        })
    }
}

/// Number of items examined; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_items(report: Option<&leaseq_report>) -> u64 {
    look(report, 0, |report| report.items)
}

/// Idle lanes of clients that are gone. They are not damage.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_idle_lanes(report: Option<&leaseq_report>) -> u64 {
    look(report, 0, |report| report.idle_lanes)
}

/// True if nothing was wrong. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_is_sound(report: Option<&leaseq_report>) -> bool {
    look(report, false, |report| report.damage.is_empty())
}

/// Number of kinds of damage that were found; 0 for a sound queue.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_kinds(report: Option<&leaseq_report>) -> usize {
    look(report, 0, |report| report.damage.len())
}

/// The kind of damage at this index, from 0, in a few words; NULL beyond the last. Lives as long as
/// the report.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_kind(
    report: Option<&leaseq_report>,
    index: usize,
) -> *const c_char {
    let nothing = std::ptr::null();
    look(report, nothing, |report| report.damage.get(index).map_or(nothing, |d| d.0.as_ptr()))
}

/// How often this kind was found.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_found(report: Option<&leaseq_report>, index: usize) -> u64 {
    look(report, 0, |report| report.damage.get(index).map_or(0, |d| d.1))
}

/// How often this kind was mended; always 0 for a check.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_mended(report: Option<&leaseq_report>, index: usize) -> u64 {
    look(report, 0, |report| report.damage.get(index).map_or(0, |d| d.2))
}

/// Number of findings described, at most the first 100.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_details(report: Option<&leaseq_report>) -> usize {
    look(report, 0, |report| report.details.len())
}

/// The description at this index, from 0: a line of text; NULL beyond the last. Lives as long as
/// the report.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_report_detail(
    report: Option<&leaseq_report>,
    index: usize,
) -> *const c_char {
    let nothing = std::ptr::null();
    look(report, nothing, |report| report.details.get(index).map_or(nothing, |line| line.as_ptr()))
}

/// Frees a report and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_report_free(report: *mut *mut leaseq_report) {
    // SAFETY: made by leaseq_queue_deep_clean or leaseq_queue_check.
    unsafe { guard::free(report) }
}
