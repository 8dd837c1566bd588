//! What breaks when handlers run in child processes.

use std::fs;

use rustix::process::{Signal, kill_process};

use super::context::JobContext;
use super::processes::{Process, find};
use crate::error::Error;

/// Signals of all kinds to children and to what they have forked.
pub(in crate::faults) async fn signal(context: &mut JobContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let (workers, others): (Vec<Process>, Vec<Process>) = find(context.fleet.run())
            .into_iter()
            .partition(|found| context.fleet.is_worker(found.pid));
        // Until a child executes its program, it looks like its worker, which does not know of it yet.
        let looks_like_worker =
            |child: &Process| workers.iter().any(|worker| child.looks_like(worker));
        let children: Vec<Process> = others
            .into_iter()
            .filter(|found| !found.is_grandchild && !looks_like_worker(found))
            .collect();
        if !children.is_empty() {
            let child = context.rng.pick(&children).pid;
            let signals = [Signal::KILL, Signal::STOP, Signal::TERM, Signal::SEGV, Signal::INT];
            // It may have ended by itself.
            if kill_process(child, *context.rng.pick(&signals)).is_ok() {
                context.times += 1;
            }
        }
        context.rest(20..150).await?;
    }
    Ok(())
}

/// No child starts for a while, and all that there are end.
pub(in crate::faults) async fn fail_starts(context: &mut JobContext<'_>) -> Result<(), Error> {
    while context.goes_on() {
        let file = context.fleet.no_starts();
        fs::write(&file, "")?;
        for found in find(context.fleet.run()) {
            if !context.fleet.is_worker(found.pid) {
                _ = kill_process(found.pid, Signal::KILL);
            }
        }
        context.times += 1;
        context.rest(300..900).await?;
        fs::remove_file(&file)?;
        context.rest(300..900).await?;
    }
    Ok(())
}
