//! Another server becomes the master.

use std::ops::Range;
use std::time::{Duration, Instant};

use leaseq_test_support::RedisServer;
use tokio::task::block_in_place;

use crate::error::Error;
use crate::faults::fault_context::FaultContext;
use crate::faults::history::Time;
use crate::faults::place::Servers;
use crate::faults::worker_pool::QUEUE;

const PATIENCE: Duration = Duration::from_secs(60);

/// A time such that the replicas have everything that was written before it.
async fn replicated(context: &FaultContext<'_>, master: &RedisServer) -> Result<Time, Error> {
    let key = format!("{{{QUEUE}}}mark");
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let from = context.now();
        if block_in_place(|| master.is_replicated(&key)) {
            return Ok(from);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err("no replica keeps up".into())
}

/// Sentinels make the replica the master, and the master a replica. If clients wait for a replica, nothing is lost
/// that was acknowledged.
pub(in crate::faults) async fn sentinel(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let Servers::Sentinel(set) = &context.place.servers else { return Err(NO.into()) };
        let master = set.master().ok_or("the sentinels disagree")?;
        let from = replicated(context, set.node(master)).await?;
        block_in_place(|| {
            set.failover();
            set.wait_for_replica(master);
        });
        context.times += 1;
        match context.place.confirmed {
            // Items whose add was not acknowledged may be gone all the same.
            true => {
                context.looks_are_vague_since(from);
                context.load.forget_backlog();
            }
            false => context.two_masters_since(from),
        }
        context.rest(300..800).await;
    }
    Ok(())
}

/// A replica of a Cluster takes over from a master that waits for it, so nothing is lost. The two
/// alternate, and neither is elected twice within 8 s (see
/// [`leaseq_test_support::Cluster::fail_over`]).
pub(in crate::faults) async fn by_hand(context: &mut FaultContext<'_>) -> Result<(), Error> {
    const APART: Range<u64> = 4_500..5_500;
    loop {
        let Servers::Cluster(cluster) = &context.place.servers else { return Err(NO.into()) };
        block_in_place(|| {
            let slot = cluster.slot_of(format!("{{{QUEUE}}}"));
            cluster.fail_over(slot);
        });
        context.times += 1;
        if Instant::now() + Duration::from_millis(APART.end) > context.until {
            context.rest(300..800).await;
            return Ok(());
        }
        context.rest(APART).await;
    }
}

/// The master dies, and a replica is elected; later the old master returns as a replica. As above, nothing is lost
/// if clients wait for a replica.
pub(in crate::faults) async fn kill_master(context: &mut FaultContext<'_>) -> Result<(), Error> {
    context.rest(200..500).await;
    let from = match &context.place.servers {
        Servers::Sentinel(set) => {
            let master = set.master().ok_or("the sentinels disagree")?;
            replicated(context, set.node(master)).await?
        }
        Servers::Cluster(cluster) => {
            let owner = cluster.slot_owner(cluster.slot_of(format!("{{{QUEUE}}}")));
            replicated(context, cluster.node(owner)).await?
        }
        _ => return Err(NO.into()),
    };
    context.rest(50..200).await;
    block_in_place(|| match &mut context.place.servers {
        Servers::Sentinel(set) => {
            let old = set.kill_master();
            set.wait_for_master_other_than(old);
            set.node_mut(old).restart();
            set.wait_for_replica(old);
        }
        Servers::Cluster(cluster) => {
            let slot = cluster.slot_of(format!("{{{QUEUE}}}"));
            let old = cluster.slot_owner(slot);
            cluster.node_mut(old).kill();
            cluster.wait_for_owner_other_than(slot, old);
            cluster.node_mut(old).restart();
            cluster.wait_for_replica(old);
        }
        _ => {}
    });
    context.times += 1;
    match context.place.confirmed {
        true => {
            context.looks_are_vague_since(from);
            context.load.forget_backlog();
        }
        false => context.lost_since(from),
    }
    context.rest(300..800).await;
    Ok(())
}

const NO: &str = "there is nobody to take over";
