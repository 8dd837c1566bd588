//! Faults of a single server.

use tokio::task::block_in_place;

use crate::error::Error;
use crate::faults::drain::until_drained;
use crate::faults::fault_context::FaultContext;
use crate::faults::history::Time;

/// How much of the time before its death a server with `everysec` may lose: it writes the log every
/// second, and waits for up to two seconds while the disk is busy.
const EVERYSEC: Time = Time::from_millis(2_500);

/// The server is stopped, and its connections stay open.
pub(in crate::faults) async fn stop(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let servers = context.place.all();
        let which = context.rng.number(0..servers.len() as u64) as usize;
        // Shorter than a Cluster needs to declare a master failed.
        let ms = context.rng.ms(50..1_200);
        servers[which].pause();
        tokio::time::sleep(ms).await;
        servers[which].resume();
        context.times += 1;
        context.rest(50..300).await;
    }
    Ok(())
}

/// SIGKILL and a new start, with every write on the disk before it is answered.
pub(in crate::faults) async fn kill(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        restart(context).await?;
        context.rest(100..700).await;
    }
    Ok(())
}

/// The same with a log that is written every second.
pub(in crate::faults) async fn kill_everysec(context: &mut FaultContext<'_>) -> Result<(), Error> {
    // So that some items are older than the window.
    tokio::time::sleep(EVERYSEC).await;
    let from = context.now().saturating_sub(EVERYSEC);
    restart(context).await?;
    context.lost_since(from);
    context.rest(300..600).await;
    Ok(())
}

/// The same without a log: the server restores the last snapshot and nothing later.
pub(in crate::faults) async fn kill_snapshots(context: &mut FaultContext<'_>) -> Result<(), Error> {
    context.rest(300..700).await;
    let from = context.now();
    block_in_place(|| context.place.server().map(|server| server.cli(&["SAVE"])))?;
    context.rest(200..500).await;
    restart(context).await?;
    context.lost_since(from);
    context.rest(300..600).await;
    Ok(())
}

async fn restart(context: &mut FaultContext<'_>) -> Result<(), Error> {
    let down = context.rng.ms(0..200);
    let server = context.place.server()?;
    block_in_place(|| server.kill());
    tokio::time::sleep(down).await;
    block_in_place(|| server.restart_with_whole_log());
    context.times += 1;
    Ok(())
}

/// Nothing can be added, but workers can drain the queue.
pub(in crate::faults) async fn fill_memory(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let server = context.place.server()?;
        block_in_place(|| server.cli(&["CONFIG", "SET", "maxmemory", "1"]));
        context.times += 1;
        let process =
            context.pool.worker_slots[0].process().await.ok_or("the first process is gone")?;
        if let Err(error) = until_drained(&process, &context.recorder).await {
            context.recorder.fault(format!("with the memory full: {error}"));
        }
        let server = context.place.server()?;
        block_in_place(|| server.cli(&["CONFIG", "SET", "maxmemory", "0"]));
        context.rest(200..500).await;
    }
    Ok(())
}

/// `REPLICAOF` on a live master, naming a master that does not exist: the server refuses writes and
/// keeps its data.
pub(in crate::faults) async fn make_replica(context: &mut FaultContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let ms = context.rng.ms(50..900);
        let server = context.place.server()?;
        // Nobody listens on port 1.
        block_in_place(|| server.cli(&["REPLICAOF", "127.0.0.1", "1"]));
        tokio::time::sleep(ms).await;
        block_in_place(|| server.cli(&["REPLICAOF", "NO", "ONE"]));
        context.times += 1;
        context.rest(100..400).await;
    }
    Ok(())
}

/// A second password, clients that change to it one by one, and the end of the old password.
pub(in crate::faults) async fn change_password(
    context: &mut FaultContext<'_>,
) -> Result<(), Error> {
    let url = context.place.url();
    let mut old: Option<String> = None;
    while context.goes_on() {
        let new = format!("secret{}", context.times);
        let acl = |rule: String| ["ACL".into(), "SETUSER".into(), "worker".into(), rule];
        let server = context.place.server()?;
        block_in_place(|| {
            server.cli(&["ACL", "SETUSER", "worker", "on", "~*", "&*", "+@all"]);
            server.cli(&acl(format!(">{new}")));
        });
        for worker_slot in &context.pool.worker_slots {
            let with = url.replacen("redis://", &format!("redis://worker:{new}@"), 1);
            let timeout = worker_slot.spec().url;
            let timeout = timeout.rsplit('?').next().unwrap_or_default().to_owned();
            worker_slot.set_url(format!("{with}{timeout}"));
            worker_slot.kill()?;
            worker_slot.fill().await?;
        }
        let server = context.place.server()?;
        block_in_place(|| {
            if let Some(old) = &old {
                server.cli(&acl(format!("<{old}")));
            }
            // Clients with the new password must not notice those with the old one.
            server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        });
        context.times += 1;
        old = Some(new);
        // Then a change without notice, which is undone.
        lock_out(context, old.as_deref().unwrap_or_default()).await?;
    }
    Ok(())
}

/// For a while the server has another password: no client can log in, and all recover later.
async fn lock_out(context: &mut FaultContext<'_>, password: &str) -> Result<(), Error> {
    let ms = context.rng.ms(50..500);
    let server = context.place.server()?;
    let rule = |rule: String| ["ACL".into(), "SETUSER".into(), "worker".into(), rule];
    block_in_place(|| {
        server.cli(&rule(format!("<{password}")));
        server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    });
    tokio::time::sleep(ms).await;
    block_in_place(|| server.cli(&rule(format!(">{password}"))));
    tokio::time::sleep(ms).await;
    Ok(())
}
