//! SIGPIPE, which by default ends the process.
//!
//! Writing to a connection that the server has closed raises the signal. Rust, Python and Node.js
//! ignore it and report an error; a C program would end. So the signal is blocked while a thread is
//! in this library, and threads that the library starts inherit that.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Runs `body` with SIGPIPE blocked, and restores the thread's signal mask.
pub(crate) fn without_sigpipe<T>(body: impl FnOnce() -> T) -> T {
    let mut pipe = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` and `pthread_sigmask` fill the sets that the others read.
    let was_blocked = unsafe {
        libc::sigemptyset(pipe.as_mut_ptr());
        libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, pipe.as_ptr(), before.as_mut_ptr());
        libc::sigismember(before.as_ptr(), libc::SIGPIPE) == 1
    };
    let result = body();
    if !was_blocked {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both sets were filled above. A signal that is pending now was caused by `body`.
        unsafe {
            while libc::sigtimedwait(pipe.as_ptr(), null_mut(), &raw const at_once) > 0 {}
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::ptr::null;

    use super::*;

    fn blocked() -> bool {
        let mut now = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `pthread_sigmask` fills the set.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, null(), now.as_mut_ptr());
            libc::sigismember(now.as_ptr(), libc::SIGPIPE) == 1
        }
    }

    #[test]
    fn a_closed_pipe_is_an_error_here_and_in_threads_and_the_caller_is_left_alone() {
        // SAFETY: the default of C programs; no other test in this process writes to a closed pipe.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let write = || {
            let (reader, mut writer) = std::io::pipe().unwrap();
            drop(reader);
            writer.write(b"x").unwrap_err().kind()
        };
        let kinds = without_sigpipe(|| [write(), std::thread::spawn(write).join().unwrap()]);
        assert_eq!(kinds, [std::io::ErrorKind::BrokenPipe; 2]);
        assert!(!blocked());
        without_sigpipe(|| without_sigpipe(|| assert!(blocked())));
        assert!(!blocked());
    }
}
