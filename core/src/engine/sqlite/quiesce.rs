//! What a fork has to wait for. SQLite's books on the locks of its process must be empty in a child,
//! and nobody may have been inside SQLite: so every file is closed and everybody is out when the
//! process forks.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::connection_slot::ConnectionSlot;
use super::process::FILES;
use super::waits::{self, Wait};
use crate::fork::{self, Hooks};

/// How long a fork waits for those who use a database; after that the child can use none.
const PATIENCE: Duration = Duration::from_secs(5);

/// Every open client of this process. Locked as long as it forks.
static SLOTS: Mutex<Vec<Weak<ConnectionSlot>>> = Mutex::new(Vec::new());
static FORKS: AtomicU64 = AtomicU64::new(0);
static HOOKS: Hooks = Hooks { before, after_in_parent, after_in_child };

thread_local! {
    /// What the forking thread holds from before the fork until after it.
    static FORKING: RefCell<Option<Forking>> = const { RefCell::new(None) };
}

struct Forking {
    slots: MutexGuard<'static, Vec<Weak<ConnectionSlot>>>,
    waits: MutexGuard<'static, Vec<Wait>>,
    quiesced: Vec<Arc<ConnectionSlot>>,
    /// Nobody is inside SQLite.
    clear: bool,
    /// The hooks were registered so many times.
    depth: usize,
}

/// How often this process has forked: a descriptor from before is a child's as well.
pub(super) fn forks() -> u64 {
    FORKS.load(Ordering::SeqCst)
}

/// Waits while the process forks.
pub(super) fn register(slot: &Arc<ConnectionSlot>) {
    fork::register(&HOOKS);
    let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Parks all. Of several threads that fork, one does it after the other.
fn before() {
    with_forking(|forking| {
        if let Some(forking) = forking {
            forking.depth += 1;
            return;
        }
        let slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        FORKS.fetch_add(1, Ordering::SeqCst);
        let until = Instant::now() + PATIENCE;
        let quiesced: Vec<_> = slots.iter().filter_map(Weak::upgrade).collect();
        let late = quiesced.iter().filter(|slot| !slot.quiesce(until)).count();
        let waits = waits::lock();
        *forking = Some(Forking { slots, waits, quiesced, clear: late == 0, depth: 1 });
    });
}

/// The outermost of nested calls.
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

/// Lets all go on.
fn after_in_parent() {
    after(|forking| {
        for slot in forking.quiesced {
            slot.resume();
        }
    });
}

/// Forgets all: the threads that they belong to are not here.
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
