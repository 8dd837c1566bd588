//! A process that kills the commands of `leaseq work` if that is killed.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::launch;

/// The name of its command.
pub(crate) const COMMAND: &str = "guard-commands";

/// Tells the process which process groups to kill. It sees the end of the pipe, however its parent ends.
#[derive(Debug)]
pub(crate) struct Guard(Mutex<ChildStdin>);

impl Guard {
    pub(crate) fn start() -> io::Result<Guard> {
        let mut command = Command::new(launch::this_program()?);
        command.arg(COMMAND).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let stdin = command.spawn()?.stdin;
        stdin.map(|stdin| Guard(Mutex::new(stdin))).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    pub(crate) fn add(&self, group: Pid) {
        self.tell('+', group);
    }

    pub(crate) fn remove(&self, group: Pid) {
        self.tell('-', group);
    }

    fn tell(&self, sign: char, group: Pid) {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Without it, the work goes on.
        let _ = writeln!(pipe, "{sign}{}", group.as_raw_nonzero());
    }
}

/// Reads the process groups until its parent has ended, and kills those that are left.
pub(crate) fn run() {
    let mut groups = BTreeSet::new();
    for line in io::stdin().lines().map_while(Result::ok) {
        if let Some(group) = line.strip_prefix('+') {
            groups.insert(group.to_owned());
        } else if let Some(group) = line.strip_prefix('-') {
            groups.remove(group);
        }
    }
    let groups = groups.iter().filter_map(|group| Pid::from_raw(group.parse().ok()?));
    for group in groups {
        let _ = kill_process_group(group, Signal::KILL);
    }
}
