//! Settings of a queue, and pausing it.

use leaseq::options::{MAX_ATTEMPTS, MAX_EVENTS, MAX_KEPT, MAX_KEY_LIMIT, MAX_RATE};
use leaseq::{PauseOptions, Rate, SettingsChange};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;

use crate::answer::{Answer, rate_class};
use crate::convert::{self, string};
use crate::queue::{Caller, Queue, Reply};

/// The arguments of `configure`. `...` for what is not given: `None` removes a setting.
type Given<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

/// What an argument says: nothing, to remove the setting, or a value.
fn given<'py, T>(
    value: &Bound<'py, PyAny>,
    read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Option<Option<T>>> {
    Ok(match () {
        () if value.is(value.py().Ellipsis()) => None,
        () if value.is_none() => Some(None),
        () => Some(Some(read(value)?)),
    })
}

fn read_rate(name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<Rate> {
    let py = value.py();
    if !value.is_instance(rate_class(py)?)? {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{name} must be a Rate, not {kind}")));
    }
    let number =
        |what: &'static str, name| convert::number(what, &value.getattr(name)?, 1, MAX_RATE as u32);
    let count = number("count", intern!(py, "count"))?;
    let period = convert::duration("period", &value.getattr(intern!(py, "period"))?)?;
    let rate = Rate::new(count, period);
    if value.getattr(intern!(py, "burst"))?.is_none() {
        return Ok(rate);
    }
    Ok(rate.burst(number("burst", intern!(py, "burst"))?))
}

fn change(given_values: &Given<'_>) -> PyResult<SettingsChange> {
    let (
        attempts,
        retain,
        dead,
        retained,
        dead_age,
        retained_age,
        key_limit,
        events,
        rate,
        key_rate,
        revision,
    ) = given_values;
    let kept = |what: &'static str| {
        move |value: &Bound<'_, PyAny>| {
            Ok(u64::from(convert::number(what, value, 1, MAX_KEPT as u32)?))
        }
    };
    let mut change = SettingsChange::new();
    let most = |value: &Bound<'_, PyAny>| convert::number("max_attempts", value, 1, MAX_ATTEMPTS);
    if let Some(most) = given(attempts, most)? {
        change = change.max_attempts(most);
    }
    if let Some(retain) = given(retain, |value| convert::duration("retain", value))? {
        change = change.retain(retain);
    }
    if let Some(most) = given(dead, kept("max_dead"))? {
        change = change.max_dead(most);
    }
    if let Some(most) = given(retained, kept("max_retained"))? {
        change = change.max_retained(most);
    }
    if let Some(most) = given(dead_age, |value| convert::duration("max_dead_age", value))? {
        change = change.max_dead_age(most);
    }
    if let Some(most) = given(retained_age, |value| convert::duration("max_retained_age", value))? {
        change = change.max_retained_age(most);
    }
    let limit = |value: &Bound<'_, PyAny>| convert::number("key_limit", value, 1, MAX_KEY_LIMIT);
    if let Some(limit) = given(key_limit, limit)? {
        change = change.key_limit(limit);
    }
    let most = |value: &Bound<'_, PyAny>| {
        Ok(u64::from(convert::number("events", value, 1, MAX_EVENTS as u32)?))
    };
    if let Some(most) = given(events, most)? {
        change = change.events(most);
    }
    if let Some(rate) = given(rate, |value| read_rate("rate", value))? {
        change = change.rate(rate);
    }
    if let Some(rate) = given(key_rate, |value| read_rate("key_rate", value))? {
        change = change.key_rate(rate);
    }
    if !revision.is_none() {
        change = change.expect_revision(convert::revision(revision)?);
    }
    Ok(change)
}

/// Who pauses, and why.
pub(crate) fn pause_options(
    by: &Bound<'_, PyAny>,
    reason: &Bound<'_, PyAny>,
) -> PyResult<PauseOptions> {
    let by = string("who pauses", by)?;
    Ok(PauseOptions::new().by(by).reason(string("the reason of a pause", reason)?))
}

#[pymethods]
impl Queue {
    fn configure<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        given: Given<'py>,
    ) -> Reply<'py> {
        let change = change(&given)?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Settings(queue.configure(change).await?.map(Box::new)))
        })
    }

    fn settings<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Settings(Some(Box::new(queue.settings().await?))))
        })
    }

    fn pause<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        duration: &Bound<'py, PyAny>,
        by: &Bound<'py, PyAny>,
        reason: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let mut options = pause_options(by, reason)?;
        if !duration.is_none() {
            options = options.duration(convert::duration("a pause", duration)?);
        }
        self.run(py, bridge, async move |queue| {
            queue.pause_with(options).await.map(|()| Answer::Nothing)
        })
    }

    fn resume<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| queue.resume().await.map(|()| Answer::Nothing))
    }
}
