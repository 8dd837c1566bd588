//! Tells the core of every fork.

use std::sync::Once;

use crate::guard;

/// Registers the hooks once: each later fork of this process waits until no operation is half done.
pub(crate) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the three are functions of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    });
}

extern "C" fn before() {
    guard::value((), leaseq::fork::before);
}

extern "C" fn after_in_parent() {
    guard::value((), leaseq::fork::after_in_parent);
}

extern "C" fn after_in_child() {
    guard::value((), leaseq::fork::after_in_child);
}
