//! Leases between the core and their caller.

use std::sync::Arc;

use leaseq::blocking::{self, ProcessBound};
use leaseq::{Hold, LeaseOptions, Result, WorkQueue};
use pyo3::prelude::*;

use crate::answer::{Answer, Flavor};
use crate::class::class;
use crate::lease::LeaseInit;

/// Leases that no caller has yet. When they are dropped they are given back.
pub(crate) struct UnclaimedLeases {
    leases: Vec<leaseq::Lease>,
    /// The hold is dropped after the leases went back.
    from: ProcessBound<(WorkQueue, Option<Hold>)>,
    queue: Arc<blocking::Queue>,
}

/// Leases items. With `hold`, closing the client waits until the leases have reached their caller.
pub(crate) async fn lease_many(
    queue: &Arc<blocking::Queue>,
    count: usize,
    options: LeaseOptions,
    hold: bool,
) -> Result<UnclaimedLeases> {
    let from = queue.in_this_process().await?.clone();
    let hold = hold.then(|| from.hold());
    let leases = from.lease_many(count, options).await?;
    Ok(UnclaimedLeases::new(leases, from, queue.clone(), hold))
}

impl UnclaimedLeases {
    pub(crate) fn new(
        leases: Vec<leaseq::Lease>,
        from: WorkQueue,
        queue: Arc<blocking::Queue>,
        hold: Option<Hold>,
    ) -> Self {
        UnclaimedLeases { leases, from: ProcessBound::new((from, hold)), queue }
    }

    /// Each lease by itself.
    pub(crate) fn split(mut self) -> Vec<UnclaimedLeases> {
        let Ok((from, _)) = self.from.get("the queue") else { return Vec::new() };
        let (from, queue) = (from.clone(), self.queue.clone());
        let each = std::mem::take(&mut self.leases).into_iter();
        each.map(|lease| {
            let hold = from.hold();
            UnclaimedLeases::new(vec![lease], from.clone(), queue.clone(), Some(hold))
        })
        .collect()
    }

    /// Answers with one lease, or `None`.
    pub(crate) fn one(self) -> Answer {
        Answer::Object(Box::new(|py, flavor| {
            let lease = self.claim(py, flavor)?.pop();
            Ok(lease.unwrap_or_else(|| py.None().into_bound(py)))
        }))
    }

    /// Answers with a list.
    pub(crate) fn all(self) -> Answer {
        Answer::Object(Box::new(|py, flavor| self.claim(py, flavor)?.into_pyobject(py)))
    }

    /// Answers with what was completed before, and a list.
    pub(crate) fn after(self, completed: Vec<bool>) -> Answer {
        Answer::Object(Box::new(|py, flavor| {
            Ok((completed, self.claim(py, flavor)?).into_pyobject(py)?.into_any())
        }))
    }

    fn claim<'py>(mut self, py: Python<'py>, flavor: Flavor) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let class = match flavor {
            Flavor::Blocking => class!(py, "leaseq._only_blocking", "Lease")?,
            Flavor::Asyncio => class!(py, "leaseq._only_asyncio", "Lease")?,
        };
        let leases = std::mem::take(&mut self.leases);
        // Each goes back if one of them cannot be made.
        let inits: Vec<_> =
            leases.into_iter().map(|lease| LeaseInit::new(lease, &self.queue)).collect();
        inits.into_iter().map(|init| class.call1((init,))).collect()
    }
}

impl Drop for UnclaimedLeases {
    fn drop(&mut self) {
        if !self.leases.is_empty()
            && let Ok((from, _)) = self.from.get("the queue")
        {
            from.give_back(&self.leases);
        }
    }
}
