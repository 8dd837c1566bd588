//! The slot of the queue moves between nodes of a Cluster, key by key, under load.

use tokio::task::block_in_place;

use crate::error::Error;
use crate::faults::fault_context::FaultContext;
use crate::faults::worker_pool::QUEUE;

/// Moves the slot, with pauses between the keys. With `stay_ms`, stops half-way for this time.
async fn move_slot(context: &mut FaultContext<'_>, stay_ms: Option<u64>) -> Result<(), Error> {
    let (slot, from, to) = block_in_place(|| -> Result<_, Error> {
        let cluster = context.place.cluster()?;
        let slot = cluster.slot_of(format!("{{{QUEUE}}}"));
        let from = cluster.slot_owner(slot);
        let to = cluster.other_than(from);
        cluster.begin_migration(slot, from, to);
        Ok((slot, from, to))
    })?;
    let mut half = stay_ms;
    loop {
        let cluster = context.place.cluster()?;
        let keys = block_in_place(|| cluster.keys_in_slot(slot, from));
        if keys.is_empty() {
            break;
        }
        for (i, key) in keys.iter().enumerate() {
            if i >= keys.len() / 2
                && let Some(ms) = half.take()
            {
                tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
            }
            block_in_place(|| {
                context.place.cluster().map(|nodes| nodes.migrate_key(key, from, to))
            })?;
            context.rest(0..30).await;
        }
    }
    block_in_place(|| context.place.cluster().map(|nodes| nodes.finish_migration(slot, from, to)))?;
    context.times += 1;
    Ok(())
}

pub(in crate::faults) async fn move_about(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        move_slot(context, None).await?;
        context.rest(100..400).await;
    }
    Ok(())
}

/// Half of the keys are on each node, for longer than the time-out of many clients.
pub(in crate::faults) async fn leave_half(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let stay_ms = context.rng.number(500..2_000);
        move_slot(context, Some(stay_ms)).await?;
        context.rest(300..600).await;
    }
    Ok(())
}
