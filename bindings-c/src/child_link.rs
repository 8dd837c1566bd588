//! The socket between a child and its worker: frames of JSON, as `docs/child-protocol.md` says.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use leaseq::ErrorKind;
use serde::Serialize;

use crate::failure::{Failure, Result};

/// The longest frame.
const MAX_FRAME: usize = 257 << 20;

/// What a child writes to its worker.
pub(crate) struct Link(Mutex<UnixStream>);

/// What it reads.
pub(crate) struct Incoming(UnixStream);

/// Takes the socket of the worker from the standard input, which is empty from now on, and asks the system to end this
/// process with the worker.
pub(crate) fn take() -> Result<(Link, Incoming)> {
    let not_a_child = || Failure::invalid("this process is no child of a worker of jobs");
    let worker = std::env::var("LEASEQ_WORKER_PID").ok().and_then(|pid| pid.parse().ok());
    let worker: i32 = worker.ok_or_else(not_a_child)?;
    // SAFETY: plain system calls, with a descriptor that may be any.
    let socket = unsafe {
        let mut kind: libc::stat = std::mem::zeroed();
        if libc::fstat(0, &raw mut kind) != 0 || kind.st_mode & libc::S_IFMT != libc::S_IFSOCK {
            return Err(not_a_child());
        }
        // Above those that programs expect.
        libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3)
    };
    if socket < 0 {
        return Err(unavailable("no file descriptor", &std::io::Error::last_os_error()));
    }
    // SAFETY: just opened, and owned by nobody else.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(socket) });
    let null = File::open("/dev/null").map_err(|why| unavailable("no /dev/null", &why))?;
    // SAFETY: plain system calls on open descriptors.
    let parent = unsafe {
        libc::dup2(null.as_raw_fd(), 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::getppid()
    };
    if parent != worker {
        return Err(gone());
    }
    let reader = socket.try_clone().map_err(|why| unavailable("no file descriptor", &why))?;
    Ok((Link(Mutex::new(socket)), Incoming(reader)))
}

fn unavailable(what: &str, why: &std::io::Error) -> Failure {
    let message = format!("{what} for the socket of a worker: {why}");
    Failure { kind: ErrorKind::Unavailable, message, outcome_unknown: false }
}

fn gone() -> Failure {
    let message = "the worker of this child has ended".to_owned();
    Failure { kind: ErrorKind::Closed, message, outcome_unknown: false }
}

impl Link {
    /// # Errors
    /// `Closed` if the worker has ended.
    pub(crate) fn send(&self, message: &impl Serialize) -> Result {
        let text = serde_json::to_string(message)
            .map_err(|why| Failure::invalid(format_args!("a message to the worker: {why}")))?;
        let len = u32::try_from(text.len()).ok().filter(|len| *len as usize <= MAX_FRAME);
        let Some(len) = len else {
            let wrong = format_args!("{} bytes are over the limit of {MAX_FRAME}", text.len());
            return Err(Failure::invalid(wrong));
        };
        let frame = [&len.to_be_bytes(), text.as_bytes()].concat();
        // A frame is written whole: the worker reads all the time.
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = frame.as_slice();
        while !rest.is_empty() {
            let (data, flags) = (rest.as_ptr().cast(), libc::MSG_NOSIGNAL);
            // SAFETY: the bytes live as long as the call.
            let sent = unsafe { libc::send(socket.as_raw_fd(), data, rest.len(), flags) };
            match usize::try_from(sent) {
                Ok(sent) => rest = &rest[sent..],
                Err(_) if std::io::Error::last_os_error().kind() == INTERRUPTED => {}
                Err(_) => return Err(gone()),
            }
        }
        Ok(())
    }
}

const INTERRUPTED: std::io::ErrorKind = std::io::ErrorKind::Interrupted;

impl Incoming {
    /// The text of the next frame; `None`: the worker has ended, or has said what is no frame.
    pub(crate) fn read(&mut self) -> Option<Vec<u8>> {
        let mut len = [0; 4];
        self.0.read_exact(&mut len).ok()?;
        let len = u32::from_be_bytes(len) as usize;
        if len > MAX_FRAME {
            return None;
        }
        let mut text = vec![0; len];
        self.0.read_exact(&mut text).ok()?;
        Some(text)
    }
}
