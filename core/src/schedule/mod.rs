//! Schedules: rules that add items at certain times.

mod cron_rule;
mod rule;

pub use rule::ScheduleRule;
