//! The clock of the server is set: forwards and back, by up to an hour.

use std::time::Duration;

use crate::error::Error;
use crate::faults::fault_context::FaultContext;
use crate::faults::place::AHEAD_MS;

pub(in crate::faults) async fn jump(context: &mut FaultContext<'_>) -> Result<(), Error> {
    let clock = context.place.clock.as_ref().ok_or("there is no clock")?;
    let (mut at, mut highest) = (AHEAD_MS, AHEAD_MS);
    while context.times == 0 || std::time::Instant::now() < context.until {
        let by = *context.rng.pick(&[50, 700, 5_000, 3_600_000]);
        let back = context.rng.chance(40);
        let next = if back { at - by } else { at + by };
        if back {
            let now = context.recorder.now();
            context.recorder.history().set_back.push(now);
        }
        clock.run_ahead(next)?;
        (at, highest) = (next, highest.max(next));
        context.times += 1;
        let rest = context.rng.ms(50..500);
        tokio::time::sleep(rest).await;
    }
    // Leases from before the clock was set back must expire as well.
    clock.run_ahead(highest + 5_000)?;
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(())
}
