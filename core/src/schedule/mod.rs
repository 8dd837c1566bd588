//! Schedules: rules that add items at certain times.
//!
//! An engine only stores them, and replaces one by another in one atomic step if nobody else has done so before, adding
//! items in the same step ([`Swap`](crate::engine::Swap)). Everything else is decided here: no process leads, whoever
//! finds a schedule due computes what comes next, and of all who do so at once one succeeds.

mod body;
mod change;
mod cron_rule;
mod rule;
mod ticker;
mod ticks;
mod types;

pub(crate) use self::change::{Changes, Owned};
pub use self::rule::ScheduleRule;
pub(crate) use self::ticker::{begin_to_tick, tick_due};
pub(crate) use self::types::check_deployment;
pub use self::types::{Missed, PutSchedule, Schedule, ScheduleInfo, SyncedSchedules};
