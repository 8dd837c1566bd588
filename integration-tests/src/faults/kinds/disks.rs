//! A disk that is full for a while.

use tokio::task::block_in_place;

use crate::error::Error;
use crate::faults::disk::Disk;
use crate::faults::fault_context::FaultContext;

fn disk<'a>(context: &'a FaultContext<'_>) -> Result<&'a Disk, Error> {
    context.place.disk.as_ref().ok_or_else(|| "there is no small disk".into())
}

/// Writers continue on their own when there is room again.
pub(in crate::faults) async fn fill(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        block_in_place(|| disk(context)?.fill())?;
        context.times += 1;
        context.rest(100..900).await;
        block_in_place(|| disk(context)?.free())?;
        context.rest(500..1_200).await;
    }
    Ok(())
}

/// A server with `appendfsync always` ends when it cannot write; an operator starts it again.
pub(in crate::faults) async fn fill_always(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        block_in_place(|| disk(context)?.fill())?;
        context.times += 1;
        context.rest(100..700).await;
        block_in_place(|| disk(context)?.free())?;
        let server = context.place.server()?;
        block_in_place(|| {
            if server.try_command(&["PING"]).is_err() {
                server.restart_with_whole_log();
            }
        });
        context.rest(300..600).await;
    }
    Ok(())
}
