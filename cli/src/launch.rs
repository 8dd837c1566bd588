//! Starts a command of `leaseq work` once the guard knows of it.
//!
//! `leaseq work` starts this program again, in a process group of its own. It waits for one byte on standard input,
//! and then becomes the command. `leaseq work` writes that byte after it has named the group to the guard. If it is
//! killed before, there is no byte, and no command.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Error, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The name of its command.
pub(crate) const COMMAND: &str = "launch-command";
/// What is written before the data.
pub(crate) const GO: u8 = b'\n';
/// Its exit status if there is no such command, as a shell has it.
pub(crate) const NOT_STARTED: u8 = 127;
/// The last line of standard error then begins so.
pub(crate) const WHY: &str = "leaseq: the command cannot be started: ";

/// This program, also after a newer one has taken its place on the disk.
pub(crate) fn this_program() -> std::io::Result<PathBuf> {
    match cfg!(target_os = "linux") {
        true => Ok(PathBuf::from("/proc/self/exe")),
        false => std::env::current_exe(),
    }
}

/// Becomes the command. Returns only if that fails.
pub(crate) fn run(command: &[OsString]) -> u8 {
    if let Err(error) = permission() {
        let _ = writeln!(std::io::stderr(), "{WHY}{error}");
        return NOT_STARTED;
    }
    let Some((program, arguments)) = command.split_first() else { return NOT_STARTED };
    let error = Command::new(program).args(arguments).exec();
    let _ = writeln!(std::io::stderr(), "{WHY}{error}");
    NOT_STARTED
}

fn permission() -> Result<(), Error> {
    // Not through a buffer, which would take some of the data.
    let mut stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    stdin.read_exact(&mut [0])
}
