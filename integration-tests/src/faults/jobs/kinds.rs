//! What breaks while workers run jobs.

use std::time::{Duration, Instant};

use tokio::task::block_in_place;

use super::context::JobContext;
use super::history::{Run, now};
use crate::error::Error;
use crate::faults::worker_pool::HEALED;

/// SIGKILL at any time.
pub(in crate::faults) async fn kill(context: &mut JobContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        context.fleet.kill().await?;
        context.times += 1;
        context.fleet.add().await?;
        context.rest(50..400).await?;
    }
    Ok(())
}

/// SIGSTOP, sometimes for longer than a lease, then SIGCONT: handlers continue with lost leases.
pub(in crate::faults) async fn stop(context: &mut JobContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let time = context.rng.ms(50..2_500);
        context.fleet.stop(time).await?;
        context.times += 1;
        context.rest(50..400).await?;
    }
    Ok(())
}

/// SIGTERM once, twice or three times at any moment.
pub(in crate::faults) async fn signal(context: &mut JobContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let count = context.rng.number(1..4);
        let pauses: Vec<_> = (0..count).map(|_| context.rng.ms(0..300)).collect();
        context.fleet.signal(&pauses).await?;
        context.times += 1;
        context.fleet.add().await?;
        context.rest(50..400).await?;
    }
    Ok(())
}

/// SIGKILL of the server and a new start, with every write on the disk before it is answered.
pub(in crate::faults) async fn restart_server(context: &mut JobContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let (from, down) = (now(), context.rng.ms(0..300));
        block_in_place(|| context.place.server().map(|server| server.kill()))?;
        tokio::time::sleep(down).await;
        block_in_place(|| context.place.server().map(|server| server.restart_with_whole_log()))?;
        context.fleet.note_outage(from);
        context.times += 1;
        context.rest(300..900).await?;
    }
    Ok(())
}

/// A thousand jobs have a name that no worker knows.
pub(in crate::faults) async fn with_unknown_names(
    context: &mut JobContext<'_>,
) -> Result<(), Error> {
    context.load.add_unknown(1_000).await?;
    context.times += 1;
    while context.goes_on() {
        context.rest(100..200).await?;
    }
    Ok(())
}

/// There is no memory left: the kernel kills the workers.
pub(in crate::faults) async fn run_out_of_memory(
    context: &mut JobContext<'_>,
) -> Result<(), Error> {
    while context.goes_on() {
        let taken = context.fleet.memory()?.take_all()?;
        context.fleet.until_killed().await?;
        drop(taken);
        context.times += 1;
        context.fleet.fill_up().await?;
        context.rest(300..900).await?;
    }
    Ok(())
}

/// Memory is short for a while: the workers lease nothing, and go on afterwards.
pub(in crate::faults) async fn throttle(context: &mut JobContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let taken = context.fleet.memory()?.take_most()?;
        let leased = until_throttled(context).await?;
        drop(taken);
        context.times += 1;
        let end = Instant::now() + HEALED;
        while context.load.leased().await? == leased {
            if Instant::now() >= end {
                return Err(format!("the workers have leased nothing for {HEALED:?}").into());
            }
            context.rest(20..50).await?;
        }
        context.rest(100..400).await?;
    }
    Ok(())
}

/// Waits until nothing is leased for two seconds although there are jobs, and returns how many leases there were before.
/// The workers look at the memory once a second.
async fn until_throttled(context: &mut JobContext<'_>) -> Result<u64, Error> {
    let end = Instant::now() + HEALED;
    loop {
        let before = context.load.leased().await?;
        context.rest(2_000..2_500).await?;
        if context.load.leased().await? == before {
            return Ok(before);
        }
        if Instant::now() >= end {
            return Err(format!("the workers are not throttled in {HEALED:?}").into());
        }
    }
}

/// Somebody cancels jobs while every slot of every worker is busy with them.
pub(in crate::faults) async fn cancel_while_busy(
    context: &mut JobContext<'_>,
) -> Result<(), Error> {
    while context.goes_on() {
        // One worker may lease some that wait for its slots, while others have free ones.
        let (slots, waiting) = (context.fleet.slots(), context.fleet.prefetched());
        let endless = context.load.add_endless(slots + waiting).await?;
        let started = |run: &Run| endless.contains(&run.id);
        until(context, |runs| runs.iter().filter(|run| started(run)).count() >= slots).await?;
        context.load.cancel(&endless).await?;
        context.times += 1;
        // Those that had waited end without having run, or run until their workers hear of it.
        until(context, |runs| runs.iter().all(|run| !started(run) || run.end.is_some())).await?;
        context.rest(50..100).await?;
    }
    Ok(())
}

/// Waits until the handlers have logged what this asks for.
async fn until(context: &JobContext<'_>, holds: impl Fn(&[Run]) -> bool) -> Result<(), Error> {
    let end = Instant::now() + HEALED;
    while !holds(&context.fleet.all_runs()?) {
        if Instant::now() >= end {
            return Err(format!("the handlers have not come so far in {HEALED:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
