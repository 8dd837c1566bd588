//! What Linux tells about processes. Elsewhere little is known.

use std::{fs, io};

use rustix::process::{Pid, test_kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// Lets this process see how its children end. If it was started with SIGCHLD ignored, the system would reap them without
/// saying, and they would inherit that; with a handler, however little it does, both is over.
pub(super) fn heed_children() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = 1 << (rustix::process::Signal::CHILD.as_raw() - 1);
    if ignored.is_some_and(|mask| mask & bit != 0) {
        // It stays when this is dropped.
        drop(signal(SignalKind::child())?);
    }
    Ok(())
}

/// The resident size of a process, in bytes; `None`: not known.
pub(super) fn resident(pid: Pid) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
    let pages: u64 = status.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// How many processes of this one's control group the system has killed for want of memory; `None`: not known.
pub(super) fn oom_kills() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    // `0::/group` in version 2; `4:memory:/group` in version 1.
    let file =
        groups.lines().find_map(|line| match line.splitn(3, ':').collect::<Vec<_>>()[..] {
            [_, "memory", group] => {
                Some(format!("/sys/fs/cgroup/memory{group}/memory.oom_control"))
            }
            ["0", "", group] => Some(format!("/sys/fs/cgroup{group}/memory.events")),
            _ => None,
        })?;
    let events = fs::read_to_string(file).ok()?;
    events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok())
}

/// Whether a process runs; not, if it only waits to be reaped.
pub(super) fn is_alive(pid: Pid) -> bool {
    match fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
        // Behind the name, which may contain anything: the state.
        Ok(stat) => !stat
            .rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('Z') || rest.starts_with('X')),
        Err(_) => !cfg!(target_os = "linux") && test_kill_process(pid).is_ok(),
    }
}
