//! Settings of a queue, and pausing it.

use std::iter;

use rusqlite::{Row, params, params_from_iter};

use super::database::Database;
use super::rate;
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::name::QueueName;
use crate::options::MAX_PAUSE;
use crate::pause::{Begun, Pause, Paused};
use crate::settings::{Configure, Setting, Settings, Stored};
use crate::unix_time::to_ms;

const READ: &str =
    "SELECT max_attempts, retain, max_dead, max_retained, max_dead_age, max_retained_age,
    key_limit, events, rate, rate_period, rate_burst, key_rate, key_rate_period, key_rate_burst,
    revision, paused, swept, pause_note FROM queue WHERE queue = ?1";

/// The settings of a queue. What is out of range counts as not set.
pub(super) fn of(db: &Database, queue: i64) -> Result<Stored> {
    db.known_settings.get_or(queue, || db.run(READ, |s| s.query_row([queue], stored)))
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let mut stored = Stored::default();
    for (column, setting) in Setting::ALL.into_iter().enumerate() {
        stored.set(setting, u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0));
    }
    Ok(stored.whole())
}

fn read(db: &Database, queue: i64) -> Result<(Stored, Settings)> {
    let (stored, revision, paused, note) = db.run(READ, |s| {
        s.query_row([queue], |row| {
            let stored = stored(row)?;
            let revision = u64::try_from(row.get::<_, i64>(14)?).unwrap_or(0);
            Ok((stored, revision, Paused::at(row.get(15)?, db.now), row.get::<_, String>(17)?))
        })
    })?;
    let opens = rate::meter(db, queue, stored.rate())?.and_then(|meter| meter.opens());
    Ok((stored, Settings::new(stored, revision, paused, &note, opens)))
}

/// For how long an item is retained that ends now, in ms. `own`: what its completion says, or else the item.
pub(super) fn retention(db: &Database, queue: i64, own: Option<i64>) -> Result<i64> {
    let own = own.and_then(|time| u64::try_from(time).ok());
    Ok(of(db, queue)?.retention(own) as i64)
}

pub(super) fn settings(db: &mut Database, name: &QueueName) -> Result<Settings> {
    match db.queue(name)? {
        Some(queue) => Ok(read(db, queue)?.1),
        None => Ok(Settings::default()),
    }
}

pub(super) fn configure(
    db: &mut Database,
    name: &QueueName,
    change: &Configure,
) -> Result<Option<Settings>> {
    let (before, settings) = match db.queue(name)? {
        Some(queue) => read(db, queue)?,
        None => Default::default(),
    };
    if change.revision.is_some_and(|expected| expected != settings.revision) {
        return Ok(None);
    }
    let mut after = before;
    for (setting, value) in &change.changes {
        after.set(*setting, *value);
    }
    if after == before {
        return Ok(Some(settings));
    }
    let queue = db.queue_or_new(name)?;
    // As on Redis, it follows the clock.
    let revision = (settings.revision + 1).max(db.now);
    rate::change(db, queue, before.rate(), after.rate())?;
    if after.key_limit() > before.key_limit() || after.key_rate() != before.key_rate() {
        raise(db, queue)?;
    }
    if (after.get(Setting::Events) > 0) != (before.get(Setting::Events) > 0) {
        switch_events(db, queue)?;
    }
    write(db, queue, after, revision as i64)?;
    Ok(Some(read(db, queue)?.1))
}

/// The queue has a higher limit, or another rate of keys: steps of leases and cleans open its keys.
pub(super) fn raise(db: &Database, queue: i64) -> Result<()> {
    db.run("UPDATE queue SET raised = x'' WHERE queue = ?1", |s| s.execute([queue]))?;
    Ok(())
}

/// The events are switched on or off. A reader learns later that it has missed some.
fn switch_events(db: &mut Database, queue: i64) -> Result<()> {
    const BEGIN: &str = "UPDATE queue SET event = max(event, ?2) WHERE queue = ?1";
    db.run("DELETE FROM event WHERE queue = ?1", |s| s.execute([queue]))?;
    db.run(BEGIN, |s| s.execute([queue, first_event(db.now)]))?;
    Ok(())
}

/// The same as on Redis: 256 for each ms since 2026.
fn first_event(now: u64) -> i64 {
    (now as i64).saturating_sub(1_767_225_600_000).max(0) * 256
}

fn write(db: &mut Database, queue: i64, stored: Stored, revision: i64) -> Result<()> {
    const WRITE: &str =
        "UPDATE queue SET max_attempts = ?2, retain = ?3, max_dead = ?4, max_retained = ?5,
        max_dead_age = ?6, max_retained_age = ?7, key_limit = ?8, events = ?9, rate = ?10,
        rate_period = ?11, rate_burst = ?12, key_rate = ?13, key_rate_period = ?14,
        key_rate_burst = ?15, revision = ?16 WHERE queue = ?1";
    let settings = Setting::ALL.map(|setting| stored.get(setting) as i64);
    let row = iter::once(queue).chain(settings).chain([revision]);
    db.run(WRITE, |s| s.execute(params_from_iter(row)))?;
    db.forget_queues()
}

pub(super) fn set_paused(db: &mut Database, name: &QueueName, pause: &Pause) -> Result<()> {
    let (until, note) = match pause {
        Pause::End => (0, String::new()),
        Pause::Begin { duration_ms, note } => {
            (duration_ms.map_or(1, |ms| db.now + ms), note.at(db.now))
        }
    };
    // A queue that does not exist is not paused.
    let queue = match db.queue(name)? {
        Some(queue) => queue,
        None if *pause == Pause::End => return Ok(()),
        None => db.queue_or_new(name)?,
    };
    const PAUSE: &str = "UPDATE queue SET paused = ?2, pause_note = ?3 WHERE queue = ?1";
    db.run(PAUSE, |s| s.execute(params![queue, until as i64, note]))?;
    Ok(())
}

/// Checks that settings, revision and pause can be read, and mends those that cannot. It ends no pause.
pub(super) fn check(
    db: &mut Database,
    name: &QueueName,
    mend: bool,
    report: &mut DeepReport,
) -> Result<()> {
    let Some(queue) = db.queue(name)? else { return Ok(()) };
    let (found, note): ([i64; 17], String) = db.run(READ, |s| {
        s.query_row([queue], |row| {
            let mut found = [0; 17];
            for (column, value) in found.iter_mut().enumerate() {
                *value = row.get(column)?;
            }
            Ok((found, row.get(17)?))
        })
    })?;
    let readable = of(db, queue)?;
    for (setting, value) in Setting::ALL.into_iter().zip(found) {
        let wrong = value != readable.get(setting) as i64;
        let what = format_args!("{} is {value}", setting.name());
        report.note(Damage::BadSettings, u64::from(wrong), mend, what);
    }
    let [.., revision, paused, swept] = found;
    let now = db.now as i64;
    // The clock may have been set back since the pause began, so one that is too long is shortened. Nobody knows how
    // long one was meant to be that cannot be read.
    let latest = now.saturating_add(MAX_PAUSE.as_millis() as i64);
    let pause = if paused < 0 { 1 } else { latest };
    // A revision that nobody has seen.
    let next_revision = revision.max(0).saturating_add(1).max(now);
    let others = [
        ("revision", revision, revision < 0, next_revision),
        ("paused", paused, !(0..=latest + 60_000).contains(&paused), pause),
        ("swept", swept, swept < 0, 0),
    ];
    for (column, value, wrong, right) in others {
        let what = format_args!("{column} is {value}");
        report.note(Damage::BadSettings, u64::from(wrong), mend, what);
        if wrong && mend {
            let set = format!("UPDATE queue SET {column} = ?2 WHERE queue = ?1");
            db.run(&set, |s| s.execute([queue, right]))?;
        }
    }
    // The clock may have been set back.
    let begun = Begun::read(&note).at.map(to_ms);
    let wrong = !note.is_empty() && begun.is_none_or(|at| at > db.now + 60_000);
    let what = format_args!("pause_note is {note:?}");
    report.note(Damage::BadSettings, u64::from(wrong), mend, what);
    if wrong && mend {
        db.run("UPDATE queue SET pause_note = '' WHERE queue = ?1", |s| s.execute([queue]))?;
    }
    if mend && found[..14] != Setting::ALL.map(|setting| readable.get(setting) as i64) {
        write(db, queue, readable, next_revision)?;
    }
    rate::check(db, queue, readable.rate(), mend, report)?;
    Ok(())
}
