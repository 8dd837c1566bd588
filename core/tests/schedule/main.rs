//! When schedules add items: beside another library, and at changes of the clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use leaseq::{ErrorKind, ScheduleRule};

fn time(text: &str) -> SystemTime {
    text.parse::<Timestamp>().unwrap().into()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The next times, as local times of the zone.
fn local_times(zone: &str, expression: &str, after: &str, count: usize) -> Vec<String> {
    let rule = ScheduleRule::cron(expression, zone).unwrap();
    let times = rule.times_after(time(after), count).unwrap();
    let show = |time| {
        let timestamp = Timestamp::try_from(time).unwrap();
        timestamp
            .to_zoned(jiff::tz::TimeZone::get(zone).unwrap())
            .strftime("%d %H:%M%:z")
            .to_string()
    };
    times.into_iter().map(show).collect()
}

/// `ticks.txt` is what an independent library says; `reference.py` wrote it.
#[test]
fn a_year_of_ticks_is_what_another_library_computes() {
    let (begin, end) = (time("2026-01-01T00:00:00Z"), time("2027-01-01T00:00:00Z"));
    for line in include_str!("ticks.txt").lines() {
        let [zone, expression, count, checksum, near] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let rule = ScheduleRule::cron(expression, zone).unwrap();
        let mut ticks: Vec<u64> = Vec::new();
        let mut last = begin;
        'year: loop {
            for tick in rule.times_after(last, 1_000).unwrap() {
                if tick >= end {
                    break 'year;
                }
                last = tick;
                ticks.push(seconds(tick));
            }
        }
        for tick in near.split_ascii_whitespace() {
            let tick = tick.parse().unwrap();
            assert!(ticks.contains(&tick), "{zone} {expression}: {tick} is missing");
        }
        let sum = ticks.iter().fold(0, |sum, tick| (sum * 31 + tick) % 1_000_000_007);
        assert_eq!(ticks.len().to_string(), count, "{zone} {expression}");
        assert_eq!(sum.to_string(), checksum, "{zone} {expression}");
    }
}

#[test]
fn a_local_time_that_is_left_out_runs_at_the_first_instant_afterwards() {
    // Berlin: 02:00 to 03:00 is left out on 29 March 2026.
    let after = "2026-03-28T12:00:00Z";
    let times = local_times("Europe/Berlin", "30 2 * * *", after, 2);
    assert_eq!(times, ["29 03:00+02:00", "30 02:30+02:00"]);
    // Several become one.
    let times = local_times("Europe/Berlin", "0,15,30 2,3 * * *", after, 4);
    assert_eq!(times, ["29 03:00+02:00", "29 03:15+02:00", "29 03:30+02:00", "30 02:00+02:00"]);
    // Havana leaves out midnight.
    let times = local_times("America/Havana", "0 0 * * *", "2026-03-07T12:00:00Z", 2);
    assert_eq!(times, ["08 01:00-04:00", "09 00:00-04:00"]);
    // Lord Howe changes by half an hour.
    let times = local_times("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00Z", 2);
    assert_eq!(times, ["04 02:30+11:00", "05 02:15+11:00"]);
}

#[test]
fn a_local_time_that_comes_twice_runs_once() {
    // Berlin: 02:00 to 03:00 comes twice on 25 October 2026.
    let after = "2026-10-24T12:00:00Z";
    let times = local_times("Europe/Berlin", "30 2 * * *", after, 2);
    assert_eq!(times, ["25 02:30+02:00", "26 02:30+01:00"]);
    let times = local_times("Europe/Berlin", "0,30 2 * * *", after, 3);
    assert_eq!(times, ["25 02:00+02:00", "25 02:30+02:00", "26 02:00+01:00"]);
    // Also if the search begins between the two.
    let times = local_times("Europe/Berlin", "0,30 2 * * *", "2026-10-25T00:40:00Z", 1);
    assert_eq!(times, ["26 02:00+01:00"]);
}

#[test]
fn wildcards_go_by_the_time_that_passes() {
    let times = local_times("Europe/Berlin", "0 * * * *", "2026-03-29T00:00:00Z", 2);
    assert_eq!(times, ["29 03:00+02:00", "29 04:00+02:00"]);
    let times = local_times("Europe/Berlin", "*/30 * * * *", "2026-10-24T23:59:00Z", 5);
    let both = ["25 02:00+02:00", "25 02:30+02:00", "25 02:00+01:00", "25 02:30+01:00"];
    assert_eq!(times[..4], both);
}

#[test]
fn an_interval_keeps_its_phase() {
    let rule = ScheduleRule::every(Duration::from_millis(2_500)).unwrap();
    let begin = time("2026-01-01T00:00:00Z");
    let times = rule.times_after(begin, 3).unwrap();
    let after: Vec<u128> =
        times.iter().map(|time| time.duration_since(begin).unwrap().as_millis()).collect();
    assert_eq!(after, [2_500, 5_000, 7_500]);
}

#[test]
fn a_rule_is_its_text() {
    for text in ["cron UTC 0 9 * * mon-fri", "cron Europe/Berlin */5 0 9 1 1 *", "every 90000"] {
        let rule: ScheduleRule = text.parse().unwrap();
        assert_eq!(rule.to_string(), text);
        assert_eq!(rule, text.parse().unwrap());
    }
    let rule = ScheduleRule::cron(" 0  9 * * 1 ", "europe/berlin").unwrap();
    assert_eq!(rule.to_string(), "cron Europe/Berlin 0 9 * * 1");
}

#[test]
fn what_cannot_be_a_rule_is_refused() {
    let cron = |expression: &str, zone: &str| ScheduleRule::cron(expression, zone).map(|_| ());
    let every = |ms| ScheduleRule::every(Duration::from_millis(ms)).map(|_| ());
    let long = format!("0 0 1 1 {}", "1,".repeat(130));
    for (refused, says) in [
        (cron("* * * *", "UTC"), "has 4 fields, not 5 or 6"),
        (cron("* * * * * * 2027", "UTC"), "has 7 fields"),
        (cron("@daily", "UTC"), "has 1 fields"),
        (cron("61 * * * *", "UTC"), "cannot be read"),
        (cron("* * * foo *", "UTC"), "cannot be read"),
        (cron("0 0 30 2 *", "UTC"), "never comes"),
        (cron("0 0 * * *", "Europe/Nowhere"), "there is no time zone \"Europe/Nowhere\""),
        (cron("0 0 * * *", ""), "there is no time zone \"\""),
        // Another machine has another one, or none.
        (cron("0 0 * * *", "localtime"), "there is no time zone"),
        (cron("0 0 * * *", "Right/UTC"), "there is no time zone"),
        (cron("0 0 * * *", "posix/UTC"), "there is no time zone"),
        (cron("0 0 * * *", &"x".repeat(100_000)), "xxx…\""),
        (cron(&long, "UTC"), "longer than 256"),
        (every(99), "not between 100 ms and 366 days"),
        (every(367 * 86_400_000), "not between 100 ms and 366 days"),
        ("sometimes 5".parse::<ScheduleRule>().map(|_| ()), "cannot be read"),
        ("every 1h".parse::<ScheduleRule>().map(|_| ()), "cannot be read"),
        ("x".repeat(100_000).parse::<ScheduleRule>().map(|_| ()), "xxx…\" cannot be read"),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = error.to_string();
        assert!(text.contains(says) && text.len() < 400, "{error}");
    }
    let rule = ScheduleRule::every(Duration::from_secs(1)).unwrap();
    assert_eq!(rule.times_after(UNIX_EPOCH, 1_001).unwrap_err().kind(), ErrorKind::Invalid);
}
