//! How items are completed, as the caller passed it.

use bytes::Bytes;
use leaseq::CompleteOptions;
use pyo3::prelude::*;

use crate::convert;
use crate::error::invalid;

/// The options, without results.
pub(crate) fn options(
    strict: bool,
    retain: Option<&Bound<'_, PyAny>>,
) -> PyResult<CompleteOptions> {
    let mut options = CompleteOptions::new();
    options.strict = strict;
    options.retain = retain.map(|retain| convert::duration("a retention", retain)).transpose()?;
    Ok(options)
}

/// The result of one item.
pub(crate) fn result(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Bytes>> {
    let copied = |value| Ok(Bytes::from(convert::data("a result", value)?.into_owned()));
    value.map(copied).transpose()
}

/// The results of many items, `None` for those without one; empty if no results are given.
pub(crate) fn results(
    values: Option<&Bound<'_, PyAny>>,
    leases: usize,
) -> PyResult<Vec<Option<Bytes>>> {
    let Some(values) = values else { return Ok(Vec::new()) };
    let each = convert::several("results", values)?;
    let each = each.map(|value| result(Some(&value?).filter(|value| !value.is_none())));
    let results: Vec<_> = each.collect::<PyResult<_>>()?;
    if results.len() != leases {
        let message = format_args!("{} results for {leases} leases", results.len());
        return Err(invalid(values.py(), message));
    }
    Ok(results)
}
