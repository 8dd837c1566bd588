//! Faults of the network, by a proxy that distinguishes commands and replies.

use std::time::Duration;

use leaseq_test_support::{Proxy, Then};

use crate::error::Error;
use crate::faults::fault_context::FaultContext;

fn proxy<'a>(context: &'a FaultContext<'_>) -> Result<&'a Proxy, Error> {
    context.place.proxy.as_ref().ok_or_else(|| "there is no proxy".into())
}

/// The server has executed a script, and its reply never comes.
pub(in crate::faults) async fn lose_replies(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let (count, keeps_open) = (context.rng.number(1..4), context.rng.chance(30));
        let then = if keeps_open { Then::KeepOpen } else { Then::Close };
        let there = proxy(context)?;
        let before = there.replies_dropped();
        let is_script = |words: &[Vec<u8>]| words[0].to_ascii_uppercase().starts_with(b"EVAL");
        there.drop_replies(is_script, count as usize, then);
        // Perhaps all clients wait for discarded replies.
        let _ = there.wait_for_dropped(before + count, Duration::from_secs(1)).await;
        context.times += there.replies_dropped() - before;
        context.rest(0..40).await;
    }
    proxy(context)?.keep_replies();
    Ok(())
}

/// The same where the proxy cannot distinguish replies: it discards everything from the servers for a
/// while, and then resets the connections.
pub(in crate::faults) async fn mute(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let before = proxy(context)?.replies_dropped();
        proxy(context)?.mute();
        let there = proxy(context)?;
        let _ = there.wait_for_dropped(before + 1, Duration::from_secs(1)).await;
        context.rest(0..600).await;
        let there = proxy(context)?;
        let lost = there.replies_dropped() - before;
        there.close_all();
        context.times += lost;
        context.rest(0..100).await;
    }
    Ok(())
}

/// Connections are reset at any time, and sometimes new ones are refused for a while.
pub(in crate::faults) async fn reset(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let refuses = context.rng.chance(20);
        if refuses {
            tokio::task::block_in_place(|| proxy(context).map(|proxy| proxy.refuse(true)))?;
        }
        proxy(context)?.close_all();
        context.times += 1;
        if refuses {
            context.rest(0..300).await;
            tokio::task::block_in_place(|| proxy(context).map(|proxy| proxy.refuse(false)))?;
        }
        context.rest(0..150).await;
    }
    Ok(())
}

/// Connections stay open and carry nothing, as with a cut cable; some continue later.
pub(in crate::faults) async fn half_open(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        proxy(context)?.black_hole();
        context.times += 1;
        context.rest(100..2_500).await;
        if context.rng.chance(60) {
            proxy(context)?.heal();
        }
        context.rest(100..500).await;
    }
    proxy(context)?.heal();
    Ok(())
}

/// Every reply arrives byte by byte, and late.
pub(in crate::faults) async fn split(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let delay = context.rng.ms(0..3);
        proxy(context)?.split_bytes(true);
        proxy(context)?.delay(delay);
        context.times += 1;
        context.rest(200..800).await;
        proxy(context)?.split_bytes(false);
        proxy(context)?.delay(Duration::ZERO);
        context.rest(0..50).await;
    }
    Ok(())
}
