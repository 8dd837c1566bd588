//! SIGPIPE, which by default ends the process.
//!
//! Writing to a connection that the server has closed raises the signal. Rust, Python and Node.js
//! ignore it and report an error; a C program would end. So the signal is blocked while a thread is
//! in this library, and threads that the library starts inherit that. Functions of the program that the library calls
//! find the signal as it was: they may start programs, which inherit what is blocked.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

thread_local! {
    static WAS_BLOCKED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` with SIGPIPE blocked, and restores the thread's signal mask.
pub(crate) fn without_sigpipe<T>(body: impl FnOnce() -> T) -> T {
    let was_blocked = is_blocked();
    let outer = WAS_BLOCKED.replace(was_blocked);
    block();
    let result = body();
    if !was_blocked {
        unblock();
    }
    WAS_BLOCKED.set(outer);
    result
}

/// Whether the program had blocked SIGPIPE in this thread when it called this library.
pub(crate) fn was_blocked() -> bool {
    WAS_BLOCKED.get()
}

/// Runs a function of the program inside of `without_sigpipe`, with the signal as the program has left it.
pub(crate) fn as_in_program<T>(was_blocked: bool, body: impl FnOnce() -> T) -> T {
    if was_blocked {
        return body();
    }
    unblock();
    let result = body();
    block();
    result
}

/// Whether SIGPIPE is blocked in this thread.
fn is_blocked() -> bool {
    let mut now = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `pthread_sigmask` fills the set.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, null(), now.as_mut_ptr());
        libc::sigismember(now.as_ptr(), libc::SIGPIPE) == 1
    }
}

fn pipe() -> libc::sigset_t {
    let mut pipe = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` fills the set.
    unsafe {
        libc::sigemptyset(pipe.as_mut_ptr());
        libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
        pipe.assume_init()
    }
}

fn block() {
    let pipe = pipe();
    // SAFETY: the set is filled.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, null_mut()) };
}

/// A signal that is pending was caused by this library, and is forgotten.
fn unblock() {
    let (pipe, at_once) = (pipe(), libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: the set is filled.
    unsafe {
        while libc::sigtimedwait(&raw const pipe, null_mut(), &raw const at_once) > 0 {}
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const pipe, null_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

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
        assert!(!is_blocked());
        without_sigpipe(|| without_sigpipe(|| assert!(is_blocked())));
        assert!(!is_blocked());
        without_sigpipe(|| {
            assert!(!was_blocked());
            without_sigpipe(|| assert!(was_blocked()));
            assert!(!was_blocked());
            write();
            // Of what was pending, the program hears nothing.
            as_in_program(false, || assert!(!is_blocked()));
            assert!(is_blocked());
            as_in_program(true, || assert!(is_blocked()));
        });
    }
}
