//! Groups of the queue.

use leaseq::options::MAX_PLACES;
use leaseq::{GroupInfo, GroupOutcome, NewGroup, PlaceState};
use pyo3::prelude::*;

use crate::answer::{Answer, expressible};
use crate::call::waiting_call;
use crate::class::class;
use crate::convert;
use crate::group::{self, MODULE};
use crate::item::follow_up;
use crate::outcome;
use crate::queue::{Caller, Queue, Reply};

fn group_value<'py>(py: Python<'py>, group: &leaseq::Group) -> PyResult<Bound<'py, PyAny>> {
    let id = convert::id_text(py, group.id())?;
    class!(py, MODULE, "Group")?.call1((group.queue(), id, group.generation()))
}

fn info_value<'py>(py: Python<'py>, info: &GroupInfo) -> PyResult<Bound<'py, PyAny>> {
    let group = group_value(py, &info.group)?;
    let changed_at = expressible(info.changed);
    let fields = (group, info.places, info.ended, info.completed, info.has_ended, changed_at);
    class!(py, MODULE, "GroupInfo")?.call1(fields)
}

fn outcome_value<'py>(py: Python<'py>, outcome: &GroupOutcome) -> PyResult<Bound<'py, PyAny>> {
    let kind = class!(py, MODULE, "GroupOutcomeKind")?.call1((outcome.as_str(),))?;
    let info = outcome.info().map(|info| info_value(py, info)).transpose()?;
    class!(py, MODULE, "GroupOutcome")?.call1((kind, info))
}

fn place_value(py: Python<'_>, state: PlaceState) -> PyResult<Bound<'_, PyAny>> {
    let name = match state {
        PlaceState::Open => "open",
        PlaceState::Ended => "ended",
        PlaceState::Completed => "completed",
    };
    class!(py, MODULE, "PlaceState")?.call1((name,))
}

#[pymethods]
impl Queue {
    fn create_group<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
        follow_ups: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let mut group = NewGroup::new(convert::id(id)?);
        for value in convert::several("follow-ups", follow_ups)? {
            group = group.follow_up(follow_up(&value?)?);
        }
        self.run(py, bridge, async move |queue| {
            let group = queue.create_group(group).await?;
            Ok(Answer::Object(Box::new(move |py, _| group_value(py, &group))))
        })
    }

    fn seal_group<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        group: &Bound<'py, PyAny>,
        places: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let group = group::read(group)?;
        let places = convert::number("a number of places", places, 1, MAX_PLACES)?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flag(queue.seal_group(&group, places).await?))
        })
    }

    fn cancel_group<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        group: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let group = group::read(group)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flag(queue.cancel_group(&group).await?)))
    }

    fn remove_group<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        group: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let group = group::read(group)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flag(queue.remove_group(&group).await?)))
    }

    fn group<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let id = convert::id(id)?.into_owned();
        self.run(py, bridge, async move |queue| {
            let found = queue.group(id).await?;
            Ok(Answer::Object(Box::new(move |py, _| match found {
                Some(info) => info_value(py, &info),
                None => Ok(py.None().into_bound(py)),
            })))
        })
    }

    fn group_outcome<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        expect: bool,
    ) -> Reply<'py> {
        let (id, options) = (convert::id(id)?.into_owned(), outcome::options(wait, expect)?);
        let queue = self.core().clone();
        waiting_call(py, bridge, async move {
            let ended = queue.in_this_process().await?.group_outcome(id, options).await?;
            Ok(Answer::Object(Box::new(move |py, _| match ended {
                Some(outcome) => outcome_value(py, &outcome),
                None => Ok(py.None().into_bound(py)),
            })))
        })
    }

    fn group_places<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        group: &Bound<'py, PyAny>,
        first: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let group = group::read(group)?;
        let first = convert::number("the first place", first, 0, u32::MAX)?;
        self.run(py, bridge, async move |queue| {
            let states = queue.group_places(&group, first).await?;
            Ok(Answer::Object(Box::new(move |py, _| {
                let values = states.into_iter().map(|state| place_value(py, state));
                values.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)
            })))
        })
    }
}
