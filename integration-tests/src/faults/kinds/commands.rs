//! Commands of an operator or another program that affect all clients.

use leaseq_test_support::RedisServer;
use tokio::task::block_in_place;

use crate::error::Error;
use crate::faults::fault_context::FaultContext;

/// Runs the command on every server. A busy server may refuse it.
fn everywhere(context: &FaultContext<'_>, words: &[&str]) -> u64 {
    let servers = context.place.all();
    let took = |server: &&&RedisServer| server.try_command(words).is_ok();
    block_in_place(|| servers.iter().filter(took).count() as u64)
}

pub(in crate::faults) async fn flush_scripts(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        context.times += everywhere(context, &["SCRIPT", "FLUSH"]);
        context.rest(0..20).await;
    }
    Ok(())
}

pub(in crate::faults) async fn kill_clients(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        context.times += everywhere(context, &["CLIENT", "KILL", "TYPE", "normal"]);
        context.rest(0..100).await;
    }
    Ok(())
}

/// Delays writes, including scripts, or all commands, for longer than some calls last.
pub(in crate::faults) async fn pause_clients(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let ms = context.rng.number(10..900).to_string();
        let what = *context.rng.pick(&["WRITE", "ALL"]);
        context.times += everywhere(context, &["CLIENT", "PAUSE", &ms, what]);
        context.rest(0..1_000).await;
    }
    everywhere(context, &["CLIENT", "UNPAUSE"]);
    Ok(())
}
