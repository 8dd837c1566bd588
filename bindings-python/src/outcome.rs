//! Waiting for the ends of items.

use leaseq::OutcomeOptions;
use pyo3::prelude::*;

use crate::answer::Answer;
use crate::call::waiting_call;
use crate::convert;
use crate::queue::{Caller, Queue, Reply};

pub(crate) fn options(wait: Option<&Bound<'_, PyAny>>, expect: bool) -> PyResult<OutcomeOptions> {
    let mut options = OutcomeOptions::new();
    options.wait = wait.map(|wait| convert::duration("a wait", wait)).transpose()?;
    options.expect = expect;
    Ok(options)
}

#[pymethods]
impl Queue {
    fn outcome<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        expect: bool,
    ) -> Reply<'py> {
        let (id, options) = (convert::id(id)?.into_owned(), options(wait, expect)?);
        let queue = self.core().clone();
        waiting_call(py, bridge, async move {
            Ok(Answer::Outcome(queue.in_this_process().await?.outcome(id, options).await?))
        })
    }

    fn outcome_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        ids: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        expect: bool,
    ) -> Reply<'py> {
        let (ids, options) = (convert::ids(ids)?, options(wait, expect)?);
        let queue = self.core().clone();
        waiting_call(py, bridge, async move {
            Ok(Answer::Outcomes(queue.in_this_process().await?.outcome_many(ids, options).await?))
        })
    }
}
