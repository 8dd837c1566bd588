//! Random bytes for ids, from the operating system. Asking it costs more than the rest of making an
//! id, so a thread asks for those of many ids at once.

use std::cell::RefCell;

use rand::rngs::OsRng;
use rand::{RngCore, TryRngCore};

use crate::fork::Process;

/// As many as an id of version 7 takes.
const SIZE: usize = 10;
/// For so many ids at once.
const IDS: usize = 64;

struct Pool {
    /// A forked child has a copy, and must not give out what its parent does.
    owner: Option<Process>,
    bytes: [[u8; SIZE]; IDS],
    left: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool { owner: None, bytes: [[0; SIZE]; IDS], left: 0 })
    };
}

/// Bytes that nobody gets a second time.
pub(crate) fn bytes() -> [u8; SIZE] {
    POOL.with_borrow_mut(|pool| {
        let owner = Some(Process::current());
        if pool.owner != owner || pool.left == 0 {
            // Without random bytes no id is safe. No system that runs this refuses them.
            OsRng.unwrap_err().fill_bytes(pool.bytes.as_flattened_mut());
            pool.owner = owner;
            pool.left = IDS;
        }
        pool.left -= 1;
        std::mem::take(&mut pool.bytes[pool.left])
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn never_the_same_on_any_thread() {
        let some = || (0..10 * IDS).map(|_| bytes()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(some)).collect();
        let mut all = HashSet::new();
        for thread in threads {
            all.extend(thread.join().unwrap());
        }
        assert_eq!(all.len(), 4 * 10 * IDS);
        assert!(!all.contains(&[0; SIZE]));
    }

    #[test]
    fn another_process_takes_none_of_what_is_left() {
        bytes();
        let left = POOL.with_borrow_mut(|pool| {
            pool.owner = None;
            pool.bytes
        });
        assert!(!left.contains(&bytes()));
    }
}
