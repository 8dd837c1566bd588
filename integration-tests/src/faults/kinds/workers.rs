//! Processes that die, and processes that sleep past their leases.

use rustix::process::Signal;

use crate::conformance::Error;
use crate::faults::scene::Scene;

/// SIGKILL at any time; another process takes the seat.
pub(in crate::faults) async fn kill(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let seat = scene.dice.pick(&scene.pool.seats).clone();
        seat.kill()?;
        scene.times += 1;
        seat.fill().await?;
        scene.rest(0..150).await;
    }
    Ok(())
}

/// SIGSTOP for longer than most leases last, then SIGCONT: the process goes on with what it has lost.
pub(in crate::faults) async fn stop(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let seat = scene.dice.pick(&scene.pool.seats).clone();
        seat.signal(Signal::STOP)?;
        scene.times += 1;
        scene.rest(30..1_300).await;
        seat.signal(Signal::CONT)?;
        scene.rest(0..100).await;
    }
    Ok(())
}
