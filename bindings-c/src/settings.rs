//! Settings of a queue, and pausing it.

use std::ffi::c_char;

use leaseq::{PauseOptions, Settings};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::pointer::{Grown, Out, duration, given, ms, since_epoch, text};
use crate::queue::leaseq_queue;
use crate::settings_options::leaseq_settings_options;
use crate::status::status;

/// The settings of a queue, which hold for every client. Later versions may append fields.
// Appended fields must not fit into the padding at the end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct leaseq_settings {
    /// The limit of attempts of items that were added without one; 0: there is no limit.
    pub max_attempts: u64,
    /// How long an item is retained if neither it nor its completion says so; 0: not at all.
    pub retain_ms: i64,
    /// The most dead items that the queue keeps; 0: there is no limit.
    pub max_dead: u64,
    /// The most retained items that the queue keeps; 0: there is no limit.
    pub max_retained: u64,
    /// Dead items are removed after this time; 0: they stay.
    pub max_dead_age_ms: i64,
    /// The longest time for which an item is retained; 0: there is no limit.
    pub max_retained_age_ms: i64,
    /// Goes up with each change; 0: the queue was never configured. A pause is no change.
    pub revision: u64,
    /// Whether leasing is paused: 1 or 0.
    pub paused: u64,
    /// When leasing goes on by itself, in ms since 1970; -1: it is not paused, or until
    /// leaseq_queue_resume().
    pub paused_until_ms: i64,
    /// How many leases become allowed in each period of the rate; 0: the queue has no rate.
    pub rate: u64,
    /// The period of the rate; 0: the queue has no rate.
    pub rate_period_ms: i64,
    /// How many leases the rate allows at once if there were none for a while; 0: the queue has no
    /// rate.
    pub rate_burst: u64,
    /// When the rate allows the next lease, in ms since 1970; -1: it allows one now, or there is no
    /// rate.
    pub rate_limited_until_ms: i64,
    /// How many items of a key are leased at the same time, unless it has a limit of its own.
    pub key_limit: u64,
    /// How many leases of a key become allowed in each period of its rate; 0: keys have no rate.
    pub key_rate: u64,
    /// The period of the rate of each key; 0: keys have no rate.
    pub key_rate_period_ms: i64,
    /// How many leases of a key are allowed at once if there were none for a while; 0: keys have no
    /// rate.
    pub key_rate_burst: u64,
    /// How many of its last changes the queue keeps; 0: none.
    pub events: u64,
    /// When the pause has begun, in ms since 1970; -1: it is not paused.
    pub paused_at_ms: i64,
    /// Who has paused it: UTF-8 of up to 128 bytes, followed by a NUL. Empty: it is not paused, or nobody said so.
    pub paused_by: [c_char; 136],
    /// Why it was paused: UTF-8 of up to 256 bytes, followed by a NUL. Empty: it is not paused, or nobody said so.
    pub pause_reason: [c_char; 264],
}

/// What is longer than a caller can make it is cut off.
fn array<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (place, byte) in array.iter_mut().take(N - 1).zip(text.bytes()) {
        *place = byte as c_char;
    }
    array
}

impl From<Settings> for leaseq_settings {
    fn from(settings: Settings) -> Self {
        leaseq_settings {
            max_attempts: settings.max_attempts.map_or(0, u64::from),
            retain_ms: ms(settings.retain),
            max_dead: settings.max_dead.unwrap_or(0),
            max_retained: settings.max_retained.unwrap_or(0),
            max_dead_age_ms: settings.max_dead_age.map_or(0, ms),
            max_retained_age_ms: settings.max_retained_age.map_or(0, ms),
            revision: settings.revision,
            paused: settings.paused.into(),
            paused_until_ms: settings.paused_until.map_or(-1, since_epoch),
            rate: settings.rate.map_or(0, |rate| rate.count.into()),
            rate_period_ms: settings.rate.map_or(0, |rate| ms(rate.period)),
            rate_burst: settings.rate.map_or(0, |rate| rate.burst.into()),
            rate_limited_until_ms: settings.rate_limited_until.map_or(-1, since_epoch),
            key_limit: settings.key_limit.into(),
            key_rate: settings.key_rate.map_or(0, |rate| rate.count.into()),
            key_rate_period_ms: settings.key_rate.map_or(0, |rate| ms(rate.period)),
            key_rate_burst: settings.key_rate.map_or(0, |rate| rate.burst.into()),
            events: settings.events.unwrap_or(0),
            paused_at_ms: settings.paused_at.map_or(-1, since_epoch),
            paused_by: array(&settings.paused_by),
            pause_reason: array(&settings.pause_reason),
        }
    }
}

/// Changes settings of this queue, which hold for every client. What `options` does not name stays
/// as it is; NULL changes nothing. `settings` are those after the change, and `size` is
/// `sizeof *settings`. `*configured` is false, and nothing has changed, if the stored revision is
/// another than the expected one; then `settings` is all zero. `configured` may be NULL. A change
/// that changes nothing keeps the revision.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a value outside its limits; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_configure(
    queue: Option<&leaseq_queue>,
    options: Option<&leaseq_settings_options>,
    settings: *mut leaseq_settings,
    size: usize,
    configured: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let configured = Out::wanted(configured, false);
            let settings = Grown::new(settings, size, "settings")?;
            let queue = given(queue, "queue")?;
            let change = options.map(|options| options.0.clone()).unwrap_or_default();
            if let Some(found) = queue.run(async |queue| queue.configure(change).await)? {
                settings.set(found.into());
                configured.set(true);
            }
            Ok(())
        })
    }
}

/// The settings of this queue, and whether it is paused. `size` is `sizeof *settings`.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_settings(
    queue: Option<&leaseq_queue>,
    settings: *mut leaseq_settings,
    size: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let settings = Grown::new(settings, size, "settings")?;
            let queue = given(queue, "queue")?;
            settings.set(queue.run(async |queue| queue.settings().await)?.into());
            Ok(())
        })
    }
}

/// Stops leasing from this queue, for every client, until leaseq_queue_resume(). Adding, completing
/// and reclaiming continue; calls that lease wait or return nothing. leaseq_queue_settings() shows who
/// has paused, UTF-8 of up to 128 bytes without control characters, and why, up to 256; either may be
/// NULL. Of several pauses the last one counts.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for another text; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_pause(
    queue: Option<&leaseq_queue>,
    by: *const c_char,
    reason: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let queue = given(queue, "queue")?;
            let options = pause_options(by, reason)?;
            queue.run(async |queue| queue.pause_with(options).await)
        })
    }
}

/// As leaseq_queue_pause(), for this time, 1 ms to 366 days. Then leasing goes on by itself, and
/// waiting calls wake.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for another time or text; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_pause_with(
    queue: Option<&leaseq_queue>,
    duration_ms: i64,
    by: *const c_char,
    reason: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let queue = given(queue, "queue")?;
            let options = pause_options(by, reason)?.duration(duration(duration_ms, "a pause")?);
            queue.run(async |queue| queue.pause_with(options).await)
        })
    }
}

/// Who pauses, and why; NULL for nothing.
///
/// # Safety
/// The conventions of the header.
pub(crate) unsafe fn pause_options(
    by: *const c_char,
    reason: *const c_char,
) -> Result<PauseOptions> {
    // SAFETY: the conventions of the header.
    let read = |given: *const c_char, what| match given.is_null() {
        true => Ok(""),
        false => unsafe { text(given, what) },
    };
    Ok(PauseOptions::new().by(read(by, "by")?).reason(read(reason, "reason")?))
}

/// Resumes leasing after leaseq_queue_pause(); waiting calls wake.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_resume(
    queue: Option<&leaseq_queue>,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { status(error, || given(queue, "queue")?.run(async |queue| queue.resume().await)) }
}
