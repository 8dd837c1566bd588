//! Processes that die, and processes that sleep past their leases.

use rustix::process::Signal;

use crate::conformance::Error;
use crate::faults::scene::Scene;

/// SIGKILL at any time; another process takes the worker_slot.
pub(in crate::faults) async fn kill(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let worker_slot = scene.dice.pick(&scene.pool.worker_slots).clone();
        worker_slot.kill()?;
        scene.times += 1;
        worker_slot.fill().await?;
        scene.rest(0..150).await;
    }
    Ok(())
}

/// SIGSTOP for longer than most leases last, then SIGCONT: the process goes on with what it has lost.
pub(in crate::faults) async fn stop(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let worker_slot = scene.dice.pick(&scene.pool.worker_slots).clone();
        worker_slot.signal(Signal::STOP)?;
        scene.times += 1;
        scene.rest(30..1_300).await;
        worker_slot.signal(Signal::CONT)?;
        scene.rest(0..100).await;
    }
    Ok(())
}
