//! Rules of schedules, taken apart.

use std::time::Duration;

use leaseq::ScheduleRule;

/// The rule as Python has it: cron expression, zone, interval in seconds.
pub(crate) fn rule_parts(rule: &ScheduleRule) -> (Option<String>, Option<String>, Option<f64>) {
    // Its text is `cron ZONE EXPRESSION` or `every MILLISECONDS`.
    let text = rule.to_string();
    match text.split_once(' ') {
        Some(("every", ms)) => {
            (None, None, ms.parse().ok().map(|ms| Duration::from_millis(ms).as_secs_f64()))
        }
        Some((_, rest)) => {
            let (zone, expression) = rest.split_once(' ').unwrap_or((rest, ""));
            (Some(expression.to_owned()), Some(zone.to_owned()), None)
        }
        None => (None, None, None),
    }
}
