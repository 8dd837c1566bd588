//! Operations on items, for operators: remove, requeue, bury, revise, cancel, attach.

use leaseq::options::{MAX_ATTEMPTS, MAX_PRIORITY};
use leaseq::{ItemRef, Revision};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::answer::Answer;
use crate::convert;
use crate::error::invalid;
use crate::item;
use crate::queue::{Caller, Queue, Reply};

fn of_generation(item: ItemRef, generation: &Bound<'_, PyAny>) -> PyResult<ItemRef> {
    if generation.is_none() {
        return Ok(item);
    }
    let Ok(text) = generation.cast::<PyString>() else {
        return Err(convert::wrong_type("if_generation", "str", generation));
    };
    Ok(item.if_generation(convert::text("if_generation", text)?))
}

fn item_ref(id: &Bound<'_, PyAny>, generation: &Bound<'_, PyAny>) -> PyResult<ItemRef> {
    of_generation(ItemRef::new(convert::id(id)?), generation)
}

/// The items with these ids. `generations`: one for all of one id, or one for each.
fn item_refs(ids: &Bound<'_, PyAny>, generations: &Bound<'_, PyAny>) -> PyResult<Vec<ItemRef>> {
    let items: Vec<ItemRef> = convert::ids(ids)?.into_iter().map(ItemRef::new).collect();
    if generations.is_none() {
        return Ok(items);
    }
    let generations = match generations.is_instance_of::<PyString>() {
        true => vec![generations.clone()],
        false => convert::several("if_generation", generations)?.collect::<PyResult<_>>()?,
    };
    if generations.len() != items.len() {
        let message = format_args!("{} generations for {} ids", generations.len(), items.len());
        return Err(invalid(ids.py(), message));
    }
    items.into_iter().zip(&generations).map(|(item, one)| of_generation(item, one)).collect()
}

/// `None` if it is not given.
fn field<'py>(
    value: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(value.getattr(name)?).filter(|field| !field.is_none()))
}

/// Reads a `leaseq.Revision`.
fn revision(value: &Bound<'_, PyAny>) -> PyResult<(ItemRef, Revision)> {
    let py = value.py();
    let id = value.getattr(intern!(py, "id"))?;
    let item = item_ref(&id, &value.getattr(intern!(py, "if_generation"))?)?;
    let shown = leaseq::Item::new([]).with_id(convert::id(&id)?);
    let mut revision = Revision::new();
    if let Some(data) = field(value, intern!(py, "data"))? {
        revision = revision.data(convert::data("data", &data)?);
    }
    if let Some(priority) = field(value, intern!(py, "priority"))? {
        let what = format_args!("{shown}: priority");
        revision =
            revision.priority(convert::number(what, &priority, 0, MAX_PRIORITY.into())? as u8);
    }
    if let Some(delay) = field(value, intern!(py, "delay"))? {
        revision = revision.delay(convert::duration(format_args!("{shown}: a delay"), &delay)?);
    }
    if let Some(due_at) = field(value, intern!(py, "due_at"))? {
        revision = revision.due_at(convert::time(format_args!("{shown}: due_at"), &due_at)?);
    }
    if let Some(most) = field(value, intern!(py, "max_attempts"))? {
        let what = format_args!("{shown}: max_attempts");
        revision = revision.max_attempts(convert::number(what, &most, 1, MAX_ATTEMPTS)?);
    }
    Ok((item, revision))
}

#[pymethods]
impl Queue {
    fn remove<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
        if_generation: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let item = item_ref(id, if_generation)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flag(queue.remove(item).await?)))
    }

    fn remove_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        ids: &Bound<'py, PyAny>,
        if_generation: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let items = item_refs(ids, if_generation)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flags(queue.remove_many(items).await?)))
    }

    fn requeue<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        ids: &Bound<'py, PyAny>,
        if_generation: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let items = item_refs(ids, if_generation)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flags(queue.requeue(items).await?)))
    }

    fn bury<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        ids: &Bound<'py, PyAny>,
        error: &Bound<'py, PyString>,
        if_generation: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let items = item_refs(ids, if_generation)?;
        let error = error.to_string_lossy().into_owned();
        self.run(py, bridge, async move |queue| Ok(Answer::Flags(queue.bury(items, &error).await?)))
    }

    fn cancel<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
        if_generation: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let item = item_ref(id, if_generation)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flag(queue.cancel(item).await?)))
    }

    fn cancel_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        ids: &Bound<'py, PyAny>,
        if_generation: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let items = item_refs(ids, if_generation)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flags(queue.cancel_many(items).await?)))
    }

    fn attach<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
        follow_up: &Bound<'py, PyAny>,
        if_generation: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let (item, follow_up) = (item_ref(id, if_generation)?, item::follow_up(follow_up)?);
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flag(queue.attach(item, follow_up).await?))
        })
    }

    fn attach_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        follow_ups: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let pair = |pair: PyResult<Bound<'py, PyAny>>| {
            let pair = pair?;
            let Ok((id, follow_up)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                return Err(convert::wrong_type(
                    "a follow-up",
                    "a tuple of id and FollowUp",
                    &pair,
                ));
            };
            Ok((ItemRef::new(convert::id(&id)?), item::follow_up(&follow_up)?))
        };
        let all = convert::several("follow-ups", follow_ups)?;
        let all = all.map(pair).collect::<PyResult<Vec<_>>>()?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flags(queue.attach_many(all).await?)))
    }

    fn revise<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        revision: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let (item, revision) = self::revision(revision)?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flag(queue.revise(item, revision).await?))
        })
    }

    fn revise_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        revisions: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let revisions = convert::several("revisions", revisions)?;
        let revisions = revisions.map(|one| revision(&one?)).collect::<PyResult<Vec<_>>>()?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flags(queue.revise_many(revisions).await?))
        })
    }
}
