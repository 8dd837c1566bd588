//! Processes that die, and processes that are stopped past their leases.

use rustix::process::Signal;

use crate::error::Error;
use crate::faults::fault_context::FaultContext;

/// SIGKILL at any time; another process fills the slot.
pub(in crate::faults) async fn kill(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let worker_slot = context.rng.pick(&context.pool.worker_slots).clone();
        worker_slot.kill()?;
        context.times += 1;
        worker_slot.fill().await?;
        context.rest(0..150).await;
    }
    Ok(())
}

/// SIGSTOP for longer than most leases last, then SIGCONT: the process continues with lost leases.
pub(in crate::faults) async fn stop(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let worker_slot = context.rng.pick(&context.pool.worker_slots).clone();
        worker_slot.signal(Signal::STOP)?;
        context.times += 1;
        context.rest(30..1_300).await;
        worker_slot.signal(Signal::CONT)?;
        context.rest(0..100).await;
    }
    Ok(())
}
