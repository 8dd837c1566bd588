//! Schedules of a queue.

use std::time::SystemTime;

use leaseq::{GetOptions, Missed, Schedule, ScheduleRule};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::answer::{Answer, expressible};
use crate::convert::{self, string};
use crate::error::{exception, invalid};
use crate::item::Item;
use crate::queue::{Caller, Queue, Reply};
use crate::settings::pause_options;

/// A rule from a cron expression and a zone, or an interval.
fn rule<'py>(
    cron: &Bound<'py, PyAny>,
    zone: &Bound<'py, PyAny>,
    every: &Bound<'py, PyAny>,
) -> PyResult<ScheduleRule> {
    let py = cron.py();
    let rule = match (cron.is_none(), every.is_none()) {
        (false, true) => {
            let zone = match zone.is_none() {
                true => "UTC".to_owned(),
                false => string("zone", zone)?,
            };
            ScheduleRule::cron(&string("cron", cron)?, &zone)
        }
        (true, false) if zone.is_none() => {
            ScheduleRule::every(convert::duration("the interval of a schedule", every)?)
        }
        (true, false) => return Err(invalid(py, "an interval has no zone")),
        _ => return Err(invalid(py, "a schedule has either cron or every")),
    };
    rule.map_err(|error| exception(py, &error))
}

fn missed(value: &Bound<'_, PyAny>) -> PyResult<Missed> {
    let Ok(word) = value.cast::<PyString>() else {
        return convert::number("missed", value, 0, u32::MAX).map(Missed::All);
    };
    match &*word.to_string_lossy() {
        "skip" => Ok(Missed::Skip),
        "one" => Ok(Missed::One),
        word => {
            let message = format_args!("missed {word:?} is neither \"skip\", \"one\" nor a number");
            Err(invalid(value.py(), message))
        }
    }
}

/// Reads a `leaseq.Schedule`.
pub(crate) fn schedule(value: &Bound<'_, PyAny>) -> PyResult<Schedule> {
    let py = value.py();
    if !value.is_instance(crate::answer::schedule_class(py)?)? {
        return Err(convert::wrong_type("a schedule", "a Schedule", value));
    }
    let field = |name| value.getattr(name);
    let name = string("the name of a schedule", &field(intern!(py, "name"))?)?;
    let rule = rule(
        &field(intern!(py, "cron"))?,
        &field(intern!(py, "zone"))?,
        &field(intern!(py, "every"))?,
    )?;
    let item = Item::from(&field(intern!(py, "item"))?)?;
    let mut schedule =
        Schedule::new(name, rule, item).missed(missed(&field(intern!(py, "missed"))?)?);
    let grace = field(intern!(py, "grace"))?;
    if !grace.is_none() {
        schedule = schedule.grace(convert::duration("the grace", &grace)?);
    }
    let overlap = convert::flag("overlap", &field(intern!(py, "overlap"))?)?;
    Ok(if overlap { schedule.overlap() } else { schedule })
}

/// How many times are wanted.
pub(crate) struct Count(u32);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        convert::number("count", &value, 0, u32::MAX).map(Count)
    }
}

/// The next times of a rule, in UTC: of a cron expression in a zone (default: UTC), or of an interval.
///
/// They are later than `after`, a datetime with a time zone; default: now, by this machine's clock. An interval
/// begins then. There are at most 1,000; fewer than `count` if the rule has no more. Raises `InvalidError`.
///
/// >>> from datetime import datetime, timezone
/// >>> friday = datetime(2027, 1, 15, 12, tzinfo=timezone.utc)
/// >>> [str(time) for time in schedule_times(cron="0 9 * * mon-fri", zone="Europe/Berlin", after=friday, count=2)]
/// ['2027-01-18 08:00:00+00:00', '2027-01-19 08:00:00+00:00']
#[pyfunction]
#[pyo3(signature = (*, cron=None, zone=None, every=None, after=None, count=Count(10)), text_signature = "(*, cron=None, zone=None, every=None, after=None, count=10)")]
pub(crate) fn schedule_times<'py>(
    py: Python<'py>,
    cron: Option<Bound<'py, PyAny>>,
    zone: Option<Bound<'py, PyAny>>,
    every: Option<Bound<'py, PyAny>>,
    after: Option<Bound<'py, PyAny>>,
    count: Count,
) -> PyResult<Vec<SystemTime>> {
    let given =
        |value: Option<Bound<'py, PyAny>>| value.unwrap_or_else(|| py.None().into_bound(py));
    let rule = rule(&given(cron), &given(zone), &given(every))?;
    let after = match after {
        Some(time) => convert::time("after", &time)?,
        None => SystemTime::now(),
    };
    let times = rule.times_after(after, count.0 as usize).map_err(|error| exception(py, &error))?;
    Ok(times.into_iter().map(expressible).collect())
}

#[pymethods]
impl Queue {
    fn put_schedule<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        schedule: &Bound<'py, PyAny>,
        owner: &Bound<'py, PyAny>,
        revision: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let schedule = self::schedule(schedule)?
            .owner(string("the owner", owner)?)
            .revision(convert::revision(revision)?);
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Put(queue.put_schedule(schedule).await?))
        })
    }

    fn sync_schedules<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        owner: &Bound<'py, PyAny>,
        revision: &Bound<'py, PyAny>,
        schedules: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let owner = string("the owner", owner)?;
        let revision = convert::revision(revision)?;
        let schedules = convert::several("schedules", schedules)?.map(|one| schedule(&one?));
        let schedules = schedules.collect::<PyResult<Vec<_>>>()?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Synced(queue.sync_schedules(&owner, revision, schedules).await?))
        })
    }

    fn schedules<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>, data: bool) -> Reply<'py> {
        let mut options = GetOptions::new();
        options.data = data;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Schedules(queue.schedules_with(options).await?))
        })
    }

    fn remove_schedule<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        name: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let name = string("the name of a schedule", name)?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flag(queue.remove_schedule(&name).await?))
        })
    }

    fn pause_schedule<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        name: &Bound<'py, PyAny>,
        by: &Bound<'py, PyAny>,
        reason: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let name = string("the name of a schedule", name)?;
        let options = pause_options(by, reason)?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flag(queue.pause_schedule_with(&name, options).await?))
        })
    }

    fn resume_schedule<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        name: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let name = string("the name of a schedule", name)?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flag(queue.resume_schedule(&name).await?))
        })
    }

    fn run_now<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        name: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let name = string("the name of a schedule", name)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flag(queue.run_now(&name).await?)))
    }
}
