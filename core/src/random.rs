//! Random bytes for ids, from the operating system. A request costs more than the rest of an id, so a thread
//! requests the bytes of many ids at once.

use std::cell::RefCell;

use rand::rngs::OsRng;
use rand::{RngCore, TryRngCore};

use crate::fork::Process;

/// The random bytes in an id of version 7.
const SIZE: usize = 10;
/// How many ids one request serves.
const IDS: usize = 64;

struct Pool {
    /// A forked child has a copy, and must not use the same bytes as its parent.
    owner: Option<Process>,
    bytes: [[u8; SIZE]; IDS],
    left: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool { owner: None, bytes: [[0; SIZE]; IDS], left: 0 })
    };
}

/// Calls `each` once for each of `count` ids, with bytes that are never used again. Checks only once which
/// process this is.
pub(crate) fn bytes(count: usize, mut each: impl FnMut([u8; SIZE])) {
    POOL.with_borrow_mut(|pool| {
        let owner = Some(Process::current());
        if pool.owner != owner {
            pool.owner = owner;
            pool.left = 0;
        }
        for _ in 0..count {
            if pool.left == 0 {
                // Without random bytes no id is safe. No system that runs this refuses them.
                OsRng.unwrap_err().fill_bytes(pool.bytes.as_flattened_mut());
                pool.left = IDS;
            }
            pool.left -= 1;
            each(std::mem::take(&mut pool.bytes[pool.left]));
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn taken(count: usize) -> Vec<[u8; SIZE]> {
        let mut taken = Vec::new();
        bytes(count, |bytes| taken.push(bytes));
        taken
    }

    #[test]
    fn never_the_same_on_any_thread() {
        let some = || (1..50).flat_map(taken).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(some)).collect();
        let mut all = HashSet::new();
        for thread in threads {
            all.extend(thread.join().unwrap());
        }
        assert_eq!(all.len(), 4 * (1..50).sum::<usize>());
        assert!(!all.contains(&[0; SIZE]));
    }

    #[test]
    fn another_process_takes_none_of_what_is_left() {
        taken(1);
        let left = POOL.with_borrow_mut(|pool| {
            pool.owner = None;
            pool.bytes
        });
        assert!(!left.contains(&taken(1)[0]));
    }
}
