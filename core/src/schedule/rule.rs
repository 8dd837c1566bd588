//! When a schedule adds items.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::cron_rule::CronRule;
use crate::error::show_id;
use crate::options::{MAX_INTERVAL, MAX_TICKS, MIN_INTERVAL, check_duration};
use crate::unix_time::{from_ms, to_ms};
use crate::{Error, Result};

/// When a schedule adds items: a cron expression in a time zone, or an interval.
///
/// Its text, which [`Display`](fmt::Display) writes and [`FromStr`] reads, is `cron ZONE EXPRESSION` or
/// `every MILLISECONDS`.
#[derive(Debug, Clone)]
pub struct ScheduleRule(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Cron(Box<CronRule>),
    /// In ms.
    Every(u64),
}

impl ScheduleRule {
    /// At the local times of a zone, by its IANA name such as `Europe/Berlin` or `UTC`.
    ///
    /// The expression has five fields (minute, hour, day of the month, month, day of the week) or six (a second in
    /// front). Each is `*` or a list of values, ranges and steps, such as `1,10-20,*/5`; months and days of the week
    /// may be named by three letters, and 0 and 7 are Sunday. `L` is the last day of a month, `5#2` the second Friday,
    /// `15W` the weekday nearest to a day. If both the day of the month and that of the week are given, one of them
    /// must match. It has at most 256 bytes.
    ///
    /// Where the clock is changed: a local time that is left out runs at the first instant afterwards, and one that
    /// comes twice runs once, the first time. A rule whose hours, minutes or seconds begin with `*` goes by the time
    /// that passes instead: it runs in both of two equal hours, and not in an hour that is left out.
    ///
    /// `Invalid` if the expression cannot be read or names a time that never comes, or there is no such zone.
    pub fn cron(expression: &str, zone: &str) -> Result<Self> {
        Ok(ScheduleRule(Kind::Cron(Box::new(CronRule::new(expression, zone)?))))
    }

    /// After each interval, in whole ms: 100 ms to 366 days. The first one begins when the schedule is put.
    ///
    /// `Invalid` for any other interval.
    pub fn every(interval: Duration) -> Result<Self> {
        let ms =
            check_duration("the interval of a schedule", interval, MIN_INTERVAL, MAX_INTERVAL)?;
        Ok(ScheduleRule(Kind::Every(ms)))
    }

    /// The next `count` times after this one, at most 1,000. Fewer: there is none before the year 5000. For an interval, the
    /// first one begins at `after`.
    pub fn times_after(&self, after: SystemTime, count: usize) -> Result<Vec<SystemTime>> {
        if count > MAX_TICKS {
            return Err(Error::invalid(format_args!("{count} times are more than {MAX_TICKS}")));
        }
        let next = |&last: &u64| self.next(last, last);
        let first = to_ms(after);
        Ok(std::iter::successors(next(&first), next).take(count).map(from_ms).collect())
    }

    /// The first tick later than `after` of the schedule that had, or began with, the tick `last`. In ms since 1970.
    pub(crate) fn next(&self, last: u64, after: u64) -> Option<u64> {
        match &self.0 {
            Kind::Every(interval) => {
                let passed = after.checked_sub(last).map_or(0, |passed| passed / interval);
                last.checked_add((passed + 1).checked_mul(*interval)?)
            }
            Kind::Cron(rule) => {
                let after = Timestamp::from_millisecond(after.try_into().ok()?).ok()?;
                rule.next(after)?.as_millisecond().try_into().ok()
            }
        }
    }
}

impl PartialEq for ScheduleRule {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Every(a), Kind::Every(b)) => a == b,
            (Kind::Cron(a), Kind::Cron(b)) => {
                (a.expression(), a.zone()) == (b.expression(), b.zone())
            }
            _ => false,
        }
    }
}

impl Eq for ScheduleRule {}

impl fmt::Display for ScheduleRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Cron(rule) => write!(f, "cron {} {}", rule.zone(), rule.expression()),
            Kind::Every(ms) => write!(f, "every {ms}"),
        }
    }
}

impl FromStr for ScheduleRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unreadable = || {
            let shown = show_id(text.as_bytes());
            Error::invalid(format_args!("the schedule rule {shown} cannot be read"))
        };
        match text.split_once(' ').ok_or_else(unreadable)? {
            ("cron", rest) => {
                let (zone, expression) = rest.split_once(' ').ok_or_else(unreadable)?;
                ScheduleRule::cron(expression, zone)
            }
            ("every", ms) => {
                ScheduleRule::every(Duration::from_millis(ms.parse().map_err(|_| unreadable())?))
            }
            _ => Err(unreadable()),
        }
    }
}
