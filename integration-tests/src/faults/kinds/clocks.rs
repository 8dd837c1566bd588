//! The clock of the server is set: forwards and back, by up to an hour.

use std::ops::Range;
use std::time::Duration;

use crate::error::Error;
use crate::faults::fault_context::FaultContext;
use crate::faults::history::Span;
use crate::faults::place::AHEAD_MS;

pub(in crate::faults) async fn jump(context: &mut FaultContext<'_>) -> Result<(), Error> {
    jump_each(context, 50..500).await
}

/// So seldom that between two jumps there is time to use up a rate.
pub(in crate::faults) async fn jump_seldom(context: &mut FaultContext<'_>) -> Result<(), Error> {
    jump_each(context, 300..1_500).await
}

async fn jump_each(context: &mut FaultContext<'_>, rests_ms: Range<u64>) -> Result<(), Error> {
    let (mut at, mut highest) = (AHEAD_MS, AHEAD_MS);
    while context.times == 0 || std::time::Instant::now() < context.until {
        let by = *context.rng.pick(&[50, 700, 5_000, 3_600_000]);
        let back = context.rng.chance(40);
        let next = if back { at - by } else { at + by };
        if back {
            let now = context.recorder.now();
            context.recorder.history().set_back.push(now);
        }
        set(context, next)?;
        (at, highest) = (next, highest.max(next));
        context.times += 1;
        context.rest(rests_ms.clone()).await;
    }
    // Leases from before the clock was set back must expire as well.
    set(context, highest + 5_000)?;
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(())
}

/// Sets it so far ahead of the real time.
fn set(context: &FaultContext<'_>, ahead_ms: i64) -> Result<(), Error> {
    let clock = context.place.clock.as_ref().ok_or("there is no clock")?;
    let began = context.now();
    clock.run_ahead(ahead_ms)?;
    context.recorder.history().jumps.push(Span { began, ended: Some(context.now()) });
    Ok(())
}
