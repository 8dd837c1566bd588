//! What a call changes of the settings of a queue.

use std::time::Duration;

use leaseq::{Rate, SettingsChange};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::guard;
use crate::options::{make, set};
use crate::pointer::duration;

/// What leaseq_queue_configure() changes. A setting that is not named stays as it is.
#[derive(Default)]
pub struct leaseq_settings_options(pub(crate) SettingsChange);

/// A setting of a queue.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_setting {
    /// See leaseq_settings_options_set_max_attempts().
    LEASEQ_SETTING_MAX_ATTEMPTS = 1,
    /// See leaseq_settings_options_set_retain_ms().
    LEASEQ_SETTING_RETAIN = 2,
    /// See leaseq_settings_options_set_max_dead().
    LEASEQ_SETTING_MAX_DEAD = 3,
    /// See leaseq_settings_options_set_max_retained().
    LEASEQ_SETTING_MAX_RETAINED = 4,
    /// See leaseq_settings_options_set_max_dead_age_ms().
    LEASEQ_SETTING_MAX_DEAD_AGE = 5,
    /// See leaseq_settings_options_set_max_retained_age_ms().
    LEASEQ_SETTING_MAX_RETAINED_AGE = 6,
    /// See leaseq_settings_options_set_rate().
    LEASEQ_SETTING_RATE = 7,
    /// See leaseq_settings_options_set_key_limit().
    LEASEQ_SETTING_KEY_LIMIT = 8,
    /// See leaseq_settings_options_set_key_rate().
    LEASEQ_SETTING_KEY_RATE = 9,
    /// See leaseq_settings_options_set_events().
    LEASEQ_SETTING_EVENTS = 10,
}

/// Changes nothing yet.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_new(
    options: *mut *mut leaseq_settings_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// Sets a part of the change.
///
/// # Safety
/// The conventions of the header.
unsafe fn change(
    options: Option<&mut leaseq_settings_options>,
    error: *mut *mut leaseq_error,
    with: impl FnOnce(SettingsChange) -> Result<SettingsChange>,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0 = with(options.0.clone())?;
            Ok(())
        })
    }
}

/// After so many failed or expired attempts, 1 to 65,535, an item is dead that was added without a
/// limit of its own. It holds for items that are in the queue already, too. Checked by
/// leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_max_attempts(
    options: Option<&mut leaseq_settings_options>,
    max_attempts: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { change(options, error, |options| Ok(options.max_attempts(max_attempts))) }
}

/// How long, at most 366 days, a completed or cancelled item is retained if neither it nor its
/// completion says so; 0: not at all.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_retain_ms(
    options: Option<&mut leaseq_settings_options>,
    retain_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        change(options, error, |options| Ok(options.retain(duration(retain_ms, "a retention")?)))
    }
}

/// The most dead items that the queue keeps, 1 to 1,000,000,000. Whoever leases or cleans removes
/// the oldest others. Checked by leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_max_dead(
    options: Option<&mut leaseq_settings_options>,
    max_dead: u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { change(options, error, |options| Ok(options.max_dead(max_dead))) }
}

/// The most retained items that the queue keeps, 1 to 1,000,000,000. Whoever leases or cleans
/// removes the others, those first whose time ends first. Checked by leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_max_retained(
    options: Option<&mut leaseq_settings_options>,
    max_retained: u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { change(options, error, |options| Ok(options.max_retained(max_retained))) }
}

/// Dead items are removed after this time, 1 ms to 366 days, by whoever leases or cleans. Checked by
/// leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_max_dead_age_ms(
    options: Option<&mut leaseq_settings_options>,
    max_dead_age_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        change(options, error, |options| {
            Ok(options.max_dead_age(duration(max_dead_age_ms, "max_dead_age")?))
        })
    }
}

/// The longest time, 1 ms to 366 days, for which items are retained that end from now on, whatever
/// they were added or completed with. Checked by leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_max_retained_age_ms(
    options: Option<&mut leaseq_settings_options>,
    max_retained_age_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        change(options, error, |options| {
            Ok(options.max_retained_age(duration(max_retained_age_ms, "max_retained_age")?))
        })
    }
}

/// How many leases the queue gives, to all clients together: at most `burst + count * t / period` in
/// any time t. `count` and `burst` are 1 to 1,000,000, and 0 as the `burst` means `count`; the period
/// is 1 ms to 31 days. When the leases are used up, items stay ready, and calls that wait get theirs
/// when the next lease is allowed. Checked by leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_rate(
    options: Option<&mut leaseq_settings_options>,
    count: u32,
    period_ms: i64,
    burst: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { change(options, error, |options| Ok(options.rate(rate(count, period_ms, burst)?))) }
}

/// As leaseq_settings_options_set_rate(), for each key on its own. When its leases are used up, the
/// items of a key are held, and calls that wait get one when the next lease is allowed; items of other
/// keys go on. The burst must be used up for at most 366 days: burst * period / count. Checked by
/// leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_key_rate(
    options: Option<&mut leaseq_settings_options>,
    count: u32,
    period_ms: i64,
    burst: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        change(options, error, |options| Ok(options.key_rate(rate(count, period_ms, burst)?)))
    }
}

/// 0 as the `burst` means `count`.
fn rate(count: u32, period_ms: i64, burst: u32) -> Result<Rate, Failure> {
    let rate = Rate::new(count, duration(period_ms, "the period of a rate")?);
    Ok(if burst == 0 { rate } else { rate.burst(burst) })
}

/// How many items of a key are leased at the same time, 1 to 1,000, unless it has a limit of its own;
/// see leaseq_queue_set_key_limits(). A lower limit takes no lease away. Checked by
/// leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_key_limit(
    options: Option<&mut leaseq_settings_options>,
    key_limit: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { change(options, error, |options| Ok(options.key_limit(key_limit))) }
}

/// How many of its last changes the queue keeps, 1 to 1,000,000: see leaseq_queue_events(). Checked by
/// leaseq_queue_configure().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_set_events(
    options: Option<&mut leaseq_settings_options>,
    events: u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { change(options, error, |options| Ok(options.events(events))) }
}

/// Removes this ::leaseq_setting from the queue, which then is as if it had never been set.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a number that is no setting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_remove(
    options: Option<&mut leaseq_settings_options>,
    setting: i32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        change(options, error, |options| {
            use leaseq_setting::*;
            let wrong = || Failure::invalid(format_args!("{setting} is not a setting of a queue"));
            let all = [
                LEASEQ_SETTING_MAX_ATTEMPTS,
                LEASEQ_SETTING_RETAIN,
                LEASEQ_SETTING_MAX_DEAD,
                LEASEQ_SETTING_MAX_RETAINED,
                LEASEQ_SETTING_MAX_DEAD_AGE,
                LEASEQ_SETTING_MAX_RETAINED_AGE,
                LEASEQ_SETTING_RATE,
                LEASEQ_SETTING_KEY_LIMIT,
                LEASEQ_SETTING_KEY_RATE,
                LEASEQ_SETTING_EVENTS,
            ];
            let known = all.into_iter().find(|known| *known as i32 == setting);
            Ok(match known.ok_or_else(wrong)? {
                LEASEQ_SETTING_MAX_ATTEMPTS => options.max_attempts(None),
                LEASEQ_SETTING_RETAIN => options.retain(None::<Duration>),
                LEASEQ_SETTING_MAX_DEAD => options.max_dead(None),
                LEASEQ_SETTING_MAX_RETAINED => options.max_retained(None),
                LEASEQ_SETTING_MAX_DEAD_AGE => options.max_dead_age(None),
                LEASEQ_SETTING_MAX_RETAINED_AGE => options.max_retained_age(None),
                LEASEQ_SETTING_RATE => options.rate(None),
                LEASEQ_SETTING_KEY_LIMIT => options.key_limit(None),
                LEASEQ_SETTING_KEY_RATE => options.key_rate(None),
                LEASEQ_SETTING_EVENTS => options.events(None),
            })
        })
    }
}

/// Changes nothing if the stored revision is another than this one; 0: the queue must never have
/// been configured. Default: any revision.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_expect_revision(
    options: Option<&mut leaseq_settings_options>,
    revision: u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { change(options, error, |options| Ok(options.expect_revision(revision))) }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_settings_options_free(options: *mut *mut leaseq_settings_options) {
    // SAFETY: made by leaseq_settings_options_new.
    unsafe { guard::free(options) }
}
