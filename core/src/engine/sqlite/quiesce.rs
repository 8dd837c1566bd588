//! Quiescing every database before a fork. SQLite's record of file locks must be empty in a child, and no
//! thread may have been inside SQLite. So all files are closed, and all threads outside, when the process
//! forks.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use super::connection_slot::ConnectionSlot;
use super::executor::waits::{self, Wait};
use super::process::{FILES, count_fork};
use crate::fork::{self, Hooks};
use crate::lock::lock;

/// How long a fork waits for the users of databases. After that, the child cannot use any.
const PATIENCE: Duration = Duration::from_secs(5);

/// Every open connection of this process. Locked while it forks.
static SLOTS: Mutex<Vec<Weak<ConnectionSlot>>> = Mutex::new(Vec::new());
static HOOKS: Hooks = Hooks { before, after_in_parent, after_in_child };

thread_local! {
    /// What the forking thread holds from before the fork until after it.
    static FORKING: RefCell<Option<Forking>> = const { RefCell::new(None) };
}

struct Forking {
    slots: MutexGuard<'static, Vec<Weak<ConnectionSlot>>>,
    waits: MutexGuard<'static, Vec<Wait>>,
    quiesced: Vec<Arc<ConnectionSlot>>,
    /// No thread is inside SQLite.
    clear: bool,
    /// How often the hooks were registered for this fork.
    depth: usize,
}

/// Quiesces this connection before every fork. Waits while the process forks.
pub(super) fn register(slot: &Arc<ConnectionSlot>) {
    fork::register(&HOOKS);
    let mut slots = lock(&SLOTS);
    slots.retain(|slot| slot.strong_count() > 0);
    slots.push(Arc::downgrade(slot));
}

fn with_forking(work: impl FnOnce(&mut Option<Forking>)) {
    let _ = FORKING.try_with(|forking| {
        if let Ok(mut forking) = forking.try_borrow_mut() {
            work(&mut forking);
        }
    });
}

/// Quiesces all connections. Threads that fork at the same time do so one after the other.
fn before() {
    with_forking(|forking| {
        if let Some(forking) = forking {
            forking.depth += 1;
            return;
        }
        let slots = lock(&SLOTS);
        count_fork();
        let until = Instant::now() + PATIENCE;
        let quiesced: Vec<_> = slots.iter().filter_map(Weak::upgrade).collect();
        let late = quiesced.iter().filter(|slot| !slot.quiesce(until)).count();
        let waits = waits::lock_all();
        *forking = Some(Forking { slots, waits, quiesced, clear: late == 0, depth: 1 });
    });
}

/// Runs `work` for the outermost of nested calls.
fn after(work: impl FnOnce(Forking)) {
    with_forking(|forking| {
        if let Some(nested) = forking.as_mut()
            && nested.depth > 1
        {
            nested.depth -= 1;
        } else if let Some(forking) = forking.take() {
            work(forking);
        }
    });
}

/// Lets all connections be used again.
fn after_in_parent() {
    after(|forking| {
        for slot in forking.quiesced {
            slot.resume();
        }
    });
}

/// Forgets all connections: their threads do not exist here.
fn after_in_child() {
    after(|mut forking| {
        if !forking.clear {
            FILES.refuse();
        }
        forking.waits.clear();
        std::mem::forget(forking.quiesced);
        std::mem::forget(std::mem::take(&mut *forking.slots));
    });
}
