//! What an operator, or another program, can do to everybody with a command.

use leaseq_test_support::RedisServer;
use tokio::task::block_in_place;

use crate::conformance::Error;
use crate::faults::scene::Scene;

/// On every server; those that are busy with something else may refuse.
fn everywhere(scene: &Scene<'_>, words: &[&str]) -> u64 {
    let servers = scene.place.all();
    let took = |server: &&&RedisServer| server.try_command(words).is_ok();
    block_in_place(|| servers.iter().filter(took).count() as u64)
}

pub(in crate::faults) async fn flush_scripts(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        scene.times += everywhere(scene, &["SCRIPT", "FLUSH"]);
        scene.rest(0..20).await;
    }
    Ok(())
}

pub(in crate::faults) async fn kill_clients(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        scene.times += everywhere(scene, &["CLIENT", "KILL", "TYPE", "normal"]);
        scene.rest(0..100).await;
    }
    Ok(())
}

/// Writes are held back, scripts among them, or all commands: for longer than some calls last.
pub(in crate::faults) async fn pause_clients(scene: &mut Scene<'_>) -> Result<(), Error> {
    while scene.goes_on() {
        let ms = scene.dice.number(10..900).to_string();
        let what = *scene.dice.pick(&["WRITE", "ALL"]);
        scene.times += everywhere(scene, &["CLIENT", "PAUSE", &ms, what]);
        scene.rest(0..1_000).await;
    }
    everywhere(scene, &["CLIENT", "UNPAUSE"]);
    Ok(())
}
