//! Leasing items.

use leaseq::{KeepAlive, LeaseOptions};
use pyo3::prelude::*;

use crate::answer::Answer;
use crate::call::waiting_call;
use crate::complete_args;
use crate::convert;
use crate::error::invalid;
use crate::lease_args::LeaseArgs;
use crate::loop_bridge::LoopBridge;
use crate::queue::{Caller, Queue, Reply};
use crate::unclaimed::{UnclaimedLeases, lease_many};

/// The options of a lease, as the caller passed them.
struct LeaseRequest<'a, 'py> {
    duration: &'a Bound<'py, PyAny>,
    wait: Option<&'a Bound<'py, PyAny>>,
    keep_alive: bool,
    limit: Option<&'a Bound<'py, PyAny>>,
}

impl LeaseRequest<'_, '_> {
    fn checked(&self, py: Python<'_>) -> PyResult<LeaseOptions> {
        let mut options = LeaseOptions::new(convert::duration("a lease", self.duration)?);
        if let Some(wait) = self.wait {
            options = options.wait(convert::duration("a wait", wait)?);
        }
        let mut keep_alive = KeepAlive::new();
        if let Some(limit) = self.limit {
            if !self.keep_alive {
                return Err(invalid(py, "a keep_alive_limit was given without keep_alive"));
            }
            keep_alive = keep_alive.limit(convert::duration("a keep_alive_limit", limit)?);
        }
        Ok(if self.keep_alive { options.keep_alive(keep_alive) } else { options })
    }
}

impl Queue {
    fn lease_up_to<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        count: usize,
        options: &LeaseRequest<'_, 'py>,
        answer: fn(UnclaimedLeases) -> Answer,
    ) -> Reply<'py> {
        let (options, queue) = (options.checked(py)?, self.core().clone());
        // For asyncio the leases reach their caller by way of the loop, and `close` must not come in
        // between. A blocking caller may close the client itself, in the handler of a signal.
        let hold = bridge.is_some();
        waiting_call(py, bridge, async move {
            Ok(answer(lease_many(&queue, count, options, hold).await?))
        })
    }
}

#[pymethods]
impl Queue {
    fn lease<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        duration: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        keep_alive: bool,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let request = LeaseRequest { duration, wait, keep_alive, limit };
        match bridge {
            None => self.lease_up_to(py, bridge, 1, &request, UnclaimedLeases::one),
            Some(bridge) => {
                let leased = LoopBridge::lease(bridge, self.core(), request.checked(py)?)?;
                Ok(leased.into_pyobject(py)?.into_any())
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    fn lease_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        count: &Bound<'py, PyAny>,
        duration: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        keep_alive: bool,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let count = convert::number("a count", count, 1, u32::MAX)? as usize;
        let request = LeaseRequest { duration, wait, keep_alive, limit };
        self.lease_up_to(py, bridge, count, &request, UnclaimedLeases::all)
    }

    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    fn complete_and_lease<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        strict: bool,
        results: Option<&Bound<'py, PyAny>>,
        retain: Option<&Bound<'py, PyAny>>,
        adds: Option<&Bound<'py, PyAny>>,
        count: &Bound<'py, PyAny>,
        duration: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        keep_alive: bool,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (args, mut complete) =
            (LeaseArgs::many(leases)?, complete_args::options(strict, retain)?);
        complete.results = complete_args::results(results, args.len())?;
        complete.adds = complete_args::added_for_each(adds)?;
        let count = convert::number("a count", count, 1, u32::MAX)? as usize;
        let options = LeaseRequest { duration, wait, keep_alive, limit }.checked(py)?;
        let (queue, held) = (self.core().clone(), bridge.is_some());
        waiting_call(py, bridge, async move {
            let from = queue.in_this_process().await?.clone();
            let hold = held.then(|| from.hold());
            let leases = args.leases();
            let done = from.complete_and_lease_with(leases, complete, count, options).await?;
            let leases = UnclaimedLeases::new(done.leases, from, queue.clone(), hold);
            Ok(leases.after(done.completed))
        })
    }

    /// Gives leases back that reached no caller. Returns at once; the request is sent in the background.
    fn give_back(&self, leases: &Bound<'_, PyAny>) -> PyResult<()> {
        self.core().give_back(LeaseArgs::many(leases)?.leases());
        Ok(())
    }
}
