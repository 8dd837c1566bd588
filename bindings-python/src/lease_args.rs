//! Leases as arguments.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::convert;
use crate::error::exception;
use crate::lease::Lease;
use crate::unused::Handle;

/// A lease of this process; anything else is an error before the call begins.
pub(crate) fn one(lease: &Bound<'_, Lease>) -> PyResult<Arc<Handle>> {
    let handle = lease.get().handle().clone();
    handle.in_this_process().map_err(|error| exception(lease.py(), &error))?;
    Ok(handle)
}

/// Leases of this process, which a call shares with their handles.
pub(crate) struct LeaseArgs(Vec<Arc<Handle>>);

impl LeaseArgs {
    pub(crate) fn many(leases: &Bound<'_, PyAny>) -> PyResult<Self> {
        let handles = convert::several("leases", leases)?
            .map(|lease| Ok(lease?.cast::<Lease>()?.get().handle().clone()));
        let handles: Vec<Arc<Handle>> = handles.collect::<PyResult<_>>()?;
        let all = handles.iter().try_for_each(|handle| handle.in_this_process().map(drop));
        all.map(|()| LeaseArgs(handles)).map_err(|error| exception(leases.py(), &error))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn leases(&self) -> impl Iterator<Item = &leaseq::Lease> {
        self.0.iter().filter_map(|handle| handle.lease.peek())
    }
}
