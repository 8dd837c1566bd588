//! The replies of the core, as Python values.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use leaseq::{
    Counts, DeepReport, Ending, FollowUp, ItemInfo, KeyInfo, LightReport, Missed, Outcome, Page,
    PutSchedule, Rate, Releases, ScheduleInfo, Settings, State, SyncedSchedules, Trigger,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple, PyType};

use crate::class::class;
use crate::convert::{id_text, state_member};
use crate::error::exception;
use crate::rule_parts::rule_parts;

/// Which interface an answer is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flavor {
    Blocking,
    Asyncio,
}

/// Makes an object of a class of this library.
type MakeObject = Box<dyn FnOnce(Python<'_>, Flavor) -> PyResult<Bound<'_, PyAny>> + Send>;

pub(crate) enum Answer {
    Counts(Counts),
    Deep(DeepReport),
    Flag(bool),
    Flags(Vec<bool>),
    Info(Option<Box<ItemInfo>>),
    Infos(Vec<Option<ItemInfo>>),
    Keys(Vec<KeyInfo>),
    Light(LightReport),
    Names(Vec<String>),
    Nothing,
    Number(u64),
    Object(MakeObject),
    /// Nothing for an item that has not ended.
    Outcome(Option<Outcome>),
    Outcomes(Vec<leaseq::Result<Option<Outcome>>>),
    Page(Page),
    Put(PutSchedule),
    Schedules(Vec<ScheduleInfo>),
    /// Nothing for a change that was refused.
    Settings(Option<Box<Settings>>),
    State(State),
    /// Nothing for a lease that is lost.
    States(Vec<Option<State>>),
    Synced(SyncedSchedules),
    Text(String),
    Time(SystemTime),
    Times(Vec<Option<SystemTime>>),
}

macro_rules! value {
    ($py:expr, $name:literal) => {
        class!($py, "leaseq._values", $name)
    };
}

/// 9999-12-31, in seconds since 1970.
const LAST_DAY: Duration = Duration::from_secs(253_402_214_400);

/// The time, or the last day that `datetime` can express: one damaged item must not hide the others.
pub(crate) fn expressible(time: SystemTime) -> SystemTime {
    time.min(SystemTime::UNIX_EPOCH + LAST_DAY)
}

impl Answer {
    pub(crate) fn into_python(self, py: Python<'_>, flavor: Flavor) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Answer::Counts(counts) => counts_value(py, counts)?,
            Answer::Deep(report) => deep_value(py, report)?,
            Answer::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
            Answer::Flags(flags) => flags.into_pyobject(py)?,
            Answer::Info(None) | Answer::Nothing => py.None().into_bound(py),
            Answer::Info(Some(info)) => info_value(py, *info)?,
            Answer::Infos(infos) => {
                let values = infos.into_iter().map(|info| match info {
                    Some(info) => info_value(py, info),
                    None => Ok(py.None().into_bound(py)),
                });
                values.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?
            }
            Answer::Keys(keys) => {
                let values = keys.into_iter().map(|key| key_value(py, key));
                values.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?
            }
            Answer::Light(report) => {
                let next_in = report.next_in.map(|next_in| next_in.as_secs_f64());
                let numbers =
                    (report.promoted, report.expired, report.died, report.removed, next_in);
                value!(py, "LightReport")?.call1(numbers)?
            }
            Answer::Names(names) => names.into_pyobject(py)?,
            Answer::Number(number) => number.into_pyobject(py)?.into_any(),
            Answer::Object(make) => make(py, flavor)?,
            Answer::Outcome(found) => outcome_value(py, found)?,
            Answer::Outcomes(all) => {
                let values = all.into_iter().map(|found| match found {
                    Ok(found) => outcome_value(py, found),
                    Err(error) => {
                        Ok(exception(py, &error).into_value(py).into_bound(py).into_any())
                    }
                });
                values.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?
            }
            Answer::Page(page) => page_value(py, page)?,
            Answer::Put(done) => put_value(py, done)?,
            Answer::Schedules(all) => {
                let values = all.into_iter().map(|schedule| schedule_value(py, schedule));
                values.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?
            }
            Answer::Settings(None) => py.None().into_bound(py),
            Answer::Settings(Some(settings)) => settings_value(py, *settings)?,
            Answer::State(state) => state_member(py, state)?,
            Answer::States(states) => {
                let members = states.into_iter().map(|state| match state {
                    Some(state) => state_member(py, state),
                    None => Ok(py.None().into_bound(py)),
                });
                members.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?
            }
            Answer::Synced(done) => {
                let SyncedSchedules { added, updated, removed, unchanged, outdated, .. } = done;
                let names = (added, updated, removed, unchanged, outdated);
                value!(py, "SyncedSchedules")?.call1(names)?
            }
            Answer::Text(text) => text.into_pyobject(py)?.into_any(),
            Answer::Time(time) => expressible(time).into_pyobject(py)?.into_any(),
            Answer::Times(times) => {
                let times = times.into_iter().map(|time| time.map(expressible));
                times.collect::<Vec<_>>().into_pyobject(py)?
            }
        })
    }
}

fn counts_value(py: Python<'_>, counts: Counts) -> PyResult<Bound<'_, PyAny>> {
    let totals = counts.totals;
    let totals = value!(py, "Totals")?.call1((
        totals.added,
        totals.leased,
        totals.completed,
        totals.expired,
        totals.failed,
        totals.died,
        totals.removed,
        totals.replaced,
        totals.expired_unleased,
        totals.cancelled,
    ))?;
    value!(py, "Counts")?.call1((
        counts.ready,
        counts.ready_by_priority.to_vec().into_pyobject(py)?.cast_into::<PyList>()?.to_tuple(),
        counts.delayed,
        counts.leased,
        counts.dead,
        counts.completed,
        counts.cancelled,
        counts.held,
        counts.oldest_ready.map(|age| age.as_secs_f64()),
        counts.paused,
        counts.rate_limited,
        totals,
    ))
}

fn key_value(py: Python<'_>, key: KeyInfo) -> PyResult<Bound<'_, PyAny>> {
    let KeyInfo { key, limit, own_limit, leased, .. } = key;
    value!(py, "KeyInfo")?.call1((id_text(py, &key)?, limit, own_limit, leased))
}

/// `None` for an item that has not ended.
fn outcome_value(py: Python<'_>, outcome: Option<Outcome>) -> PyResult<Bound<'_, PyAny>> {
    let Some(outcome) = outcome else { return Ok(py.None().into_bound(py)) };
    let kind = value!(py, "OutcomeKind")?.call1((outcome.as_str(),))?;
    let result = outcome.result().map(|result| PyBytes::new(py, result));
    let retained = matches!(outcome, Outcome::Completed { retained: true, .. });
    value!(py, "Outcome")?.call1((kind, result, outcome.error(), retained))
}

pub(crate) fn rate_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    value!(py, "Rate")
}

fn settings_value(py: Python<'_>, settings: Settings) -> PyResult<Bound<'_, PyAny>> {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let rate = |rate: Option<Rate>| {
        let class = rate_class(py)?;
        rate.map(|rate| class.call1((rate.count, rate.period.as_secs_f64(), rate.burst)))
            .transpose()
    };
    // A tuple of Rust has up to 12 elements.
    let more = PyDict::new(py);
    more.set_item(intern!(py, "paused_until"), settings.paused_until.map(expressible))?;
    more.set_item(intern!(py, "paused_at"), settings.paused_at.map(expressible))?;
    more.set_item(intern!(py, "paused_by"), settings.paused_by)?;
    more.set_item(intern!(py, "pause_reason"), settings.pause_reason)?;
    more.set_item(intern!(py, "rate_limited_until"), settings.rate_limited_until.map(expressible))?;
    let given = (
        settings.max_attempts,
        settings.retain.as_secs_f64(),
        settings.max_dead,
        settings.max_retained,
        seconds(settings.max_dead_age),
        seconds(settings.max_retained_age),
        settings.key_limit,
        settings.events,
        rate(settings.rate)?,
        rate(settings.key_rate)?,
        settings.revision,
        settings.paused,
    );
    value!(py, "Settings")?.call(given, Some(&more))
}

pub(crate) fn schedule_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    value!(py, "Schedule")
}

fn put_value(py: Python<'_>, done: PutSchedule) -> PyResult<Bound<'_, PyAny>> {
    let word = match done {
        PutSchedule::Added => "added",
        PutSchedule::Updated => "updated",
        PutSchedule::Unchanged => "unchanged",
        _ => "outdated",
    };
    value!(py, "PutSchedule")?.call1((word,))
}

fn schedule_value(py: Python<'_>, info: ScheduleInfo) -> PyResult<Bound<'_, PyAny>> {
    let (cron, zone, every) = rule_parts(&info.rule);
    let missed = match info.missed {
        Missed::Skip => intern!(py, "skip").clone().into_any(),
        Missed::All(most) => most.into_pyobject(py)?.into_any(),
        _ => intern!(py, "one").clone().into_any(),
    };
    // By name: there are more fields than a tuple can have.
    let fields = PyDict::new(py);
    fields.set_item(intern!(py, "name"), info.name)?;
    fields.set_item(intern!(py, "data"), PyBytes::new(py, &info.data))?;
    fields.set_item(intern!(py, "cron"), cron)?;
    fields.set_item(intern!(py, "zone"), zone)?;
    fields.set_item(intern!(py, "every"), every)?;
    fields.set_item(intern!(py, "owner"), info.owner)?;
    fields.set_item(intern!(py, "revision"), info.revision)?;
    fields.set_item(intern!(py, "missed"), missed)?;
    fields.set_item(intern!(py, "grace"), info.grace.map(|grace| grace.as_secs_f64()))?;
    fields.set_item(intern!(py, "overlap"), info.overlap)?;
    fields.set_item(intern!(py, "priority"), info.priority)?;
    fields.set_item(intern!(py, "delay"), info.delay.as_secs_f64())?;
    fields.set_item(intern!(py, "max_attempts"), info.max_attempts)?;
    let seconds = |time: Duration| (!time.is_zero()).then_some(time.as_secs_f64());
    fields.set_item(intern!(py, "retain"), seconds(info.retain))?;
    fields.set_item(intern!(py, "unique_for"), seconds(info.unique_for))?;
    fields.set_item(intern!(py, "expires_in"), info.expires_in.map(|time| time.as_secs_f64()))?;
    fields.set_item(intern!(py, "replace"), info.replace)?;
    fields.set_item(intern!(py, "successor"), info.successor)?;
    let text = |key: Option<Bytes>| key.map(|key| id_text(py, &key)).transpose();
    fields.set_item(intern!(py, "unique"), text(info.unique)?)?;
    fields.set_item(intern!(py, "key"), text(info.key)?)?;
    fields.set_item(intern!(py, "paused"), info.paused)?;
    fields.set_item(intern!(py, "paused_at"), info.paused_at.map(expressible))?;
    fields.set_item(intern!(py, "paused_by"), info.paused_by)?;
    fields.set_item(intern!(py, "pause_reason"), info.pause_reason)?;
    fields.set_item(intern!(py, "next"), info.next.map(expressible))?;
    let last_id = info.last_id.map(|id| id_text(py, &id)).transpose()?;
    fields.set_item(intern!(py, "last_id"), last_id)?;
    value!(py, "ScheduleInfo")?.call((), Some(&fields))
}

fn info_value(py: Python<'_>, info: ItemInfo) -> PyResult<Bound<'_, PyAny>> {
    // By name: there are more fields than a tuple can have.
    let fields = PyDict::new(py);
    fields.set_item(intern!(py, "id"), id_text(py, &info.id)?)?;
    fields.set_item(intern!(py, "data"), PyBytes::new(py, &info.data))?;
    fields.set_item(intern!(py, "state"), state_member(py, info.state)?)?;
    fields.set_item(intern!(py, "priority"), info.priority)?;
    fields.set_item(intern!(py, "max_attempts"), info.max_attempts)?;
    fields.set_item(intern!(py, "failures"), info.failures)?;
    fields.set_item(intern!(py, "expiries"), info.expiries)?;
    fields.set_item(intern!(py, "last_error"), info.last_error)?;
    fields.set_item(intern!(py, "endings"), endings_value(py, &info.endings)?)?;
    fields.set_item(intern!(py, "releases"), releases_value(py, info.releases.as_ref())?)?;
    fields.set_item(intern!(py, "generation"), info.generation)?;
    fields.set_item(intern!(py, "added_at"), expressible(info.added_at))?;
    fields.set_item(intern!(py, "at"), info.at.map(expressible))?;
    fields.set_item(intern!(py, "ended_at"), info.ended_at.map(expressible))?;
    fields.set_item(intern!(py, "result"), info.result.map(|result| PyBytes::new(py, &result)))?;
    let retain = (!info.retain.is_zero()).then_some(info.retain.as_secs_f64());
    fields.set_item(intern!(py, "retain"), retain)?;
    let unique = info.unique.map(|key| id_text(py, &key)).transpose()?;
    fields.set_item(intern!(py, "unique"), unique)?;
    let key = info.key.map(|key| id_text(py, &key)).transpose()?;
    fields.set_item(intern!(py, "key"), key)?;
    fields.set_item(intern!(py, "expires_at"), info.expires_at.map(expressible))?;
    let progress = info.progress.map(|progress| PyBytes::new(py, &progress));
    fields.set_item(intern!(py, "progress"), progress)?;
    fields.set_item(intern!(py, "cancel_requested"), info.cancel_requested)?;
    let follow_ups = match info.follow_ups[..] {
        [] => PyList::empty(py).into_any(),
        ref all => py.import("json")?.call_method1("loads", (FollowUp::all_to_json(all),))?,
    };
    fields.set_item(intern!(py, "follow_ups"), follow_ups)?;
    value!(py, "ItemInfo")?.call((), Some(&fields))
}

/// How the last leases of an item ended.
pub(crate) fn endings_value<'py>(
    py: Python<'py>,
    endings: &[Ending],
) -> PyResult<Bound<'py, PyTuple>> {
    let endings = endings.iter().map(|ending| {
        let kind = value!(py, "EndingKind")?.call1((ending.kind.as_str(),))?;
        value!(py, "Ending")?.call1((expressible(ending.at), kind))
    });
    PyTuple::new(py, endings.collect::<PyResult<Vec<_>>>()?)
}

/// The releases of an item for one reason, if there was one.
pub(crate) fn releases_value<'py>(
    py: Python<'py>,
    releases: Option<&Releases>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let value = |releases: &Releases| {
        let first_at = expressible(releases.first_at);
        value!(py, "Releases")?.call1((&releases.reason, releases.count, first_at))
    };
    releases.map(value).transpose()
}

/// The item that has added another one by its end.
pub(crate) fn trigger_value<'py>(
    py: Python<'py>,
    trigger: Option<&Trigger>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let value = |trigger: &Trigger| {
        let result = trigger.result().map(|result| PyBytes::new(py, result));
        let id = PyBytes::new(py, trigger.id());
        value!(py, "Trigger")?.call1((id_text(py, trigger.id())?, id, result))
    };
    trigger.map(value).transpose()
}

fn page_value(py: Python<'_>, page: Page) -> PyResult<Bound<'_, PyAny>> {
    let items = page.items.into_iter().map(|info| info_value(py, info));
    let items = PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?;
    let cursor = page.cursor.map(|cursor| cursor.to_string());
    value!(py, "Page")?.call1((items, cursor, page.examined))
}

fn deep_value(py: Python<'_>, report: DeepReport) -> PyResult<Bound<'_, PyAny>> {
    let (found, mended) = (PyDict::new(py), PyDict::new(py));
    for (damage, times) in &report.found {
        found.set_item(damage.as_str(), times)?;
    }
    for (damage, times) in &report.mended {
        mended.set_item(damage.as_str(), times)?;
    }
    let details = report.details;
    value!(py, "DeepReport")?.call1((report.items, report.idle_lanes, found, mended, details))
}
