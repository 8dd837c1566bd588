//! Cron rules in a time zone.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};

use crate::error::show_id;
use crate::options::MAX_CRON;
use crate::{Error, Result};

/// A cron expression and the zone whose local time it means.
#[derive(Debug, Clone)]
pub(super) struct CronRule {
    expression: String,
    cron: Cron,
    zone: TimeZone,
    /// Whether the rule goes by the time that passes, rather than by the local clock: the hours, minutes or seconds
    /// begin with `*`. Cron has always made this difference where the clock is changed.
    is_wildcard: bool,
}

/// A zone that has this name on every machine.
fn zone_named(name: &str) -> Result<TimeZone> {
    let of_this_machine = ["localtime", "posixrules"].iter().any(|it| name.eq_ignore_ascii_case(it))
        // Copies, the latter with leap seconds.
        || ["posix/", "right/"].iter().any(|it| name.to_ascii_lowercase().starts_with(it));
    let zone = TimeZone::get(name).ok().filter(|_| !of_this_machine);
    zone.ok_or_else(|| {
        Error::invalid(format_args!("there is no time zone {}", show_id(name.as_bytes())))
    })
}

impl CronRule {
    pub(super) fn new(expression: &str, zone: &str) -> Result<Self> {
        let invalid = |reason: &dyn std::fmt::Display| {
            Error::invalid(format_args!("the cron expression {expression:?} {reason}"))
        };
        if expression.len() > MAX_CRON {
            let length = expression.len();
            return Err(Error::invalid(format_args!(
                "a cron expression of {length} bytes is longer than {MAX_CRON}"
            )));
        }
        let fields: Vec<&str> = expression.split_ascii_whitespace().collect();
        if !matches!(fields.len(), 5 | 6) {
            return Err(invalid(&format_args!("has {} fields, not 5 or 6", fields.len())));
        }
        let expression = fields.join(" ");
        let cron = CronParser::builder()
            .seconds(Seconds::Optional)
            .year(Year::Disallowed)
            .build()
            .parse(&expression)
            .map_err(|error| invalid(&format_args!("cannot be read: {error}")))?;
        let zone = zone_named(zone)?;
        let is_wildcard = fields[..fields.len() - 3].iter().any(|field| field.starts_with('*'));
        let rule = CronRule { expression, cron, zone, is_wildcard };
        if rule.next(Timestamp::UNIX_EPOCH).is_none() {
            return Err(invalid(&"names a time that never comes"));
        }
        Ok(rule)
    }

    pub(super) fn expression(&self) -> &str {
        &self.expression
    }

    pub(super) fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The first time after this one. None: there is none before the year 5000.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after = after.to_zoned(self.zone.clone());
        if self.is_wildcard {
            // It runs in both of two equal hours, and not in an hour that is left out.
            return self.occurrence(&after).map(|next| next.timestamp());
        }
        // The local clock, as if it were never changed.
        let mut local = after.datetime().to_zoned(TimeZone::UTC).ok()?;
        loop {
            local = self.occurrence(&local)?;
            let next = self.first_instant(local.datetime())?;
            if next > after.timestamp() {
                return Some(next);
            }
        }
    }

    fn occurrence(&self, after: &Zoned) -> Option<Zoned> {
        self.cron.find_next_occurrence(after, false).ok()
    }

    /// When the local clock shows this time first, or, if it leaves it out, a later one.
    fn first_instant(&self, local: DateTime) -> Option<Timestamp> {
        let ambiguous = self.zone.to_ambiguous_timestamp(local);
        if let AmbiguousOffset::Gap { before, .. } = ambiguous.offset() {
            let without_change = before.to_timestamp(local).ok()?;
            // The change itself may be at that very instant.
            let after = without_change.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
            return self.zone.preceding(after).next().map(|change| change.timestamp());
        }
        ambiguous.earlier().ok()
    }
}
