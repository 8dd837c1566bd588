//! How a child process of a worker begins.

use std::fs::File;
use std::os::fd::IntoRawFd;

use napi::Result;
use napi_derive::napi;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::getppid;
use rustix::stdio::{dup2_stdin, stdin};

/// Takes the socket of the worker from the standard input, which is empty from now on, and asks the system to end this
/// process with the worker. Returns the descriptor. It has an error if the worker has ended.
#[napi]
#[allow(dead_code, unreachable_pub, reason = "exported by its name")]
pub fn take_worker_socket(worker: u32) -> Result<i32> {
    let socket = take_standard_input()?;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(std::io::Error::from)?;
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get());
    if parent != i32::try_from(worker).ok() {
        return Err(napi::Error::from_reason("the worker has ended"));
    }
    Ok(socket)
}

fn take_standard_input() -> std::io::Result<i32> {
    // Above those that programs expect.
    let socket = fcntl_dupfd_cloexec(stdin(), 3)?;
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(socket.into_raw_fd())
}
