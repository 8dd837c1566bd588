//! Leases that their caller has not used yet.
//!
//! A signal may arrive after a call has returned and before its caller has stored the result. The
//! exception of the handler then drops the lease, and no code of the caller can give it back. So a lease
//! that was never used goes back by itself: when its handle is dropped, when an interrupt ends the
//! `with` block of its client, and when the process ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use leaseq::blocking::{self, ProcessBound};

/// A lease, shared by its handle in Python and the calls that use it.
pub(crate) struct Handle {
    pub(crate) lease: ProcessBound<leaseq::Lease>,
    pub(crate) queue: Arc<blocking::Queue>,
    used: AtomicBool,
}

/// By address. Only locked while the GIL is held, so no other thread holds the lock when Python forks.
static UNUSED: LazyLock<Mutex<HashMap<usize, Weak<Handle>>>> = LazyLock::new(Mutex::default);

fn unused() -> MutexGuard<'static, HashMap<usize, Weak<Handle>>> {
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handle {
    pub(crate) fn new(lease: leaseq::Lease, queue: Arc<blocking::Queue>) -> Arc<Self> {
        let handle =
            Arc::new(Handle { lease: ProcessBound::new(lease), queue, used: false.into() });
        unused().insert(Arc::as_ptr(&handle).addr(), Arc::downgrade(&handle));
        handle
    }

    /// The lease, in the process that has it.
    pub(crate) fn in_this_process(&self) -> leaseq::Result<&leaseq::Lease> {
        self.lease.get("the lease")
    }

    /// The caller has the lease and is responsible for it from now on. True the first time.
    pub(crate) fn set_used(&self) -> bool {
        let first = !self.used.load(Ordering::Relaxed) && !self.used.swap(true, Ordering::Relaxed);
        if first {
            unused().remove(&std::ptr::from_ref(self).addr());
        }
        first
    }

    /// Gives the lease back in the background. One that was used, belongs to another process or whose
    /// client is closed is left to expire.
    pub(crate) fn give_back_unused(&self) {
        if self.set_used()
            && !self.queue.client().is_closed()
            && let Ok(lease) = self.in_this_process()
        {
            self.queue.give_back([lease]);
        }
    }
}

/// Gives back all unused leases of a client.
pub(crate) fn give_back_of(client: &Arc<blocking::Client>) {
    let handles: Vec<_> = unused().values().filter_map(Weak::upgrade).collect();
    for handle in handles {
        if Arc::ptr_eq(handle.queue.client(), client) {
            handle.give_back_unused();
        }
    }
}
