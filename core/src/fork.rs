//! Surviving `fork`.
//!
//! A forked child has a copy of the memory, but only the thread that forked. The other threads are
//! gone, with whatever they held. So a child never touches what belongs to its parent; it makes its
//! own at first use ([`blocking`](crate::blocking)). What both go on using must be at rest at the
//! moment of the fork, and this module brings it to rest.
//!
//! Register [`before`], [`after_in_parent`] and [`after_in_child`] with `pthread_atfork`, as the
//! bindings do; this crate has no unsafe code and cannot do it. The thread that forks calls all of
//! them, and they may be registered more than once. Without them, the child of a parent that has an
//! embedded queue open cannot open any: SQLite does not survive a fork.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::lock::lock;

/// A fork holds it exclusively. Whoever changes what a child goes on using shares it.
static GATE: RwLock<()> = RwLock::new(());
/// How many forks lie between the first process and this one. Process ids are reused.
static DEPTH: AtomicU32 = AtomicU32::new(0);
/// Locked only while the gate is held, so that a child never finds it locked.
static HOOKS: Mutex<Vec<&'static Hooks>> = Mutex::new(Vec::new());

thread_local! {
    static FORKING: RefCell<Forking> = const { RefCell::new(Forking { times: 0, gate: None }) };
}

/// A fork by this thread.
struct Forking {
    /// How often `before` was called for it.
    times: usize,
    gate: Option<RwLockWriteGuard<'static, ()>>,
}

/// How many forks lie between the first process and this one, as far as the hooks were registered. Cheaper than a
/// process id.
pub(crate) fn depth() -> u32 {
    DEPTH.load(Ordering::Relaxed)
}

/// What a part of the crate does around a fork.
pub(crate) struct Hooks {
    pub(crate) before: fn(),
    pub(crate) after_in_parent: fn(),
    pub(crate) after_in_child: fn(),
}

/// Prevents forks while it is held, which must not be for long.
pub(crate) fn hold() -> RwLockReadGuard<'static, ()> {
    GATE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Runs these hooks around every fork from now on. Registering them again changes nothing.
pub(crate) fn register(hooks: &'static Hooks) {
    let _gate = hold();
    let mut registered = lock(&HOOKS);
    if !registered.iter().any(|known| std::ptr::eq(*known, hooks)) {
        registered.push(hooks);
    }
}

fn run_hooks(hook: impl Fn(&Hooks) -> fn()) {
    let registered = lock(&HOOKS).clone();
    registered.into_iter().for_each(|hooks| hook(hooks)());
}

/// Before the fork: waits until nothing is half done. Gives the users of embedded queues up to 5 s in
/// total to finish, keeps others out, and closes all files.
pub fn before() {
    FORKING.with_borrow_mut(|forking| {
        forking.times += 1;
        if forking.times == 1 {
            forking.gate = Some(GATE.write().unwrap_or_else(PoisonError::into_inner));
        }
    });
    run_hooks(|hooks| hooks.before);
}

/// After the fork, in the parent, also if the fork failed: lets everybody continue. Files are opened
/// again at their next use.
pub fn after_in_parent() {
    run_hooks(|hooks| hooks.after_in_parent);
    FORKING.with_borrow_mut(Forking::end);
}

/// After the fork, in the child: forgets what belongs to the parent.
pub fn after_in_child() {
    run_hooks(|hooks| hooks.after_in_child);
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

/// A process, distinguished from every process that it was forked from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: u32,
    depth: u32,
}

impl Process {
    pub(crate) fn current() -> Self {
        Process { id: std::process::id(), depth: depth() }
    }
}
