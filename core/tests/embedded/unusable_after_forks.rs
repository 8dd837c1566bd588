//! Forks after which the child or the parent cannot use the file, and says so: without the hooks, with
//! somebody inside a transaction, and with another file in its place.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use leaseq::{Client, ConnectOptions, ErrorKind};

use crate::forks::{URL, block_on, in_own_process};
use crate::libc_calls::{ended, forked, register_hooks};
use crate::support::{Place, item, ms, queue};

#[test]
fn a_file_that_is_replaced_during_a_fork_is_unavailable() {
    in_own_process("unusable_after_forks::replaced_during_a_fork", &Place::new());
}

#[test]
#[ignore = "started as a process by the test above"]
fn replaced_during_a_fork() {
    let Ok(url) = std::env::var(URL) else { return };
    let file = Path::new(url.strip_prefix("sqlite:").unwrap());
    let parent = queue(&url);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let parent = runtime.block_on(parent);
    assert!(runtime.block_on(parent.add_item(item("a"))).unwrap());
    for round in 0..3 {
        leaseq::fork::before();
        // As by two bindings that have both registered.
        leaseq::fork::before();
        if round == 1 {
            std::fs::rename(file, file.with_extension("old")).unwrap();
        }
        leaseq::fork::after_in_parent();
        leaseq::fork::after_in_parent();
        let counts = runtime.block_on(parent.counts());
        if round == 0 {
            assert_eq!(counts.unwrap().ready, 1);
        } else {
            let error = counts.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(error.to_string().contains("removed or replaced"), "{error}");
            assert!(!file.exists());
        }
    }
}

#[test]
fn a_fork_does_not_wait_for_ever_for_somebody_inside() {
    in_own_process("unusable_after_forks::somebody_inside", &Place::new());
}

#[test]
#[ignore = "started as a process by the test above"]
fn somebody_inside() {
    let Ok(url) = std::env::var(URL) else { return };
    register_hooks();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (hold, inside) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let mut options = ConnectOptions::default();
    options.clock = Some({
        let (hold, inside) = (hold.clone(), inside.clone());
        // Asked for the time in a transaction.
        let clock = move || {
            inside.store(hold.load(Ordering::SeqCst), Ordering::SeqCst);
            while hold.load(Ordering::SeqCst) {
                std::thread::sleep(ms(1));
            }
            1_800_000_000_000
        };
        clock.into()
    });
    let parent = runtime.block_on(Client::connect_with(&url, options)).unwrap();
    let parent = parent.queue("jobs").unwrap();
    hold.store(true, Ordering::SeqCst);
    let adding = runtime.spawn({
        let parent = parent.clone();
        async move { parent.add_item(item("a")).await }
    });
    while !inside.load(Ordering::SeqCst) {
        std::thread::sleep(ms(1));
    }
    let begun = Instant::now();
    let pid = forked(|| {
        for url in [url.as_str(), "memory:"] {
            let error = block_on(Client::connect(url)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
    });
    let took = begun.elapsed();
    assert!(took >= ms(5_000) && took < ms(15_000), "{took:?}");
    assert_eq!(ended(pid), 0);
    hold.store(false, Ordering::SeqCst);
    assert!(runtime.block_on(adding).unwrap().unwrap());
    assert_eq!(runtime.block_on(parent.counts()).unwrap().ready, 1);
}

#[test]
fn without_the_hooks_a_child_is_refused() {
    in_own_process("unusable_after_forks::forking_without_hooks", &Place::new());
}

#[test]
#[ignore = "started as a process by the test above"]
fn forking_without_hooks() {
    let Ok(url) = std::env::var(URL) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let parent = runtime.block_on(queue(&url));
    let pid: c_int = forked(|| {
        let error = block_on(Client::connect(&url)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    });
    assert_eq!(ended(pid), 0);
    assert!(runtime.block_on(parent.add_item(item("a"))).unwrap());
}
