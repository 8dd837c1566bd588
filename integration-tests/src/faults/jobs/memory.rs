//! A control group with a limit of memory, in which all workers of a run are, and what uses that up.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use leaseq_test_support::ControlGroup;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::Error;

const LIMIT: u64 = 400 << 20;
/// Above the high mark, and far enough below the limit that the workers have what they need.
const MOST: u64 = LIMIT / 100 * 80;
const MARKS: (&str, &str) = ("LEASEQ_THROTTLE_MEMORY", "70:50");
/// Takes so many bytes, and keeps them.
const TAKE: &str = "{ head -c $1 /dev/zero; exec sleep 600; } | tail -c $1 > /dev/null";
/// The kernel kills a process with this value before all others.
const FIRST: &str = "1000";

/// What workers do when memory is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::faults) enum Memory {
    /// The kernel kills them.
    Limited,
    /// They are throttled before.
    Marked,
}

/// The control group of the workers.
pub(super) struct MemoryGroup {
    group: ControlGroup,
    memory: Memory,
}

impl MemoryGroup {
    /// Fails if this user may not make one.
    pub(super) fn new(memory: Memory) -> Result<MemoryGroup, String> {
        let group = ControlGroup::new(LIMIT, 0);
        let group = group.ok_or("no control group with a limit can be made here")?;
        Ok(MemoryGroup { group, memory })
    }

    /// A variable of the environment of the workers.
    pub(super) fn environment(&self) -> Option<(&'static str, PathBuf)> {
        (self.memory == Memory::Marked).then(|| (MARKS.0, MARKS.1.into()))
    }

    pub(super) fn join(&self, process: Pid) -> Result<(), Error> {
        let process = process.as_raw_nonzero().get().cast_unsigned();
        fs::write(format!("/proc/{process}/oom_score_adj"), FIRST)?;
        Ok(self.group.join(process)?)
    }

    /// Takes all of it and more, so that the kernel kills the workers.
    pub(super) fn take_all(&self) -> Result<Taken, Error> {
        self.take(2 * LIMIT)
    }

    /// Takes so much that the workers are throttled.
    pub(super) fn take_most(&self) -> Result<Taken, Error> {
        self.take(MOST)
    }

    fn take(&self, bytes: u64) -> Result<Taken, Error> {
        let mut command = self.group.command("sh");
        command.args(["-c", TAKE, "sh", &bytes.to_string()]).process_group(0);
        Ok(Taken(command.stdin(Stdio::null()).spawn()?))
    }
}

/// Memory that is taken until this is dropped.
pub(super) struct Taken(Child);

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.0.id().cast_signed()) {
            _ = kill_process_group(group, Signal::KILL);
        }
        _ = self.0.wait();
    }
}
