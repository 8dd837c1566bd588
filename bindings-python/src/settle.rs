//! Completing and extending leases, reporting progress, releasing and failing.

use std::sync::Arc;
use std::time::Duration;

use leaseq::{FailOptions, ReleaseOptions, Result};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::answer::Answer;
use crate::complete_args;
use crate::convert;
use crate::error::{invalid, is_leaseq_error};
use crate::lease::Lease;
use crate::lease_args::{LeaseArgs, one};
use crate::loop_bridge::LoopBridge;
use crate::queue::{Caller, Queue, Reply};

/// `None` for a lease that is lost: one of many has no other error.
fn kept<T>(answers: Vec<Result<T>>) -> Vec<Option<T>> {
    answers.into_iter().map(Result::ok).collect()
}

fn delay_of(delay: Option<&Bound<'_, PyAny>>) -> PyResult<Duration> {
    delay.map_or(Ok(Duration::ZERO), |delay| convert::duration("a delay", delay))
}

fn fail_options(delay: Option<&Bound<'_, PyAny>>, dead: bool) -> PyResult<FailOptions> {
    let options = FailOptions::new().delay(delay_of(delay)?);
    Ok(if dead { options.dead() } else { options })
}

fn release_options(
    delay: Option<&Bound<'_, PyAny>>,
    reason: &Bound<'_, PyString>,
) -> PyResult<ReleaseOptions> {
    let reason = convert::text("a reason", reason)?;
    Ok(ReleaseOptions::new().delay(delay_of(delay)?).reason(reason))
}

/// The errors of failed leases: one text for all, or one for each.
fn errors_of(error: &Bound<'_, PyAny>, leases: usize) -> PyResult<Vec<String>> {
    if let Ok(text) = error.cast::<PyString>() {
        return Ok(vec![text.to_string_lossy().into_owned(); leases]);
    }
    let texts =
        error.try_iter()?.map(|text| Ok(text?.cast::<PyString>()?.to_string_lossy().into_owned()));
    let texts: Vec<String> = texts.collect::<PyResult<_>>()?;
    if texts.len() != leases {
        let message = format_args!("{} errors for {leases} leases", texts.len());
        return Err(invalid(error.py(), message));
    }
    Ok(texts)
}

#[pymethods]
impl Queue {
    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    pub(crate) fn complete<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        strict: bool,
        result: Option<&Bound<'py, PyAny>>,
        retain: Option<&Bound<'py, PyAny>>,
        add: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let lease = one(lease)?;
        let (mut options, result) =
            (complete_args::options(strict, retain)?, complete_args::result(result)?);
        if let Some(bridge) = bridge
            && add.is_none()
            && Arc::ptr_eq(&lease.queue, self.core())
        {
            return LoopBridge::complete(bridge, self.core(), lease, options, result);
        }
        options.results.extend(result.map(Some));
        if add.is_some() {
            options = options.add_items(complete_args::added(add)?);
        }
        self.run(py, bridge, async move |queue| {
            let lease = lease.in_this_process()?;
            Ok(Answer::Flag(queue.complete_with(lease, options).await?))
        })
    }

    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    fn complete_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        strict: bool,
        results: Option<&Bound<'py, PyAny>>,
        retain: Option<&Bound<'py, PyAny>>,
        adds: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (args, mut options) =
            (LeaseArgs::many(leases)?, complete_args::options(strict, retain)?);
        options.results = complete_args::results(results, args.len())?;
        options.adds = complete_args::added_for_each(adds)?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flags(queue.complete_many_with(args.leases(), options).await?))
        })
    }

    fn extend<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        duration: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let (lease, duration) = (one(lease)?, convert::duration("a lease", duration)?);
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Time(queue.extend(lease.in_this_process()?, duration).await?))
        })
    }

    fn extend_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        duration: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let (args, duration) = (LeaseArgs::many(leases)?, convert::duration("a lease", duration)?);
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Times(kept(queue.extend_many(args.leases(), duration).await?)))
        })
    }

    fn set_progress<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        progress: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let (lease, progress) = (one(lease)?, convert::data("progress", progress)?.into_owned());
        self.run(py, bridge, async move |queue| {
            queue.set_progress(lease.in_this_process()?, progress).await?;
            Ok(Answer::Nothing)
        })
    }

    pub(crate) fn release<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        delay: Option<&Bound<'py, PyAny>>,
        reason: &Bound<'py, PyString>,
    ) -> Reply<'py> {
        let (lease, options) = (one(lease)?, release_options(delay, reason)?);
        self.run(py, bridge, async move |queue| {
            queue.release_with(lease.in_this_process()?, options).await?;
            Ok(Answer::Nothing)
        })
    }

    fn release_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        delay: Option<&Bound<'py, PyAny>>,
        reason: &Bound<'py, PyString>,
    ) -> Reply<'py> {
        let (args, options) = (LeaseArgs::many(leases)?, release_options(delay, reason)?);
        self.run(py, bridge, async move |queue| {
            let released = queue.release_many_with(args.leases(), options).await?;
            Ok(Answer::Flags(released.iter().map(Result::is_ok).collect()))
        })
    }

    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    pub(crate) fn fail<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        error: &Bound<'py, PyString>,
        delay: Option<&Bound<'py, PyAny>>,
        dead: bool,
        add: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (lease, mut options) = (one(lease)?, fail_options(delay, dead)?);
        if add.is_some() {
            options = options.add_items(complete_args::added(add)?);
        }
        let error = error.to_string_lossy().into_owned();
        self.run(py, bridge, async move |queue| {
            let lease = lease.in_this_process()?;
            Ok(Answer::State(queue.fail_with(lease, &error, options).await?))
        })
    }

    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    fn fail_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        error: &Bound<'py, PyAny>,
        delay: Option<&Bound<'py, PyAny>>,
        dead: bool,
        adds: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (args, mut options) = (LeaseArgs::many(leases)?, fail_options(delay, dead)?);
        options.adds = complete_args::added_for_each(adds)?;
        let errors = errors_of(error, args.len())?;
        self.run(py, bridge, async move |queue| {
            let failures = args.leases().zip(errors.iter().map(String::as_str));
            Ok(Answer::States(kept(queue.fail_many_with(failures, options).await?)))
        })
    }
}

#[pymethods]
impl Lease {
    /// The queue that it was leased from.
    #[getter]
    fn _queue(&self) -> Queue {
        Queue::new(self.handle().queue.clone())
    }

    /// Leaves a `with` block. Not written in Python, which looks for signals before it begins a function: an
    /// interrupt could come between the block and this.
    fn _leave(
        slf: &Bound<'_, Self>,
        _kind: &Bound<'_, PyAny>,
        error: Option<&Bound<'_, PyAny>>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        if !this._held() {
            return Ok(());
        }
        let queue = this._queue();
        let Some(error) = error else {
            return queue.complete(py, None, slf, false, None, None, None).map(drop);
        };
        let (text, interrupt) = match failure(error) {
            Ok(text) => (text, None),
            Err(interrupt) => (None, Some(interrupt)),
        };
        let given_back = match text {
            Some(text) => queue.fail(py, None, slf, &text, None, false, None),
            None => queue.release(py, None, slf, None, intern!(py, "")),
        };
        match given_back {
            // The exception of the block is raised, not this one.
            Err(problem) if is_leaseq_error(py, &problem) => {
                let module = py.import("leaseq._process")?;
                module.call_method1("not_given_back", (slf, problem.into_value(py)))?;
            }
            other => drop(other?),
        }
        interrupt.map_or(Ok(()), Err)
    }
}

/// The text of the error of a block, which is kept with the item. An interrupt has none.
fn failure<'py>(error: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
    if !error.is_instance_of::<PyException>() {
        return Ok(None);
    }
    let describe = error.py().import("leaseq._process")?.getattr("describe")?;
    Ok(Some(describe.call1((error,))?.cast_into()?))
}
