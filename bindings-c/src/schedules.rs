//! Schedules of a queue.

use std::ffi::{c_char, c_void};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::options::MAX_TICKS;
use leaseq::{GetOptions, PutSchedule, Schedule, WorkQueue};

use crate::add::leaseq_item;
use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::item_options::leaseq_item_options;
use crate::pointer::{Out, array, give, given, null, since_epoch, text};
use crate::queue::leaseq_queue;
use crate::schedule_info::{leaseq_scheduled, leaseq_schedules, leaseq_synced};
use crate::schedule_options::leaseq_schedule_options;
use crate::settings::pause_options;
use crate::status::status;

/// A schedule to put. Set it to zero first: `leaseq_schedule schedule = {0};`
#[repr(C)]
pub struct leaseq_schedule {
    /// Its name of 1 to 128 bytes without control characters, which is its own in the queue.
    pub name: *const c_char,
    /// The data of the item that each tick adds, at most 1 MiB.
    pub data: *const c_void,
    /// Number of bytes of the data.
    pub data_len: usize,
    /// The options of that item; NULL for the defaults. Its id is `NAME@TIME` instead of theirs, and a
    /// delay begins with the tick.
    pub item_options: *const leaseq_item_options,
    /// When and how the schedule adds items.
    pub options: *const leaseq_schedule_options,
}

impl leaseq_schedule {
    /// The schedule as the core has it.
    ///
    /// # Safety
    /// The conventions of the header.
    unsafe fn read(&self) -> Result<Schedule> {
        let item = leaseq_item {
            data: self.data,
            data_len: self.data_len,
            id: std::ptr::null(),
            id_len: 0,
            options: self.item_options,
        };
        // SAFETY: the conventions of the header.
        let (name, item, options) =
            unsafe { (text(self.name, "name")?, item.read()?, self.options.as_ref()) };
        let options = given(options, "options")?;
        Ok(options.apply(Schedule::new(name, options.rule()?, item)))
    }
}

/// Stores a schedule, or replaces the one with its name. While somebody waits for an item of the
/// queue, or a cleaner looks after it, each tick adds exactly one item, however many clients there
/// are. An unchanged rule keeps its next tick, and a paused schedule stays paused. `done` may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a value outside its limits, a schedule of another owner,
/// or more than 1,000 schedules; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_put_schedule(
    queue: Option<&leaseq_queue>,
    schedule: Option<&leaseq_schedule>,
    done: *mut leaseq_scheduled,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    use leaseq_scheduled::*;
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let done = Out::wanted(done, LEASEQ_SCHEDULED_NONE);
            let queue = given(queue, "queue")?;
            let schedule = given(schedule, "schedule")?.read()?;
            done.set(match queue.run(async |queue| queue.put_schedule(schedule).await)? {
                PutSchedule::Added => LEASEQ_SCHEDULED_ADDED,
                PutSchedule::Updated => LEASEQ_SCHEDULED_UPDATED,
                PutSchedule::Unchanged => LEASEQ_SCHEDULED_UNCHANGED,
                _ => LEASEQ_SCHEDULED_OUTDATED,
            });
            Ok(())
        })
    }
}

/// Makes the schedules of this owner these `count`: adds and updates them, and removes its others.
/// Those of other owners stay. `revision` is that of all of them, such as the number of the
/// deployment: what was stored or removed with a higher one stays. `synced` may be NULL. After an
/// error, repeat the call: each schedule is changed in a step of its own.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an empty owner, two schedules with one name, or as
/// leaseq_queue_put_schedule(); an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_sync_schedules(
    queue: Option<&leaseq_queue>,
    owner: *const c_char,
    revision: u64,
    schedules: *const leaseq_schedule,
    count: usize,
    synced: *mut *mut leaseq_synced,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = synced;
            let synced = Out::wanted(place, std::ptr::null_mut());
            let queue = given(queue, "queue")?;
            let owner = text(owner, "owner")?;
            let all = array(schedules, count, "schedules")?.iter().map(|one| one.read());
            let all = all.collect::<Result<Vec<_>>>()?;
            let done = queue.run(async |q| q.sync_schedules(owner, revision, all).await)?;
            if !place.is_null() {
                synced.set(give(leaseq_synced::new(done)));
            }
            Ok(())
        })
    }
}

/// Reads the schedules of this queue, in the order of their names. Without `with_data`, the data of their
/// items is left out, and empty.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_schedules(
    queue: Option<&leaseq_queue>,
    with_data: bool,
    schedules: *mut *mut leaseq_schedules,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let schedules = Out::one(schedules, std::ptr::null_mut(), "schedules")?;
            let queue = given(queue, "queue")?;
            let mut options = GetOptions::new();
            options.data = with_data;
            let all = queue.run(async |queue| queue.schedules_with(options).await)?;
            schedules.set(give(leaseq_schedules::new(all)));
            Ok(())
        })
    }
}

/// Changes a schedule by its name.
///
/// # Safety
/// The conventions of the header.
unsafe fn by_name(
    queue: Option<&leaseq_queue>,
    name: *const c_char,
    done: *mut bool,
    error: *mut *mut leaseq_error,
    change: impl AsyncFnOnce(&WorkQueue, &str) -> leaseq::Result<bool>,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let done = Out::wanted(done, false);
            let (queue, name) = (given(queue, "queue")?, text(name, "name")?);
            done.set(queue.run(async |queue| change(queue, name).await)?);
            Ok(())
        })
    }
}

/// Removes a schedule; the items that it has added stay. Its revision is kept, and its owner cannot
/// put it with a lower one. `*removed` is false if there was none; it may be NULL.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_remove_schedule(
    queue: Option<&leaseq_queue>,
    name: *const c_char,
    removed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { by_name(queue, name, removed, error, async |q, name| q.remove_schedule(name).await) }
}

/// Stops a schedule until leaseq_queue_resume_schedule(), also if it is put again. leaseq_queue_schedules()
/// shows who has paused it, and why, as for leaseq_queue_pause_with(); either may be NULL. `*paused` is
/// false if there is none; it may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a text outside its limits; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_pause_schedule(
    queue: Option<&leaseq_queue>,
    name: *const c_char,
    by: *const c_char,
    reason: *const c_char,
    paused: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let paused = Out::wanted(paused, false);
            let (queue, name) = (given(queue, "queue")?, text(name, "name")?);
            let options = pause_options(by, reason)?;
            paused.set(queue.run(async |queue| queue.pause_schedule_with(name, options).await)?);
            Ok(())
        })
    }
}

/// Continues a schedule with its first tick from now on: those during the pause were not missed.
/// `*resumed` is false if there is none; it may be NULL.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_resume_schedule(
    queue: Option<&leaseq_queue>,
    name: *const c_char,
    resumed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { by_name(queue, name, resumed, error, async |q, name| q.resume_schedule(name).await) }
}

/// Adds the item of a schedule now, also if its last one has not ended or it is paused. Its next tick
/// stays. `*added` is false if there is no such schedule, or another item has the unique key; it may
/// be NULL.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_run_now(
    queue: Option<&leaseq_queue>,
    name: *const c_char,
    added: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { by_name(queue, name, added, error, async |q, name| q.run_now(name).await) }
}

/// The next `count` times of the rule of these options, at most 1,000, in ms since 1970, later than
/// `after_ms`; -1 means now, by this machine's clock. An interval begins then. `*found` is how many
/// there are: fewer if the rule has no more.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, options without a rule, or a larger count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_schedule_options_times(
    options: Option<&leaseq_schedule_options>,
    after_ms: i64,
    times: *mut i64,
    count: usize,
    found: *mut usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let found = Out::one(found, 0, "found")?;
            if count > MAX_TICKS {
                let message = format_args!("{count} times are more than {MAX_TICKS}");
                return Err(Failure::invalid(message));
            }
            if times.is_null() && count > 0 {
                return Err(null("times"));
            }
            let times = Out::many(times, count, 0, "times")?;
            let after = match u64::try_from(after_ms) {
                Ok(ms) => UNIX_EPOCH + Duration::from_millis(ms),
                Err(_) => SystemTime::now(),
            };
            let all = given(options, "options")?.rule()?.times_after(after, count)?;
            found.set(all.len());
            times.set_all(all.into_iter().map(since_epoch));
            Ok(())
        })
    }
}
