//! The unsafe calls: registering the hooks as a binding does, forking, and leaving a child.

#![allow(unsafe_code)]

use std::ffi::c_int;

unsafe extern "C" {
    fn pthread_atfork(
        before: extern "C" fn(),
        parent: extern "C" fn(),
        child: extern "C" fn(),
    ) -> c_int;
    fn fork() -> c_int;
    fn _exit(status: c_int) -> !;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn alarm(seconds: u32) -> u32;
}

extern "C" fn before() {
    leaseq::fork::before();
}

extern "C" fn parent() {
    leaseq::fork::after_in_parent();
}

extern "C" fn child() {
    leaseq::fork::after_in_child();
}

pub(super) fn register_hooks() {
    // SAFETY: the functions live as long as the program.
    assert_eq!(unsafe { pthread_atfork(before, parent, child) }, 0);
}

/// Runs `work` in a child, which exits with 0 if it returns. Returns the child's pid.
pub(super) fn forked(work: impl FnOnce()) -> c_int {
    // SAFETY: the child uses the C library and what the hooks make usable, and never returns.
    match unsafe { fork() } {
        0 => {
            // SAFETY: a child that hangs is killed, so that the test fails and does not hang.
            unsafe { alarm(30) };
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // SAFETY: ends the child without touching what belongs to its parent.
            unsafe { _exit(c_int::from(done.is_err())) }
        }
        pid => pid,
    }
}

/// Waits for a child. Returns its status, 0 for success.
pub(super) fn ended(pid: c_int) -> c_int {
    let mut status = -1;
    // SAFETY: the status is written to a variable of that type.
    assert_eq!(unsafe { waitpid(pid, &raw mut status, 0) }, pid);
    status
}
