//! What the network does, by a proxy that knows commands from replies.

use std::time::Duration;

use leaseq_test_support::{Proxy, Then};

use crate::conformance::Error;
use crate::faults::scene::Scene;

fn proxy<'a>(scene: &'a Scene<'_>) -> Result<&'a Proxy, Error> {
    scene.place.proxy.as_ref().ok_or_else(|| "there is no proxy".into())
}

/// The server has executed a script, and its reply never comes.
pub(in crate::faults) async fn lose_replies(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let (count, keeps_open) = (scene.dice.number(1..4), scene.dice.chance(30));
        let then = if keeps_open { Then::KeepOpen } else { Then::Close };
        let there = proxy(scene)?;
        let before = there.replies_dropped();
        let is_script = |words: &[Vec<u8>]| words[0].to_ascii_uppercase().starts_with(b"EVAL");
        there.drop_replies(is_script, count as usize, then);
        // Clients that wait for a reply in vain may be all there are.
        let _ = there.wait_for_dropped(before + count, Duration::from_secs(1)).await;
        scene.times += there.replies_dropped() - before;
        scene.rest(0..40).await;
    }
    proxy(scene)?.keep_replies();
    Ok(())
}

/// The same where nobody can tell replies apart: all that the servers say is lost for a while, and
/// then the connections are reset.
pub(in crate::faults) async fn mute(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let before = proxy(scene)?.replies_dropped();
        proxy(scene)?.mute();
        let there = proxy(scene)?;
        let _ = there.wait_for_dropped(before + 1, Duration::from_secs(1)).await;
        scene.rest(0..600).await;
        let there = proxy(scene)?;
        let lost = there.replies_dropped() - before;
        there.close_all();
        scene.times += lost;
        scene.rest(0..100).await;
    }
    Ok(())
}

/// Connections are reset at any time, and now and then new ones refused for a while.
pub(in crate::faults) async fn reset(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let refuses = scene.dice.chance(20);
        if refuses {
            tokio::task::block_in_place(|| proxy(scene).map(|proxy| proxy.refuse(true)))?;
        }
        proxy(scene)?.close_all();
        scene.times += 1;
        if refuses {
            scene.rest(0..300).await;
            tokio::task::block_in_place(|| proxy(scene).map(|proxy| proxy.refuse(false)))?;
        }
        scene.rest(0..150).await;
    }
    Ok(())
}

/// Connections stay open and carry nothing, as behind a cut cable; some carry on later.
pub(in crate::faults) async fn half_open(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        proxy(scene)?.black_hole();
        scene.times += 1;
        scene.rest(100..2_500).await;
        if scene.dice.chance(60) {
            proxy(scene)?.heal();
        }
        scene.rest(100..500).await;
    }
    proxy(scene)?.heal();
    Ok(())
}

/// Every reply comes byte by byte, and late.
pub(in crate::faults) async fn split(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let delay = scene.dice.ms(0..3);
        proxy(scene)?.split_bytes(true);
        proxy(scene)?.delay(delay);
        scene.times += 1;
        scene.rest(200..800).await;
        proxy(scene)?.split_bytes(false);
        proxy(scene)?.delay(Duration::ZERO);
        scene.rest(0..50).await;
    }
    Ok(())
}
