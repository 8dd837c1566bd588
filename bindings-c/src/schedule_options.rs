//! How a schedule adds items.

use std::ffi::c_char;
use std::time::Duration;

use leaseq::options::MAX_CAUGHT_UP;
use leaseq::{Missed, Schedule, ScheduleRule};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::guard;
use crate::options::{make, set};
use crate::pointer::{duration, text};

/// For leaseq_schedule_options_set_missed(): one item is added for all missed ticks.
pub const LEASEQ_MISSED_ONE: i64 = 0;
/// For leaseq_schedule_options_set_missed(): nothing is done about missed ticks.
pub const LEASEQ_MISSED_SKIP: i64 = -1;

/// How a schedule adds items. A rule must be set.
#[derive(Default)]
pub struct leaseq_schedule_options {
    rule: Option<ScheduleRule>,
    owner: String,
    revision: u64,
    missed: Missed,
    grace: Option<Duration>,
    overlap: bool,
}

impl leaseq_schedule_options {
    pub(crate) fn rule(&self) -> Result<ScheduleRule> {
        self.rule.clone().ok_or_else(|| Failure::invalid("a schedule has no rule"))
    }

    pub(crate) fn apply(&self, schedule: Schedule) -> Schedule {
        let schedule = schedule.owner(&self.owner).revision(self.revision).missed(self.missed);
        let schedule = self.grace.into_iter().fold(schedule, Schedule::grace);
        if self.overlap { schedule.overlap() } else { schedule }
    }
}

/// Options with the defaults and without a rule.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_new(
    options: *mut *mut leaseq_schedule_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// Items are added at the local times of a zone, which is an IANA name; NULL means UTC. The
/// expression has five fields (minute, hour, day of the month, month, day of the week), or six with
/// a second first. It replaces another rule.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, an expression that cannot be read or names a
/// time that never comes, or a zone that does not exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_set_cron(
    options: Option<&mut leaseq_schedule_options>,
    expression: *const c_char,
    zone: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let zone = if zone.is_null() { "UTC" } else { text(zone, "zone")? };
            options.rule = Some(ScheduleRule::cron(text(expression, "expression")?, zone)?);
            Ok(())
        })
    }
}

/// Items are added after each interval, 100 ms to 366 days. The first one begins when the schedule
/// is put. It replaces another rule.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or another interval.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_set_every_ms(
    options: Option<&mut leaseq_schedule_options>,
    every_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let interval = duration(every_ms, "the interval of a schedule")?;
            options.rule = Some(ScheduleRule::every(interval)?);
            Ok(())
        })
    }
}

/// Who declares the schedule, up to 128 bytes, and the number or time of its deployment, up to 2^53.
/// Nobody else can change the schedule, and a lower revision than the stored one is refused, also
/// after the schedule was removed. Default: nobody, and 0. leaseq_queue_sync_schedules() has an owner
/// and a revision of its own.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or an owner that is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_set_owner(
    options: Option<&mut leaseq_schedule_options>,
    owner: *const c_char,
    revision: u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            text(owner, "owner")?.clone_into(&mut options.owner);
            options.revision = revision;
            Ok(())
        })
    }
}

/// What is done about ticks that nobody processed within their grace: `LEASEQ_MISSED_SKIP`,
/// `LEASEQ_MISSED_ONE`, or an item is added for each of at most so many, 1 to 1,000, the earliest
/// ones. Default: `LEASEQ_MISSED_ONE`.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_set_missed(
    options: Option<&mut leaseq_schedule_options>,
    missed: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.missed = match missed {
                LEASEQ_MISSED_SKIP => Missed::Skip,
                LEASEQ_MISSED_ONE => Missed::One,
                most => Missed::All(u32::try_from(most).map_err(|_| {
                    Failure::invalid(format_args!(
                        "{most} missed ticks are not between 1 and {MAX_CAUGHT_UP}"
                    ))
                })?),
            };
            Ok(())
        })
    }
}

/// How late a tick may be processed before it is missed, at most 366 days; -1 for the default: 60 s,
/// or the time to the next tick if that is shorter.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or another negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_set_grace_ms(
    options: Option<&mut leaseq_schedule_options>,
    grace_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.grace = match grace_ms {
                -1 => None,
                ms => Some(duration(ms, "the grace")?),
            };
            Ok(())
        })
    }
}

/// Whether a tick adds an item although the last one of the schedule has not ended. Default: false.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_set_overlap(
    options: Option<&mut leaseq_schedule_options>,
    overlap: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.overlap = overlap;
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_free(options: *mut *mut leaseq_schedule_options) {
    // SAFETY: made by leaseq_schedule_options_new.
    unsafe { guard::free(options) }
}
