//! Leasing.

use std::time::Duration;

use super::count_delta::CountDelta;
use super::database::Database;
use super::due::{move_due, next_due};
use super::expired::Walk;
use super::key_line::KeyLine;
use super::rate::{self, Meter};
use super::taking::Taking;
use super::{distribute, expiry, keys, settings, sweep};
use crate::Result;
use crate::engine::{LeaseRequest, Leased};
use crate::name::QueueName;
use crate::options::MAX_BATCH_BYTES;
use crate::pause::Paused;
use crate::settings::Setting;

/// Limit of the items that one lease moves, for each state they come from.
const MOVE_STEP: usize = 500;
/// Limits of the retained items that one lease deletes, and of their bytes.
const SWEEP_STEP: usize = 100;
const SWEEP_BYTES: i64 = 1 << 20;
/// Limit of the keys that one lease opens after the limit of the queue was raised.
const OPEN_STEP: usize = 100;
/// When to ask again if items that are due cannot be moved.
const STUCK: Duration = Duration::from_secs(1);

/// How long (ms) a schedule that is due may take to be processed.
const TICKING: i64 = 1_000;

/// What a lease has to know of a queue.
#[derive(Clone, Copy)]
struct Outlook {
    paused: Paused,
    /// Some items are retained or have expired, reserved times of unique keys are over, or the settings limit what the
    /// queue keeps.
    sweeps: bool,
    /// Some items have expired.
    expired: bool,
    /// Some keys are open: a held item of them may be leased.
    open: bool,
    /// The limit of keys was raised, or their rate changed.
    raised: bool,
    /// When the next key opens whose rate is used up.
    opens_key: Option<i64>,
    /// When the next item is due or expires.
    next: Option<i64>,
    /// When the next schedule is due; 0 if there are follow-ups to add.
    tick: Option<i64>,
    /// How much of the rate is used up.
    meter: Option<Meter>,
}

fn outlook(db: &Database, queue: i64) -> Result<Outlook> {
    const OUTLOOK: &str = "SELECT paused, kept_completed + kept_cancelled > 0 OR EXISTS
                (SELECT 1 FROM unique_key WHERE queue = ?1 AND until > 0 AND until <= ?2),
            (SELECT CAST(min(sort_key) AS INTEGER) FROM item
                WHERE queue = ?1 AND state = 1 AND sort_key <= 9223372036854775807),
            (SELECT CAST(min(sort_key) AS INTEGER) FROM item
                WHERE queue = ?1 AND state = 2 AND sort_key <= 9223372036854775807),
            EXISTS (SELECT 1 FROM extra WHERE queue = ?1 AND expires_at BETWEEN 0 AND ?2),
            EXISTS (SELECT 1 FROM open_key WHERE queue = ?1 AND sort_key <= 0), raised IS NOT NULL,
            CASE WHEN EXISTS (SELECT 1 FROM deferred WHERE queue = ?1) THEN 0 ELSE
                (SELECT min(due) FROM schedule WHERE queue = ?1 AND due IS NOT NULL) END
        FROM queue WHERE queue = ?1";
    let settings = settings::of(db, queue)?;
    let limits = [Setting::MaxDead, Setting::MaxDeadAge, Setting::MaxRetained];
    let limited = limits.into_iter().any(|limit| settings.get(limit) > 0);
    let meter = rate::meter(db, queue, settings.rate())?;
    let opens_key = match settings.key_rate() {
        Some(_) => keys::next_opening(db, queue)?,
        None => None,
    };
    db.run(OUTLOOK, |s| {
        s.query_row([queue, db.now as i64], |row| {
            let next: [Option<i64>; 2] = [row.get(2)?, row.get(3)?];
            let next = next.into_iter().flatten().min();
            let expired: bool = row.get(4)?;
            let sweeps = expired || limited || row.get(1)?;
            let paused = Paused::at(row.get(0)?, db.now);
            let (open, raised, tick) = (row.get(5)?, row.get(6)?, row.get(7)?);
            Ok(Outlook { paused, sweeps, expired, open, raised, opens_key, next, tick, meter })
        })
    })
}

/// The empty reply, if a lease would neither find nor move anything.
pub(super) fn peek(db: &mut Database, name: &QueueName) -> Result<Option<Leased>> {
    let nothing = |look_in, is_to_tick| Ok(Some(Leased { items: Vec::new(), look_in, is_to_tick }));
    let Some(queue) = db.queue(name)? else { return nothing(None, false) };
    let outlook = outlook(db, queue)?;
    let Outlook { paused, sweeps, open, next, .. } = outlook;
    let is_due = next.is_some_and(|at| at <= db.now as i64);
    let opens_key = paused == Paused::No && outlook.opens_key.is_some_and(|at| at <= db.now as i64);
    if is_due || opens_key || outlook.raised || (sweeps && sweep::any(db, queue)?) {
        return Ok(None);
    }
    let mut look = outlook.next_look(next, db.now);
    if let Some(opens) = outlook.opens_key.filter(|_| paused == Paused::No) {
        look = earlier(look, opens);
    }
    if paused == Paused::No && any_to_lease(db, queue, open)? {
        // Only a writer can note that the clock was set back.
        let Some(opens) = outlook.meter.filter(Meter::is_sound).and_then(|meter| meter.opens())
        else {
            return Ok(None);
        };
        look = earlier(look, opens as i64);
    }
    nothing(look.map(|at| db.time_until(at)), outlook.is_to_tick(db.now))
}

fn any_to_lease(db: &Database, queue: i64, open: bool) -> Result<bool> {
    const READY: &str = "SELECT 1 FROM item WHERE queue = ?1 AND state = 0 LIMIT 1";
    Ok(db.run(READY, |s| s.exists([queue]))? || (open && keys::any_open(db, queue)?))
}

pub(super) fn lease(
    db: &mut Database,
    name: &QueueName,
    wanted: &[LeaseRequest],
) -> Result<Leased> {
    let Some(queue) = db.queue(name)? else {
        return Ok(Leased { items: Vec::new(), look_in: None, is_to_tick: false });
    };
    let mut delta = CountDelta::default();
    let outlook = outlook(db, queue)?;
    let Outlook { paused, sweeps, expired, raised, mut next, .. } = outlook;
    // What moves or is deleted below may open keys, too.
    let open = outlook.open
        || outlook.opens_key.is_some()
        || sweeps
        || raised
        || next.is_some_and(|at| at <= db.now as i64);
    let (mut cut_short, mut stuck) = (false, false);
    if next.is_some_and(|at| at <= db.now as i64) {
        let moved = move_due(db, queue, MOVE_STEP, &mut delta)?;
        cut_short = moved.expired.max(moved.promoted) >= MOVE_STEP as u64;
        next = next_due(db, queue)?;
        stuck = !cut_short && next.is_some_and(|at| at <= db.now as i64);
    }
    if sweeps {
        sweep::sweep(db, queue, SWEEP_STEP, SWEEP_BYTES, &mut delta)?;
    }
    if raised {
        cut_short |= keys::open_raised(db, queue, OPEN_STEP)?;
    }
    let key_rate = settings::of(db, queue)?.key_rate();
    if key_rate.is_some() && paused == Paused::No {
        cut_short |= keys::open_in_time(db, queue)?;
    }
    // Usually the sweep has found all of them.
    let may_expire = expired && expiry::any_passed(db, queue)?;
    let mut taking = Taking {
        room: MAX_BATCH_BYTES as i64,
        mended: 0,
        may_expire,
        walk: Walk::default(),
        cut_short: false,
        line: KeyLine::new(key_rate),
        ahead: 0,
        items: Vec::new(),
    };
    if paused == Paused::No {
        taking.line.any_open = open && keys::any_open(db, queue)?;
        let mut allowed = outlook.meter.map_or(usize::MAX, |meter| meter.allowed());
        for group in wanted {
            let count = group.count.min(allowed);
            allowed -= count;
            if !taking.take(db, queue, LeaseRequest { count, ..*group }, &mut delta)? {
                break;
            }
        }
    }
    cut_short |= taking.cut_short;
    // A caller that wants nothing wants to know whether there is something.
    let allows = outlook.meter.is_none_or(|meter| meter.allowed() > 0);
    if wanted.is_empty() && paused == Paused::No && allows {
        cut_short |= any_to_lease(db, queue, open)?;
    }
    let items = taking.items;
    if let Some(meters) = taking.line.meters {
        meters.write(db, queue)?;
    }
    delta.leases += items.len() as i64;
    distribute::finish(db, queue, &delta)?;
    let ends = items.iter().map(|item| item.deadline_ms as i64);
    let mut next = outlook.next_look(next, db.now);
    if paused == Paused::No
        && key_rate.is_some()
        && let Some(opens) = keys::next_opening(db, queue)?
    {
        next = earlier(next, opens);
    }
    if paused == Paused::No
        && let Some(mut meter) = outlook.meter
    {
        meter.take(items.len());
        if !items.is_empty() || !meter.is_sound() {
            rate::write(db, queue, meter)?;
        }
        if let Some(opens) = meter.opens()
            && any_to_lease(db, queue, open)?
        {
            next = earlier(next, opens as i64);
        }
    }
    let look_in = match next.into_iter().chain(ends).min() {
        _ if cut_short => Some(Duration::ZERO),
        _ if stuck => Some(STUCK),
        next => next.map(|at| db.time_until(at)),
    };
    Ok(Leased { items, look_in, is_to_tick: outlook.is_to_tick(db.now) })
}

fn earlier(one: Option<i64>, other: i64) -> Option<i64> {
    Some(one.map_or(other, |at| at.min(other)))
}

impl Outlook {
    /// When a lease may find more than now.
    fn next_look(&self, next: Option<i64>, now: u64) -> Option<i64> {
        let next = match self.paused {
            Paused::Until(end) => earlier(next, end as i64),
            Paused::No | Paused::UntilResumed => next,
        };
        match self.tick {
            // If this client cannot process it, it is asked again then.
            Some(_) if self.is_to_tick(now) => earlier(next, now as i64 + TICKING),
            Some(at) => earlier(next, at),
            None => next,
        }
    }

    /// Whether a schedule is due.
    fn is_to_tick(&self, now: u64) -> bool {
        self.tick.is_some_and(|at| at <= now as i64)
    }
}
