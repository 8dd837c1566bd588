//! How a job is written.

use std::collections::BTreeMap;

use leaseq_jobs::NewJob;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::options;
use super::value::Value;
use crate::error::exception;

/// A value as JSON, if every language reads it alike.
#[pyfunction]
pub(crate) fn to_json<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    encode: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let json = leaseq_jobs::to_json(&Value { value, encode });
    Ok(PyBytes::new(py, &json.map_err(|error| exception(py, &error))?))
}

/// The data of the item of a job.
#[pyfunction]
pub(crate) fn job_data<'py>(
    py: Python<'py>,
    name: &str,
    args: &Bound<'py, PyAny>,
    encode: &Bound<'py, PyAny>,
    meta: BTreeMap<String, String>,
    timeout: Option<&Bound<'py, PyAny>>,
    retry: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    // The queue is not part of the data.
    let mut job = NewJob::named(name, "", &Value { value: args, encode });
    for (key, text) in meta {
        job = job.meta(key, text);
    }
    if let Some(timeout) = timeout {
        job = job.timeout(options::timeout(timeout)?);
    }
    if let Some(retry) = retry {
        job = job.retry(options::retry(retry)?);
    }
    Ok(PyBytes::new(py, &job.data().map_err(|error| exception(py, &error))?))
}
