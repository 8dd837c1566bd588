//! How items are completed, as the caller passed it.

use bytes::Bytes;
use leaseq::CompleteOptions;
use pyo3::prelude::*;

use crate::convert;
use crate::error::invalid;
use crate::item::Item;

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

/// Items that a call adds; `None` stands for none.
pub(crate) fn added(items: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<leaseq::Item>> {
    let Some(items) = items else { return Ok(Vec::new()) };
    convert::several("items to add", items)?.map(|item| Item::from(&item?)).collect()
}

/// The same for each of many leases; empty if nothing is given.
pub(crate) fn added_for_each(items: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Vec<leaseq::Item>>> {
    let Some(items) = items else { return Ok(Vec::new()) };
    convert::several("adds", items)?.map(|items| added(Some(&items?))).collect()
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
