//! A disk that is full for a while.

use tokio::task::block_in_place;

use crate::conformance::Error;
use crate::faults::disk::Disk;
use crate::faults::scene::Scene;

fn disk<'a>(scene: &'a Scene<'_>) -> Result<&'a Disk, Error> {
    scene.place.disk.as_ref().ok_or_else(|| "there is no small disk".into())
}

/// Whoever wrote goes on by itself when there is room again.
pub(in crate::faults) async fn fill(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        block_in_place(|| disk(scene)?.fill())?;
        scene.times += 1;
        scene.rest(100..900).await;
        block_in_place(|| disk(scene)?.free())?;
        scene.rest(500..1_200).await;
    }
    Ok(())
}

/// A server that must have everything on the disk ends when it cannot; somebody starts it again.
pub(in crate::faults) async fn fill_always(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        block_in_place(|| disk(scene)?.fill())?;
        scene.times += 1;
        scene.rest(100..700).await;
        block_in_place(|| disk(scene)?.free())?;
        let server = scene.place.server()?;
        block_in_place(|| {
            if server.try_command(&["PING"]).is_err() {
                server.restart_with_whole_log();
            }
        });
        scene.rest(300..600).await;
    }
    Ok(())
}
