//! Surviving `fork`.
//!
//! A forked child has a copy of the memory and only the thread that forked: the others are gone,
//! with whatever they held. What belongs to the parent is therefore never touched in the child; it
//! makes its own at first use ([`blocking`](crate::blocking)). What both go on using must be at rest
//! in the moment of the fork, and this module brings it to rest.
//!
//! Its functions are to be registered with `pthread_atfork`, by whoever may (this crate has no
//! unsafe code): the bindings do. All are called by the thread that forks; they may be registered
//! more than once. Without them a child of a parent that has an embedded queue open can open none:
//! SQLite does not survive that.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Held by whoever changes what a child will go on using, and in full by a fork.
static GATE: RwLock<()> = RwLock::new(());
/// How many forks lie between the first process and this one: ids of processes are used again.
static DEPTH: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static FORKING: RefCell<Forking> = const { RefCell::new(Forking { times: 0, gate: None }) };
}

/// A fork of this thread that is under way.
struct Forking {
    /// How often `before` was called for it.
    times: usize,
    gate: Option<RwLockWriteGuard<'static, ()>>,
}

/// No fork happens while this is held. Not for long.
pub(crate) fn hold() -> RwLockReadGuard<'static, ()> {
    GATE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Before the fork: waits until nothing is half done. Lets those finish who use an embedded queue,
/// for 5 s at most altogether, keeps others out, and closes all files.
pub fn before() {
    FORKING.with_borrow_mut(|forking| {
        forking.times += 1;
        if forking.times == 1 {
            forking.gate = Some(GATE.write().unwrap_or_else(PoisonError::into_inner));
        }
    });
    #[cfg(feature = "sqlite")]
    crate::engine::sqlite::before_fork();
}

/// After the fork, or if there was none, in the parent: lets all go on. Files are opened again when
/// they are next used.
pub fn after_in_parent() {
    #[cfg(feature = "sqlite")]
    crate::engine::sqlite::after_fork_in_parent();
    FORKING.with_borrow_mut(Forking::end);
}

/// After the fork, in the child: forgets what is the parent's.
pub fn after_in_child() {
    #[cfg(feature = "sqlite")]
    crate::engine::sqlite::after_fork_in_child();
    FORKING.with_borrow_mut(|forking| {
        if forking.times == 1 {
            DEPTH.fetch_add(1, Ordering::Relaxed);
        }
        forking.end();
    });
}

impl Forking {
    fn end(&mut self) {
        self.times = self.times.saturating_sub(1);
        if self.times == 0 {
            self.gate = None;
        }
    }
}

/// One process, told from every ancestor it was forked off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: u32,
    depth: u32,
}

impl Process {
    pub(crate) fn current() -> Self {
        Process { id: std::process::id(), depth: DEPTH.load(Ordering::Relaxed) }
    }
}
